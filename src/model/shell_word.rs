//! Texts as words of a POSIX shell, for commands that are printed to be pasted.

/// A text as one word, quoted if needed.
pub(crate) fn as_shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:@%+=,".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) { text.to_owned() } else { quoted_as_shell_word(text) }
}

/// A text as one word, quoted.
pub(crate) fn quoted_as_shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_read_is_quoted() {
        let words = ["a.b=1,2", "", "$(reboot)", "it's", "<i>", "a b"].map(as_shell_word);
        assert_eq!(words, ["a.b=1,2", "''", "'$(reboot)'", r"'it'\''s'", "'<i>'", "'a b'"]);
    }
}

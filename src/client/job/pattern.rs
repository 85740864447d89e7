//! Path patterns of 1.2.1 `FileSystem.globStatus`: `*`, `?`, `[a-c]`, `[^a]`, `{one,two}`, and `\` to escape a character.

use glob::MatchOptions;
pub(super) use glob::Pattern;

/// Maximum number of alternatives of one pattern.
const MOST_ALTERNATIVES: usize = 10_000;

/// An invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?}: {reason}")]
pub struct PatternError {
    /// The pattern.
    pub(crate) pattern: String,
    /// What is wrong with it.
    pub(crate) reason: String,
}

/// One component of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// A literal name.
    Plain(String),
    /// Any matching name.
    Pattern(Pattern),
}

impl Name {
    /// Parses one component of a pattern without braces.
    pub(super) fn parse(text: &str) -> Result<Self, PatternError> {
        let (mut plain, mut translated, mut is_plain) = (String::new(), String::new(), true);
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\\' => {
                    let escaped = characters.next().unwrap_or('\\');
                    plain.push(escaped);
                    translated += &Pattern::escape(&escaped.to_string());
                    continue;
                }
                '*' => {
                    is_plain = false;
                    // The library takes ** for nested directories.
                    while characters.next_if_eq(&'*').is_some() {}
                    translated.push('*');
                }
                '?' => {
                    is_plain = false;
                    translated.push('?');
                }
                '[' => {
                    is_plain = false;
                    translated.push('[');
                    if characters.next_if(|next| matches!(next, '^' | '!')).is_some() {
                        translated.push('!');
                    }
                }
                other => translated.push(other),
            }
            plain.push(character);
        }
        if is_plain {
            return Ok(Self::Plain(plain));
        }
        let refused =
            |error: glob::PatternError| PatternError { pattern: text.to_owned(), reason: error.msg.to_owned() };
        Pattern::new(&translated).map(Self::Pattern).map_err(refused)
    }
}

/// Whether a name matches; a `*` also matches a leading dot.
pub(super) fn matches(pattern: &Pattern, name: &str) -> bool {
    let options =
        MatchOptions { case_sensitive: true, require_literal_separator: false, require_literal_leading_dot: false };
    pattern.matches_with(name, options)
}

/// Expands braces: the alternatives of a pattern, in its order.
pub(super) fn alternatives(pattern: &str) -> Result<Vec<String>, PatternError> {
    let refused = |reason: &str| PatternError { pattern: pattern.to_owned(), reason: reason.to_owned() };
    let mut open = vec![pattern.to_owned()];
    let mut closed = Vec::new();
    while let Some(text) = open.pop() {
        let Some(start) = unescaped(&text, 0, |character| character == '{') else {
            closed.push(text);
            if closed.len() > MOST_ALTERNATIVES {
                return Err(refused("it has too many alternatives"));
            }
            continue;
        };
        let (mut level, mut at) = (0_usize, start + 1);
        let mut cuts = vec![start];
        let end = loop {
            let sign = unescaped(&text, at, |character| matches!(character, '{' | '}' | ','));
            let sign = sign.ok_or_else(|| refused("a { without a closing }"))?;
            match &text[sign..=sign] {
                "{" => level += 1,
                "}" if level == 0 => break sign,
                "}" => level -= 1,
                _ if level == 0 => cuts.push(sign),
                _ => {}
            }
            at = sign + 1;
        };
        cuts.push(end);
        if open.len() + cuts.len() > MOST_ALTERNATIVES {
            return Err(refused("it has too many alternatives"));
        }
        // The first alternative is popped next.
        for cut in cuts.windows(2).rev() {
            open.push(format!("{}{}{}", &text[..start], &text[cut[0] + 1..cut[1]], &text[end + 1..]));
        }
    }
    Ok(closed)
}

/// The position of the first wanted character from `from` on that is not escaped.
fn unescaped(text: &str, from: usize, is_wanted: fn(char) -> bool) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in text[from..].char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' {
            is_escaped = true;
        } else if is_wanted(character) {
            return Some(from + at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(pattern: &str, names: &[&'static str]) -> Vec<&'static str> {
        match Name::parse(pattern).unwrap() {
            Name::Plain(plain) => names.iter().copied().filter(|name| *name == plain).collect(),
            Name::Pattern(pattern) => names.iter().copied().filter(|name| matches(&pattern, name)).collect(),
        }
    }

    #[test]
    fn names_match_as_in_hadoop() {
        let names = ["a1", "a2", "b1", ".a1", "a*", "a^1", "c"];
        assert_eq!(matching("a?", &names), ["a1", "a2", "a*"]);
        assert_eq!(matching("**1", &names), ["a1", "b1", ".a1", "a^1"]);
        assert_eq!(matching("[a-b]1", &names), ["a1", "b1"]);
        assert_eq!(matching("[^a]1", &names), ["b1"]);
        assert_eq!(matching("a\\*", &names), ["a*"]);
        assert_eq!(matching("?\\*", &names), ["a*"]);
        assert_eq!(matching("c", &names), ["c"]);
        assert_eq!(Name::parse("a\\?b"), Ok(Name::Plain("a?b".into())));
        assert!(Name::parse("[a").is_err());
    }

    #[test]
    fn braces_expand_to_alternatives() {
        let alternatives = |pattern: &str| alternatives(pattern).map_err(|error| error.to_string());
        assert_eq!(alternatives("/a/{b,c/d,{e,f}g}/*").unwrap(), ["/a/b/*", "/a/c/d/*", "/a/eg/*", "/a/fg/*"]);
        assert_eq!(alternatives("/{}x\\{y").unwrap(), ["/x\\{y"]);
        assert_eq!(alternatives("/{a").unwrap_err(), "\"/{a\": a { without a closing }");
        assert!(alternatives(&"{a,b}".repeat(20)).is_err());
    }
}

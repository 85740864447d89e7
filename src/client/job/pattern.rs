//! Patterns of paths as 1.2.1 `FileSystem.globStatus` has them: `*`, `?`, `[a-c]`, `[^a]`, `{one,two}`, `\` before a sign that is meant
//! as it stands.

use glob::{MatchOptions, Pattern};

/// Alternatives that one pattern may stand for.
const MOST_ALTERNATIVES: usize = 10_000;

/// A pattern that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?}: {reason}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

/// One name of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// As it stands.
    Plain(String),
    /// Any that fits.
    Fitting(Pattern),
}

// === impl Name ===

impl Name {
    /// Reads one name of a pattern without braces.
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
                    // Two of them would mean folders within folders.
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
        Pattern::new(&translated).map(Self::Fitting).map_err(refused)
    }
}

/// Whether a name fits; a `*` also stands for a dot in front.
pub(super) fn fits(pattern: &Pattern, name: &str) -> bool {
    let options =
        MatchOptions { case_sensitive: true, require_literal_separator: false, require_literal_leading_dot: false };
    pattern.matches_with(name, options)
}

/// The patterns without braces that a pattern stands for, in its order.
pub(super) fn alternatives(pattern: &str) -> Result<Vec<String>, PatternError> {
    let refused = |reason: &str| PatternError { pattern: pattern.to_owned(), reason: reason.to_owned() };
    let mut open = vec![pattern.to_owned()];
    let mut closed = Vec::new();
    while let Some(text) = open.pop() {
        let Some(start) = unescaped(&text, 0, |character| character == '{') else {
            closed.push(text);
            if closed.len() > MOST_ALTERNATIVES {
                return Err(refused("it stands for too many paths"));
            }
            continue;
        };
        let (mut level, mut at) = (0_usize, start + 1);
        let mut cuts = vec![start];
        let end = loop {
            let sign = unescaped(&text, at, |character| matches!(character, '{' | '}' | ','));
            let sign = sign.ok_or_else(|| refused("a { without its }"))?;
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
            return Err(refused("it stands for too many paths"));
        }
        // The first alternative is taken next.
        for cut in cuts.windows(2).rev() {
            open.push(format!("{}{}{}", &text[..start], &text[cut[0] + 1..cut[1]], &text[end + 1..]));
        }
    }
    Ok(closed)
}

/// The place of the first such character from `from` on that has no `\` before it.
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

    fn fitting(pattern: &str, names: &[&'static str]) -> Vec<&'static str> {
        match Name::parse(pattern).unwrap() {
            Name::Plain(plain) => names.iter().copied().filter(|name| *name == plain).collect(),
            Name::Fitting(pattern) => names.iter().copied().filter(|name| fits(&pattern, name)).collect(),
        }
    }

    #[test]
    fn names_fit_as_in_hadoop() {
        let names = ["a1", "a2", "b1", ".a1", "a*", "a^1", "c"];
        assert_eq!(fitting("a?", &names), ["a1", "a2", "a*"]);
        assert_eq!(fitting("**1", &names), ["a1", "b1", ".a1", "a^1"]);
        assert_eq!(fitting("[a-b]1", &names), ["a1", "b1"]);
        assert_eq!(fitting("[^a]1", &names), ["b1"]);
        assert_eq!(fitting("a\\*", &names), ["a*"]);
        assert_eq!(fitting("?\\*", &names), ["a*"]);
        assert_eq!(fitting("c", &names), ["c"]);
        assert_eq!(Name::parse("a\\?b"), Ok(Name::Plain("a?b".into())));
        assert!(Name::parse("[a").is_err());
    }

    #[test]
    fn braces_stand_for_each_of_theirs() {
        let alternatives = |pattern: &str| alternatives(pattern).map_err(|error| error.to_string());
        assert_eq!(alternatives("/a/{b,c/d,{e,f}g}/*").unwrap(), ["/a/b/*", "/a/c/d/*", "/a/eg/*", "/a/fg/*"]);
        assert_eq!(alternatives("/{}x\\{y").unwrap(), ["/x\\{y"]);
        assert_eq!(alternatives("/{a").unwrap_err(), "\"/{a\": a { without its }");
        assert!(alternatives(&"{a,b}".repeat(20)).is_err());
    }
}

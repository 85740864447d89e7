//! Plain words: the dialect that the first texts of this project were written in does not come back.

use crate::source::{Finding, Source};

/// Words that name nobody who acts, or say in a way of their own what the field has a term for (report, notify, again, continue, accept ...).
const BANNED: &[&str] =
    &["told", "tells", "anew", "whoever", "whom", "nobody", "goes on", "go on", "taken on", "heard"];

/// Where one of them stays: a part of the line, and why. At most [`MAX_EXCEPTIONS`].
pub const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("docs/operate.md", "root to nobody", "the Unix user"),
    ("src/server/groups.rs", "\"nobody\"", "the Unix user"),
    ("src/sim/bidders.rs", "\"nobody\"", "the name of a queue that does not exist"),
    ("src/store/budget_file/in_place.rs", "NOBODY", "the Unix user"),
    ("src/store/budget_file/in_place.rs", "set_thread_res_uid(nobody", "the Unix user"),
    ("src/worker/settings.rs", "\"nobody\"", "the Unix user"),
];

/// Fewer than fifty lines may quote what others wrote.
pub const MAX_EXCEPTIONS: usize = 49;

/// No banned word in the sources, the README and the documents, but in the exceptions.
pub fn banned_words(file: &Source, exceptions: &[(&str, &str, &str)]) -> Vec<Finding> {
    let is_held = file.path == "README.md" || file.path.starts_with("docs/") || file.path.starts_with("src/");
    if !is_held {
        return Vec::new();
    }
    let is_exception = |line: &str| exceptions.iter().any(|(path, part, _)| *path == file.path && line.contains(part));
    let found = |(index, line): (usize, &str)| {
        let lower = line.to_lowercase();
        let banned = BANNED.iter().filter(|word| has_word(&lower, word) && !is_exception(line));
        banned.map(|word| file.finding(index + 1, "plain words", format!("says {word:?}"))).collect::<Vec<_>>()
    };
    file.text.lines().enumerate().flat_map(found).collect()
}

/// Exceptions that no line needs.
pub fn unused_exceptions(tree: &[Source], exceptions: &[(&str, &str, &str)]) -> Vec<String> {
    let is_used = |(path, part, _): &&(&str, &str, &str)| {
        let lines = tree.iter().filter(|file| file.path == *path).flat_map(|file| file.text.lines());
        lines
            .filter(|line| line.contains(part))
            .any(|line| BANNED.iter().any(|word| has_word(&line.to_lowercase(), word)))
    };
    exceptions.iter().filter(|exception| !is_used(exception)).map(|(path, part, _)| format!("{path}: {part}")).collect()
}

fn has_word(line: &str, word: &str) -> bool {
    let is_inside = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word)
        .any(|(at, _)| !is_inside(line[..at].chars().next_back()) && !is_inside(line[at + word.len()..].chars().next()))
}

mod proofs {
    use super::*;

    #[test]
    fn banned_words_are_found_whole_and_exceptions_must_be_needed() {
        let bad = Source::new("src/a.rs", "/// Whom to ask.\nlet untold = go_on;\n// It goes on.");
        let exceptions = [("src/a.rs", "It goes on", "a quotation"), ("src/a.rs", "untold", "not needed")];
        let lines =
            |exceptions: &[_]| banned_words(&bad, exceptions).iter().map(|found| found.line).collect::<Vec<_>>();
        assert_eq!(lines(&[]), [1, 3]);
        assert_eq!(lines(&exceptions), [1]);
        assert_eq!(unused_exceptions(&[bad], &exceptions), ["src/a.rs: untold"]);
        assert_eq!(banned_words(&Source::new("tests/a.rs", "nobody"), &[]), []);
    }
}

//! What is told to people is true where a machine can tell: links, names of files and functions, commands; and it speaks
//! of the program, not of how it came about.

use std::collections::BTreeMap;

use crate::source::{Finding, Source, word_positions};

/// Paths of one machine, and marks of what is not finished.
const NOT_OURS_TO_TELL: &[&str] = &["/root/", "/usr/local/src/", "worktree", "FIXME", "XXX", "HACK", "WIP"];

/// This file must name the words.
const LIST: &str = "tests/tidy/prose.rs";

/// Nothing speaks of the making of the project.
pub fn making(file: &Source) -> Vec<Finding> {
    if file.path == LIST {
        return Vec::new();
    }
    let found = |(number, line): (usize, &str)| {
        NOT_OURS_TO_TELL
            .iter()
            .filter(|word| word_positions(line, word).next().is_some())
            .map(|word| file.finding(number + 1, "about the program", format!("speaks of {word:?}")))
            .collect::<Vec<_>>()
    };
    file.text.lines().enumerate().flat_map(found).collect()
}

/// The lines of a document that stand outside fenced blocks (`false`) or inside (`true`), with their numbers.
fn document_lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        Some((index + 1, line, fenced))
    })
}

fn is_document(file: &Source) -> bool {
    file.path == "README.md" || (file.path.starts_with("docs/") && file.path.ends_with(".md"))
}

/// Links of documents lead somewhere: to a file or folder of the tree, and to a heading there if they name one.
pub fn links(file: &Source, tree: &[Source], exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    if !is_document(file) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, line, _) in document_lines(&file.text).filter(|(_, _, fenced)| !fenced) {
        for target in link_targets(line).filter(|target| !target.contains("://")) {
            let (path, heading) =
                target.split_once('#').map_or((target, None), |(path, heading)| (path, Some(heading)));
            let path = if path.is_empty() { file.path.clone() } else { beside(&file.path, path) };
            if !exists(&path) {
                found.push(file.finding(number, "links", format!("{target} leads nowhere")));
            } else if let Some(heading) = heading {
                let has = tree.iter().find(|other| other.path == path).is_some_and(|other| has_heading(other, heading));
                if !has {
                    found.push(file.finding(number, "links", format!("{path} has no heading #{heading}")));
                }
            }
        }
    }
    found
}

fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// `path` as seen from the folder of `from`.
fn beside(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn has_heading(file: &Source, anchor: &str) -> bool {
    document_lines(&file.text).filter(|(_, line, fenced)| !fenced && line.starts_with('#')).any(|(_, line, _)| {
        let words = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).eq(anchor.chars())
    })
}

/// Files that a document names in backticks exist, and a name in backticks right after a file is an item of that file:
/// `src/engine/on/step.rs` `step`.
pub fn named_code(file: &Source, tree: &[Source], exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    const PLACES: &[&str] = &["src/", "tests/", "etc/", "docs/", "benches/", "fuzz/", "static/", "templates/", ".ci/"];
    if !is_document(file) {
        return Vec::new();
    }
    let texts: BTreeMap<&str, &str> = tree.iter().map(|other| (other.path.as_str(), other.text.as_str())).collect();
    let mut found = Vec::new();
    for (number, line, _) in document_lines(&file.text).filter(|(_, _, fenced)| !fenced) {
        let pieces: Vec<&str> = line.split('`').collect();
        for at in (1..pieces.len()).step_by(2) {
            let path = pieces[at].trim_end_matches('/');
            if !PLACES.iter().any(|place| path.starts_with(place)) || path.contains([' ', '*', '<', '{', '…']) {
                continue;
            }
            if !exists(path) {
                found.push(file.finding(number, "named code", format!("{path} does not exist")));
                continue;
            }
            // Several names may follow one file.
            let mut next = at + 2;
            while next < pieces.len()
                && [" ", ", "].contains(&pieces[next - 1])
                && !pieces[next].contains(['/', '.', ' '])
            {
                let name = pieces[next].rsplit("::").next().unwrap_or_default();
                if path.ends_with(".rs") && !texts.get(path).is_some_and(|text| has_item(text, name)) {
                    found.push(file.finding(number, "named code", format!("{path} has no item {name}")));
                }
                next += 2;
            }
        }
    }
    found
}

fn has_item(text: &str, name: &str) -> bool {
    const KINDS: &[&str] = &["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "macro_rules!"];
    let declared = KINDS.iter().any(|kind| word_positions(text, &format!("{kind} {name}")).next().is_some());
    // A variant or a field stands at the beginning of its line.
    declared
        || text.lines().any(|line| word_positions(line.trim_start().trim_start_matches("pub "), name).next() == Some(0))
}

/// README shows exactly two commands, in that order: the demo, which needs nothing but Rust, and all tests, which is also
/// what continuous integration runs. They are all the lines of all its fenced blocks but those of `text`, which show what
/// a command prints.
pub fn two_commands(readme: &Source, ci: &Source, executable: impl Fn(&str) -> bool) -> Vec<Finding> {
    const RULE: &str = "two commands";
    const COMMANDS: [&str; 2] = ["cargo run --profile quick -- demo", "tests/run.sh"];
    // What stands behind the fence of the block we are in.
    let mut block = None;
    let shown: Vec<(usize, &str)> = readme
        .text
        .lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let line = line.trim();
            if let Some(kind) = line.strip_prefix("```") {
                block = if block.is_none() { Some(kind) } else { None };
                return None;
            }
            let is_command = block.is_some_and(|kind| kind != "text") && !line.is_empty();
            is_command.then(|| (index + 1, line.trim_start_matches("./")))
        })
        .collect();
    let mut found = Vec::new();
    if shown.iter().map(|(_, line)| *line).ne(COMMANDS) {
        let line = shown.first().map_or(1, |(number, _)| *number);
        let lines: Vec<&str> = shown.iter().map(|(_, line)| *line).collect();
        found.push(readme.finding(line, RULE, format!("its fenced blocks hold {lines:?} instead of {COMMANDS:?}")));
    }
    if !executable(COMMANDS[1]) {
        found.push(readme.finding(1, RULE, format!("{} is no executable file", COMMANDS[1])));
    }
    if !ci.text.lines().any(|line| line.trim() == format!("exec {}", COMMANDS[1])) {
        found.push(ci.finding(1, RULE, format!("does not end in `exec {}`", COMMANDS[1])));
    }
    found
}

mod proofs {
    use super::*;

    #[test]
    fn words_about_the_making_are_found() {
        assert_eq!(making(&Source::new("src/a.rs", "fine\n// see /root/main\n")).len(), 1);
        assert_eq!(making(&Source::new("docs/a.md", "workers say: a deadlock, root/a")), []);
    }

    #[test]
    fn dead_links_and_headings_are_found() {
        let tree = [Source::new("docs/b.md", "# Big `words`, here\n")];
        let check = |text| {
            links(&Source::new("docs/a.md", text), &tree, |path| path == "docs/b.md" || path == "README.md").len()
        };
        assert_eq!(check("[a](b.md) [c](../README.md) [d](https://e/f) [g](b.md#big-words-here)"), 0);
        assert_eq!(check("[a](c.md)"), 1);
        assert_eq!(check("[a](b.md#other)"), 1);
        assert_eq!(check("```\n[a](c.md)\n```\n"), 0);
    }

    #[test]
    fn names_of_code_that_do_not_exist_are_found() {
        let tree = [Source::new("src/a.rs", "pub fn step() {}\nenum E {\n    Variant,\n}\n")];
        let check = |text| named_code(&Source::new("docs/a.md", text), &tree, |path| path == "src/a.rs").len();
        assert_eq!(check("`src/a.rs` `step`, `E::Variant` then `else`"), 0);
        assert_eq!(check("`src/b.rs`"), 1);
        assert_eq!(check("`src/a.rs` `stop`"), 1);
        assert_eq!(check("`src/a.rs` `step`, `E::Varian`"), 1);
    }

    #[test]
    fn a_third_command_and_an_idle_ci_are_found() {
        let ci = Source::new(".ci/run", "exec tests/run.sh\n");
        let check = |text: &str| two_commands(&Source::new("README.md", text), &ci, |_| true).len();
        let demo = "```sh\ncargo run --profile quick -- demo\n```\n";
        assert_eq!(check(&format!("{demo}then\n```sh\ntests/run.sh\n```\n")), 0);
        assert_eq!(check(&format!("{demo}prints\n```text\nall well\n```\nthen\n```sh\ntests/run.sh\n```\n")), 0);
        assert_eq!(check(&format!("{demo}prints\n```\nall well\n```\nthen\n```sh\ntests/run.sh\n```\n")), 1);
        assert_eq!(check(&format!("{demo}```text\nx\n```\n```sh\ntests/run.sh\ncargo build\n```\n")), 1);
        assert_eq!(check("no commands"), 1);
        let good = format!("{demo}```sh\ntests/run.sh\n```\n");
        let good = Source::new("README.md", &good);
        assert_eq!(two_commands(&good, &Source::new(".ci/run", "cargo test\n"), |_| true).len(), 1);
        assert_eq!(two_commands(&good, &ci, |_| false).len(), 1);
    }
}

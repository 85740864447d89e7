//! Every configuration key is acted on, or its meaning says that it is not yet.

use crate::source::{Finding, Source, line_of, word_positions};

const RULE: &str = "keys are acted on";

/// Begins the meaning of a key whose value waits for code that acts on it.
const MARK: &str = "\"Not acted on yet. ";

/// Fields of settings that nothing reads yet, and the keys that fill them.
pub const WAITING: &[(&str, &[&str])] = &[];

/// A key as a table declares it.
struct Declared<'a> {
    constant: &'a str,
    is_marked: bool,
    file: &'a Source,
    line: usize,
}

/// Each key is named by code outside of the tables, and is marked if and only if it fills a waiting field.
pub fn unread_keys(tree: &[Source], waiting: &[(&str, &[&str])]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let keys: Vec<Declared<'_>> = tree.iter().filter(|file| is_table(file)).flat_map(declared).collect();
    for key in &keys {
        let mut readers = tree.iter().filter(|file| !is_table(file) && !file.is_test());
        let is_named = readers.any(|file| word_positions(&file.code, key.constant).next().is_some());
        let is_waiting = waiting.iter().any(|(_, keys)| keys.contains(&key.constant));
        let what = match (is_named, key.is_marked, is_waiting) {
            (false, ..) => "no code reads it: read it, or take it off the table",
            (true, false, true) => {
                "begin its meaning with `Not acted on yet. `, or take it off WAITING in tests/tidy/keys.rs"
            }
            (true, true, false) => "it is acted on: its meaning must not begin with `Not acted on yet. `",
            (true, ..) => continue,
        };
        findings.push(key.file.finding(key.line, RULE, format!("{}: {what}", key.constant)));
    }
    findings
}

/// Each public field of the settings is read somewhere, except for the waiting ones.
pub fn unread_fields(tree: &[Source], waiting: &[(&str, &[&str])]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.iter().filter(|file| holds_settings(file)) {
        for (field, line) in public_fields(file) {
            let read = format!(".{field}");
            let mut readers = tree.iter().filter(|reader| reader.path.starts_with("src/") && !reader.is_test());
            let is_read = readers.any(|reader| word_positions(&reader.code, &read).next().is_some());
            let is_waiting = waiting.iter().any(|(waiting, _)| *waiting == field);
            let what = match (is_read, is_waiting) {
                (false, false) => "no code reads it: read it, or drop it",
                (true, true) => "it is read: take it off WAITING in tests/tidy/keys.rs",
                _ => continue,
            };
            findings.push(file.finding(line, RULE, format!("{field}: {what}")));
        }
    }
    findings
}

fn is_table(file: &Source) -> bool {
    file.path.starts_with("src/config/keys/")
}

fn holds_settings(file: &Source) -> bool {
    file.path.starts_with("src/config/settings/")
        || ["src/config/job_conf.rs", "src/worker/settings.rs"].contains(&&*file.path)
}

/// Declarations of the form `CONSTANT = "name", ..., "meaning";`.
fn declared(file: &Source) -> Vec<Declared<'_>> {
    let mut keys = Vec::new();
    let mut at = 0;
    for text in file.text.split_inclusive(";\n") {
        if let Some(equals) = text.find(" = \"") {
            let constant = text[..equals].rsplit(char::is_whitespace).next().unwrap_or_default();
            let line = line_of(&file.text, at + equals);
            keys.push(Declared { constant, is_marked: text.contains(MARK), file, line });
        }
        at += text.len();
    }
    keys
}

/// Lines of the form `pub field: Type,`.
fn public_fields(file: &Source) -> impl Iterator<Item = (&str, usize)> {
    file.code.lines().enumerate().filter_map(|(at, line)| {
        let (field, _) = line.trim_start().strip_prefix("pub ")?.split_once(": ")?;
        let is_name = field.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        is_name.then_some((field, at + 1))
    })
}

mod proofs {
    use super::*;

    const LATER: &[(&str, &[&str])] = &[("levels", &["LEVELS"])];

    fn tree(table: &str, settings: &str, reader: &str) -> Vec<Source> {
        let table = format!("const ANY: i64 = 0;\nkeys! {{\n    /// Keys.\n    TABLE;\n{table}}}\n");
        let file = |path, text: &str| Source::new(path, text);
        vec![
            file("src/config/keys/cluster.rs", &table),
            file("src/config/settings/mod.rs", settings),
            file("src/server/a.rs", reader),
        ]
    }

    fn found(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| format!("{}: {}", finding.line, finding.what)).collect()
    }

    #[test]
    fn a_key_is_read_or_waits() {
        let used = "    USED = \"a.b\" [\"c\"], Flag, None,\n        \"Meaning; more.\";\n";
        let waiting = "    LEVELS = \"l\", Text, None, \"Not acted on yet. Levels.\";\n";
        let settings = "configuration.flag(&keys::USED); configuration.text(&keys::LEVELS);";
        let keys = |table: &str, settings| found(unread_keys(&tree(table, settings, ""), LATER));
        assert_eq!(keys(&format!("{used}{waiting}"), settings), [""; 0]);
        let unread = keys(&format!("{used}{waiting}"), "keys::LEVELS");
        assert!(unread.len() == 1 && unread[0].starts_with("5: USED: no code reads it"), "{unread:?}");
        let unmarked = keys(&waiting.replace("Not acted on yet. ", ""), settings);
        assert!(unmarked.len() == 1 && unmarked[0].starts_with("5: LEVELS: begin its meaning"), "{unmarked:?}");
        let marked = keys(&used.replace("Meaning", "Not acted on yet. Meaning"), settings);
        assert!(marked.len() == 1 && marked[0].starts_with("5: USED: it is acted on"), "{marked:?}");
    }

    #[test]
    fn a_field_is_read_or_waits() {
        let settings = "pub struct A {\n    pub used: bool,\n    pub levels: u32,\n}\n";
        let fields = |reader| found(unread_fields(&tree("", settings, reader), LATER));
        assert_eq!(fields("settings.used"), [""; 0]);
        assert_eq!(fields("settings.used_up; // .used"), ["2: used: no code reads it: read it, or drop it"]);
        let read = fields("settings.used; settings.levels");
        assert!(read.len() == 1 && read[0].starts_with("3: levels: it is read"), "{read:?}");
    }
}

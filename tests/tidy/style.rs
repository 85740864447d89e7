//! How a file is written: its size, its name, its first words, and that nothing in it panics.

use crate::source::{Finding, Source, line_of};

/// Lines of a script at most; of Rust count functions ([`crate::functions`]).
pub const MOST_LINES: usize = 600;

/// Names that say nothing of what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "manager", "misc", "common", "stuff"];

/// What ends the process, or a step, in the middle.
const PANICS: &[&str] = &[
    ".unwrap()",
    ".unwrap_err()",
    ".expect(",
    ".expect_err(",
    "panic!(",
    "todo!(",
    "unimplemented!(",
    "unreachable!(",
];

/// No script is over [`MOST_LINES`].
pub fn size(file: &Source) -> Vec<Finding> {
    let written = ["sh", "py"].iter().any(|end| file.path.ends_with(&format!(".{end}")));
    let lines = file.text.lines().count();
    if !written || lines <= MOST_LINES {
        return Vec::new();
    }
    vec![file.finding(MOST_LINES + 1, "size", format!("{lines} lines: split it (at most {MOST_LINES})"))]
}

/// Files and folders are named for what is inside.
pub fn name(file: &Source) -> Vec<Finding> {
    let parts = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    parts
        .filter(|part| part.split('_').any(|word| EMPTY_NAMES.contains(&word)))
        .map(|part| file.finding(1, "name", format!("{part} says nothing of what is inside")))
        .collect()
}

/// Rust files begin by telling what lives in them.
pub fn first_words(file: &Source) -> Vec<Finding> {
    let rust = file.path.ends_with(".rs");
    // The attributes of a crate root may stand before.
    let first = file.text.lines().find(|line| !line.starts_with("#!") && !line.trim().is_empty()).unwrap_or_default();
    if !rust || first.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty()) {
        return Vec::new();
    }
    vec![file.finding(1, "first words", "begin with a //! line that tells what lives here")]
}

/// No input may end the daemon: outside tests nothing panics by its own words, unless a lint exemption in the two lines
/// before gives the reason.
pub fn panics(file: &Source) -> Vec<Finding> {
    if file.is_test() {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let excused = |line: usize| {
        let before = &lines[line.saturating_sub(3)..line - 1];
        before.iter().any(|text| text.trim_start().starts_with("#[expect(clippy::") && text.contains("reason = "))
    };
    let of = |word: &'static str| file.code.match_indices(word).map(move |(at, _)| (word, line_of(&file.code, at)));
    PANICS
        .iter()
        .flat_map(|word| of(word))
        .filter(|&(_, line)| !excused(line))
        .map(|(word, line)| file.finding(line, "no panics", format!("{word} outside tests")))
        .collect()
}

mod proofs {
    use super::*;

    #[test]
    fn each_rule_finds_what_breaks_it() {
        let long = "# Long...\n".repeat(MOST_LINES + 1);
        assert_eq!(size(&Source::new("tests/a.sh", &long)).len(), 1);
        assert_eq!(size(&Source::new("tests/a.sh", &long[10..])), []);
        for path in ["src/web/utils.rs", "src/helpers/mod.rs", "tests/string_util.rs", "etc/misc.sh"] {
            assert_eq!(name(&Source::new(path, "")).len(), 1, "{path}");
        }
        assert_eq!(name(&Source::new("src/web/utilization.rs", "")), []);
        assert_eq!(first_words(&Source::new("src/web/a.rs", "use a;\n//! Late.")).len(), 1);
        assert_eq!(first_words(&Source::new("src/web/a.rs", "//!\n")).len(), 1);
        assert_eq!(first_words(&Source::new("fuzz/a.rs", "#![no_main]\n//! Here.")), []);
    }

    #[test]
    fn panics_are_found_outside_tests_only() {
        for bad in ["a.unwrap();", "a.expect(\"b\");", "panic!(\"b\");", "todo!()", "unreachable!()"] {
            assert_eq!(panics(&Source::new("src/web/a.rs", bad)).len(), 1, "{bad}");
            assert_eq!(panics(&Source::new("src/web/tests/a.rs", bad)), [], "{bad}");
            let in_test = format!("#[cfg(test)]\nmod tests {{ fn f() {{ {bad} }} }}");
            assert_eq!(panics(&Source::new("src/web/a.rs", &in_test)), [], "{bad}");
        }
        assert_eq!(panics(&Source::new("src/web/a.rs", "a.unwrap_or(b); // .unwrap()\n")), []);
        let excused = "#[expect(clippy::expect_used, reason = \"why\")]\nlet a = b.expect(\"c\");\n";
        assert_eq!(panics(&Source::new("src/web/a.rs", excused)), []);
        assert_eq!(panics(&Source::new("src/web/a.rs", &excused.replace(", reason = \"why\"", ""))).len(), 1);
    }
}

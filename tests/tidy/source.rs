//! The tree as text: every file that people wrote, and Rust code without its comments, literals and tests.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Something that breaks a rule, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    pub rule: &'static str,
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: [{}] {}", self.path, self.line, self.rule, self.what)
    }
}

/// One file.
#[derive(Clone, Debug)]
pub struct Source {
    /// From the root of the tree, with `/`.
    pub path: String,
    pub text: String,
    /// For Rust: `text` with comments, literals and test items blanked, line for line. Else empty.
    pub code: String,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let code = if path.ends_with(".rs") { without_tests(&without_literals(text)) } else { String::new() };
        Self { path: path.to_owned(), text: text.to_owned(), code }
    }

    /// The room under `src/` this file lies in; none for `src/main.rs`, `src/lib.rs` and files elsewhere.
    pub fn room(&self) -> Option<&str> {
        let path = self.path.strip_prefix("src/")?;
        match path.split_once('/') {
            Some((room, _)) => Some(room),
            None => path.strip_suffix(".rs").filter(|name| !["lib", "main"].contains(name)),
        }
    }

    /// Rust that only tests and measurements run.
    pub fn is_test(&self) -> bool {
        !self.path.starts_with("src/") || self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    pub fn finding(&self, line: usize, rule: &'static str, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, rule, what: what.into() }
    }

    /// Lines of the code that hold `word` as a whole word or path.
    pub fn lines_with(&self, word: &str) -> Vec<usize> {
        word_positions(&self.code, word).map(|at| line_of(&self.code, at)).collect()
    }
}

/// Where `word` stands in `text`, not as a part of a longer name.
pub fn word_positions<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let goes_on_before = word.starts_with(in_name) && before.is_some_and(in_name);
        let goes_on_after = word.ends_with(in_name) && after.is_some_and(in_name);
        !goes_on_before && !goes_on_after
    })
}

/// The number, from 1, of the line that holds byte `at`.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The root of the tree.
pub fn root() -> PathBuf {
    // Cargo sets it at run time too; asked then, so that the same test can judge another tree.
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from)
}

/// All text files that people wrote, in the order of their paths.
pub fn tree() -> Vec<Source> {
    let mut found = Vec::new();
    let root = root();
    collect(&root, &root, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.iter().any(|file| file.path == "src/lib.rs"), "no src/lib.rs under {}", root.display());
    found
}

/// Made by programs, not written: builds, caches, recorded bytes and outputs.
const NOT_WRITTEN: &[&str] = &["target", "out", "fixtures", "recorded", "corpus", "artifacts", "__pycache__"];
const WRITTEN: &[&str] = &["rs", "md", "sh", "py", "toml", "html", "css", "js", "sql", "xml", "yml", "yaml", "service"];

fn collect(root: &Path, folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let hidden = name.starts_with('.') && name != ".ci";
            if !hidden && !NOT_WRITTEN.contains(&name.as_str()) {
                collect(root, &path, found);
            }
            continue;
        }
        // A script of continuous integration has no extension.
        let script = folder == root.join(".ci");
        if script || path.extension().is_some_and(|end| WRITTEN.iter().any(|written| end == *written)) {
            let relative = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{relative}: {error}"));
            found.push(Source::new(&relative, &text));
        }
    }
}

/// Blanks comments and the insides of strings and characters; every line keeps its place.
fn without_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let before = code.chars().next_back();
        let length = literal_length(rest, before);
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    code
}

/// Bytes of the comment or literal that `rest` begins with; 0 if it begins with none.
fn literal_length(rest: &str, before: Option<char>) -> usize {
    let to_end_of = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    if !before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        let prefix = ["br", "cr", "r"].into_iter().find(|prefix| rest.starts_with(prefix)).map_or(0, str::len);
        let hashes = rest[prefix..].chars().take_while(|&c| c == '#').count();
        if prefix > 0 && rest[prefix + hashes..].starts_with('"') {
            return to_end_of(&format!("\"{}", "#".repeat(hashes)), prefix + hashes + 1);
        }
    }
    if rest.starts_with('"') {
        return quoted_length(rest, '"');
    }
    // A lifetime has no second quote where a character has one.
    let mut after_quote = rest.chars().skip(1);
    if rest.starts_with('\'') && (after_quote.next() == Some('\\') || after_quote.next() == Some('\'')) {
        return quoted_length(rest, '\'');
    }
    0
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_u32;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Blanks each item under `#[cfg(test)]`, in code that has no literals any more.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        kept.push_str(&rest[..at]);
        let length = item_length(&rest[at..]);
        kept.extend(rest[at..at + length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[at + length..];
    }
    kept.push_str(rest);
    kept
}

/// Bytes up to the end of the first item: its semicolon, or the brace that closes its first one.
fn item_length(rest: &str) -> usize {
    let mut depth = 0_u32;
    for (at, c) in rest.char_indices() {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= depth.min(1),
            _ => {}
        }
    }
    rest.len()
}

mod proofs {
    use super::*;

    #[test]
    fn comments_literals_and_tests_are_not_code() {
        let text = "// HashMap\n/* a /* HashMap */ b */ let a = \"HashMap \\\" HashMap\"; let b = r#\"HashMap\" \"#;\n\
                    fn f<'a>(c: char) { c == '\\'' || c == '\"'; real() }\n#[cfg(test)]\nmod tests {\n fn g() { HashMap }\n}\nafter();\n";
        let code = Source::new("src/a.rs", text).code;
        assert!(!code.contains("HashMap") && !code.contains("mod tests"), "{code}");
        assert!(code.contains("fn f<'a>(c: char)") && code.contains("real()") && code.contains("after()"), "{code}");
        assert_eq!(code.lines().count(), text.lines().count());
        assert_eq!(Source::new("src/a.rs", text).lines_with("after"), [8]);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(word_positions("FxHashMap HashMap HashMaps", "HashMap").collect::<Vec<_>>(), [10]);
    }
}

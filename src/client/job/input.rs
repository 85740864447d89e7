//! Resolves input paths and patterns to files, as 1.2.1 `FileInputFormat.listStatus` does.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use glob::MatchOptions;

use crate::fs::{
    EntryKind, EntryStatus, FileSystem, FileSystems, FileUri, FileUriError, FolderEntry, FsError, ListBound,
};

use super::split::{FileBlocks, InputFile};

pub(super) use glob::Pattern;

/// Why an input cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// An unsupported path or URI.
    #[error("--input {0}")]
    Uri(#[from] FileUriError),
    /// An invalid pattern.
    #[error("--input {0}")]
    Pattern(#[from] PatternError),
    /// No such file.
    #[error("--input: {0} does not exist")]
    Missing(String),
    /// No file matches the pattern.
    #[error("--input: no file matches {0}")]
    NoMatch(String),
    /// A hidden file.
    #[error("--input: {0} begins with _ or .; such files are ignored as input")]
    Hidden(String),
    /// A directory within a directory.
    #[error("--input: {folder} is a subdirectory of {within} and is not read; give its path, or {within}/*")]
    Folder {
        /// The inner directory.
        folder: String,
        /// The outer directory.
        within: String,
    },
    /// A name that is not UTF-8.
    #[error("--input: {0:?} is not UTF-8")]
    NotUtf8(PathBuf),
    /// A system error.
    #[error("--input: cannot read {path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The files of all paths and patterns, sorted by name. A directory stands for the files in it, without hidden ones.
/// Errors: each path must match a file.
pub(crate) fn find_input_files(files: &FileSystems, inputs: &[FileUri]) -> Result<Vec<InputFile>, InputError> {
    let mut found = Vec::new();
    for input in inputs {
        let file_system = files.of(input);
        for (path, status) in find_matching_paths(&file_system, input)? {
            match status.kind {
                EntryKind::Folder => add_files_in(&file_system, &path, &mut found)?,
                EntryKind::File => found.push(input_file(&file_system, &path, &status)?),
            }
        }
    }
    Ok(found)
}

fn input_file(files: &FileSystem, path: &FileUri, status: &EntryStatus) -> Result<InputFile, InputError> {
    let (length_bytes, block_bytes) = (status.length_bytes, status.block_bytes);
    let blocks = FileBlocks::new(files.blocks(path, length_bytes).map_err(unreadable(path))?);
    Ok(InputFile { uri: path.to_string(), length_bytes, block_bytes, blocks })
}

fn add_files_in(files: &FileSystem, folder: &FileUri, found: &mut Vec<InputFile>) -> Result<(), InputError> {
    for FolderEntry { name, status } in files.entries(folder, ListBound::OF_USER).map_err(unreadable(folder))? {
        let name = utf8(folder, &name)?;
        if is_hidden(name) {
            continue;
        }
        let path = folder.join(name)?;
        if status.kind == EntryKind::Folder {
            return Err(InputError::Folder { folder: path.to_string(), within: folder.to_string() });
        }
        found.push(input_file(files, &path, &status)?);
    }
    Ok(())
}

/// What one path or pattern matches, sorted.
fn find_matching_paths(files: &FileSystem, input: &FileUri) -> Result<BTreeMap<FileUri, EntryStatus>, InputError> {
    let text = input.path();
    let mut found = BTreeMap::new();
    let mut is_pattern = false;
    let mut hidden = None;
    for alternative in alternatives(text)? {
        is_pattern |= alternative != text;
        let names: Vec<_> =
            alternative.split('/').filter(|name| !name.is_empty()).map(Name::parse).collect::<Result<_, _>>()?;
        let mut paths = vec![input.root()];
        for (at, name) in names.iter().enumerate() {
            let is_last = at + 1 == names.len();
            match name {
                Name::Plain(plain) if is_last && is_hidden(plain) => {
                    hidden = Some(plain.clone());
                    paths.clear();
                }
                Name::Plain(plain) => {
                    paths = paths.iter().map(|path| path.join(plain)).collect::<Result<_, _>>()?;
                }
                Name::Pattern(pattern) => {
                    is_pattern = true;
                    let mut matching = Vec::new();
                    for folder in &paths {
                        matching.extend(names_matching(files, folder, pattern, is_last)?);
                    }
                    paths = matching;
                }
            }
        }
        for path in paths {
            match files.status(&path) {
                Ok(Some(status)) => drop(found.insert(path, status)),
                // As in a shell, a pattern does not match what cannot be looked at.
                Ok(None) => {}
                Err(_) if is_pattern => {}
                Err(error) => return Err(unreadable(&path)(error)),
            }
        }
    }
    match (found.is_empty(), hidden) {
        (false, _) => Ok(found),
        (true, Some(name)) => Err(InputError::Hidden(name)),
        (true, None) if is_pattern => Err(InputError::NoMatch(input.to_string())),
        (true, None) => Err(InputError::Missing(input.to_string())),
    }
}

/// What a pattern matches in a folder, in order; nothing if it is none. `is_last`: hidden names do not count.
fn names_matching(
    files: &FileSystem,
    folder: &FileUri,
    pattern: &Pattern,
    is_last: bool,
) -> Result<Vec<FileUri>, InputError> {
    if !matches!(files.status(folder), Ok(Some(EntryStatus { kind: EntryKind::Folder, .. }))) {
        return Ok(Vec::new());
    }
    let mut matching = Vec::new();
    for name in files.names_in(folder, ListBound::OF_USER).map_err(unreadable(folder))? {
        let name = utf8(folder, &name)?;
        if matches(pattern, name) && !(is_last && is_hidden(name)) {
            matching.push(folder.join(name)?);
        }
    }
    Ok(matching)
}

fn utf8<'a>(folder: &FileUri, name: &'a OsStr) -> Result<&'a str, InputError> {
    name.to_str().ok_or_else(|| InputError::NotUtf8(folder.shown_path().join(name)))
}

/// For `map_err`: what cannot be read.
fn unreadable(path: &FileUri) -> impl Fn(FsError) -> InputError + '_ {
    move |error| InputError::Io { path: path.shown_path(), source: error.into() }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with(['_', '.'])
}

const MOST_ALTERNATIVES: usize = 10_000;

/// An invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?}: {reason}")]
pub struct PatternError {
    pub(crate) pattern: String,
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

    fn stage() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["in/b.txt", "in/a.txt", "in/_SUCCESS", "in/.a.txt.crc", "in2/c,d.txt", "in3/x/y.txt", "in/{z"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        folder
    }

    fn found(folder: &tempfile::TempDir, inputs: &[&str]) -> Result<Vec<(String, u64)>, String> {
        let root = folder.path().display().to_string();
        let uris: Vec<_> = inputs.iter().map(|input| FileUri::parse(&format!("{root}/{input}")).unwrap()).collect();
        let files = find_input_files(&FileSystems::with_defaults("alice"), &uris)
            .map_err(|error| error.to_string().replace(&root, ""))?;
        Ok(files.into_iter().map(|file| (file.uri.replace(&root, ""), file.length_bytes)).collect())
    }

    #[test]
    fn folders_files_and_patterns_become_files() {
        let folder = stage();
        let file = |name: &str, length| (format!("file:/{name}"), length);
        let (a, b, z) = (file("in/a.txt", 8), file("in/b.txt", 8), file("in/{z", 5));
        assert_eq!(found(&folder, &["in"]), Ok(vec![a.clone(), b.clone(), z.clone()]));
        assert_eq!(found(&folder, &["in/*.txt", "in2"]), Ok(vec![a.clone(), b.clone(), file("in2/c,d.txt", 11)]));
        assert_eq!(found(&folder, &["i?/[^b].*", "in/\\{z"]), Ok(vec![a.clone(), z]));
        assert_eq!(found(&folder, &["{in/b.txt,in3/*,in/a*}"]).map(|files| files.len()), Ok(3));
        assert_eq!(found(&folder, &["in/a.txt", "in/a.txt"]), Ok(vec![a.clone(), a]));
    }

    #[test]
    fn bad_inputs_are_named() {
        let folder = stage();
        let refusals =
            ["none", "in/a.txt/none", "in/*/none", "in/*.gz", "in/_SUCCESS", "in/.*", "in3", "in/[", "in/{z"]
                .map(|input| found(&folder, &[input]).unwrap_err());
        insta::assert_snapshot!(refusals.join("\n"), @r#"
        --input: file:/none does not exist
        --input: cannot read /in/a.txt/none: Not a directory (os error 20)
        --input: no file matches file:/in/*/none
        --input: no file matches file:/in/*.gz
        --input: _SUCCESS begins with _ or .; such files are ignored as input
        --input: no file matches file:/in/.*
        --input: file:/in3/x is a subdirectory of file:/in3 and is not read; give its path, or file:/in3/*
        --input "[": invalid range pattern
        --input "/in/{z": a { without a closing }
        "#);
    }

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

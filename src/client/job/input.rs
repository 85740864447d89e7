//! Resolves input paths and patterns to files, as 1.2.1 `FileInputFormat.listStatus` does.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::fs::{FileUri, FileUriError};

use super::pattern::{Name, PatternError, alternatives, matches};
use super::split::InputFile;

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
///
/// # Errors
/// [`InputError`]: each path must match a file.
pub fn find_input_files(inputs: &[FileUri]) -> Result<Vec<InputFile>, InputError> {
    let mut files = Vec::new();
    for input in inputs {
        for path in find_matching_paths(input)? {
            let metadata = std::fs::metadata(&path).map_err(|source| InputError::Io { path: path.clone(), source })?;
            if metadata.is_dir() {
                add_files_in(&path, &mut files)?;
            } else {
                files.push(InputFile { uri: uri_of(&path)?, length_bytes: metadata.len() });
            }
        }
    }
    Ok(files)
}

fn add_files_in(folder: &Path, files: &mut Vec<InputFile>) -> Result<(), InputError> {
    for name in names_in(folder)?.into_iter().filter(|name| !is_hidden(name)) {
        let path = folder.join(name);
        let metadata = std::fs::metadata(&path).map_err(|source| InputError::Io { path: path.clone(), source })?;
        if metadata.is_dir() {
            return Err(InputError::Folder { folder: uri_of(&path)?, within: uri_of(folder)? });
        }
        files.push(InputFile { uri: uri_of(&path)?, length_bytes: metadata.len() });
    }
    Ok(())
}

/// The paths that one path or pattern matches, sorted.
fn find_matching_paths(input: &FileUri) -> Result<Vec<PathBuf>, InputError> {
    let text = input.as_path().to_string_lossy();
    let mut found = BTreeSet::new();
    let mut is_pattern = false;
    let mut hidden = None;
    for alternative in alternatives(&text)? {
        is_pattern |= alternative != text;
        let names: Vec<_> =
            alternative.split('/').filter(|name| !name.is_empty()).map(Name::parse).collect::<Result<_, _>>()?;
        let mut paths = vec![PathBuf::from("/")];
        for (at, name) in names.iter().enumerate() {
            let is_last = at + 1 == names.len();
            match name {
                Name::Plain(plain) if is_last && is_hidden(plain) => {
                    hidden = Some(plain.clone());
                    paths.clear();
                }
                Name::Plain(plain) => paths.iter_mut().for_each(|path| path.push(plain)),
                Name::Pattern(pattern) => {
                    is_pattern = true;
                    let mut matching = Vec::new();
                    for folder in paths.iter().filter(|folder| folder.is_dir()) {
                        let names = names_in(folder)?.into_iter();
                        let names = names.filter(|name| matches(pattern, name) && !(is_last && is_hidden(name)));
                        matching.extend(names.map(|name| folder.join(name)));
                    }
                    paths = matching;
                }
            }
        }
        for path in paths {
            match path.try_exists() {
                Ok(true) => drop(found.insert(path)),
                // As in a shell, a pattern does not match what cannot be looked at.
                Ok(false) => {}
                Err(_) if is_pattern => {}
                Err(source) => return Err(InputError::Io { path, source }),
            }
        }
    }
    match (found.is_empty(), hidden) {
        (false, _) => Ok(found.into_iter().collect()),
        (true, Some(name)) => Err(InputError::Hidden(name)),
        (true, None) if is_pattern => Err(InputError::NoMatch(input.to_string())),
        (true, None) => Err(InputError::Missing(input.to_string())),
    }
}

/// The names in a directory, sorted.
fn names_in(folder: &Path) -> Result<Vec<String>, InputError> {
    let refused = |source| InputError::Io { path: folder.to_owned(), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(refused)? {
        let name = entry.map_err(refused)?.file_name();
        names.push(name.into_string().map_err(|name| InputError::NotUtf8(folder.join(name)))?);
    }
    names.sort_unstable();
    Ok(names)
}

fn is_hidden(name: &str) -> bool {
    name.starts_with(['_', '.'])
}

fn uri_of(path: &Path) -> Result<String, InputError> {
    path.to_str().map(|path| format!("file:{path}")).ok_or_else(|| InputError::NotUtf8(path.to_owned()))
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
        let files = find_input_files(&uris).map_err(|error| error.to_string().replace(&root, ""))?;
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
}

//! Paths as Hadoop writes them: `file:/a/b`.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An absolute path on the local file system, in the form 1.2.1 `Path` keeps it: no `.`, no `..`, no double or trailing
/// slash. Prints as `file:/a/b`, the form that stock trackers and clients expect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileUri {
    path: String,
}

/// Why a text is no path that we can use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileUriError {
    /// A file system that is planned.
    #[error("{uri:?}: file system {scheme:?} is not supported yet; expected a file: URI or an absolute path")]
    NotSupportedYet {
        /// The text.
        uri: String,
        /// Its scheme.
        scheme: String,
    },
    /// A file system that is not.
    #[error("{uri:?}: unknown file system {scheme:?}; expected a file: URI or an absolute path")]
    UnknownScheme {
        /// The text.
        uri: String,
        /// Its scheme.
        scheme: String,
    },
    /// `file://host/path`: only the three forms without host name files of this machine.
    #[error("{uri:?}: a host in a file: URI; expected file:/path or file:///path")]
    Host {
        /// The text.
        uri: String,
    },
    /// A path that hangs on the place it is read at.
    #[error("{uri:?}: not an absolute path; expected a file: URI or an absolute path")]
    NotAbsolute {
        /// The text.
        uri: String,
    },
}

impl FileUri {
    /// Reads `file:///x`, `file:/x` or `/x`. Nothing is decoded: a `%` is a `%`, as in 1.2.1 `Path`.
    ///
    /// # Errors
    /// [`FileUriError`]: another file system, a host, or a relative path.
    pub fn parse(text: &str) -> Result<Self, FileUriError> {
        let uri = || text.to_owned();
        let path = match scheme(text) {
            None => text,
            Some("file") => &text["file:".len()..],
            Some(scheme @ ("hdfs" | "webhdfs" | "hftp")) => {
                return Err(FileUriError::NotSupportedYet { uri: uri(), scheme: scheme.to_owned() });
            }
            Some(scheme) => return Err(FileUriError::UnknownScheme { uri: uri(), scheme: scheme.to_owned() }),
        };
        let path = match path.strip_prefix("//") {
            Some(after) if scheme(text).is_some() && !after.starts_with('/') => {
                return Err(FileUriError::Host { uri: uri() });
            }
            _ => path,
        };
        // A NUL cannot stand in a path of the system; a URI with one is a mistake.
        if !path.starts_with('/') || path.contains('\0') {
            return Err(FileUriError::NotAbsolute { uri: uri() });
        }
        Ok(FileUri { path: resolved(Path::new(path)).to_string_lossy().into_owned() })
    }

    /// The path below this one.
    ///
    /// # Errors
    /// [`FileUriError::NotAbsolute`] when `name` is not a plain name, so that no name can lead out of a folder.
    pub fn join(&self, name: &str) -> Result<Self, FileUriError> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(FileUriError::NotAbsolute { uri: name.to_owned() });
        }
        Ok(FileUri { path: format!("{}/{name}", self.path.trim_end_matches('/')) })
    }

    /// Whether this is `folder` or lies in it.
    #[must_use]
    pub fn is_in(&self, folder: &FileUri) -> bool {
        self.as_path().starts_with(folder.as_path())
    }

    /// The path for the system.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// The path for the system, owned.
    #[must_use]
    pub fn to_path_buf(&self) -> PathBuf {
        PathBuf::from(&self.path)
    }
}

/// The scheme before a `:` that stands before any `/` (1.2.1 `Path`).
fn scheme(text: &str) -> Option<&str> {
    let colon = text.find(':')?;
    text.find('/').is_none_or(|slash| colon < slash).then(|| &text[..colon])
}

/// The path without `.` and `..`, as text: links are not followed.
fn resolved(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(component),
        }
    }
    plain
}

impl fmt::Display for FileUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file:{}", self.path)
    }
}

impl TryFrom<String> for FileUri {
    type Error = FileUriError;

    fn try_from(text: String) -> Result<Self, FileUriError> {
        FileUri::parse(&text)
    }
}

impl From<FileUri> for String {
    fn from(uri: FileUri) -> String {
        uri.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(text: &str) -> Option<String> {
        FileUri::parse(text).ok().map(|uri| uri.to_string())
    }

    #[test]
    fn prints_as_hadoop_prints() {
        for text in
            ["file:///data/h1", "file:/data/h1", "/data/h1", "/data//h1/", "/data/./x/../h1", "file:////data/h1"]
        {
            assert_eq!(printed(text).as_deref(), Some("file:/data/h1"), "{text}");
        }
        assert_eq!(printed("file:///").as_deref(), Some("file:/"));
        assert_eq!(printed("/a:b/c%20d").as_deref(), Some("file:/a:b/c%20d"));
    }

    #[test]
    fn says_why_not() {
        let errors = ["hdfs://n:8020/x", "s3://b/x", "file://host/x", "out/x", "", "file:x", "/a\0b"]
            .map(|text| FileUri::parse(text).map_or_else(|error| error.to_string(), |uri| uri.to_string()));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        "hdfs://n:8020/x": file system "hdfs" is not supported yet; expected a file: URI or an absolute path
        "s3://b/x": unknown file system "s3"; expected a file: URI or an absolute path
        "file://host/x": a host in a file: URI; expected file:/path or file:///path
        "out/x": not an absolute path; expected a file: URI or an absolute path
        "": not an absolute path; expected a file: URI or an absolute path
        "file:x": not an absolute path; expected a file: URI or an absolute path
        "/a\0b": not an absolute path; expected a file: URI or an absolute path
        "#);
    }

    #[test]
    fn no_name_leads_out_of_a_folder() {
        let system = FileUri::parse("/system").unwrap();
        assert_eq!(system.join("job_1").unwrap().to_string(), "file:/system/job_1");
        for name in ["..", ".", "", "a/b", "/etc", "a\0"] {
            assert!(system.join(name).is_err(), "{name:?}");
        }
        assert_eq!(FileUri::parse("/").unwrap().join("a").unwrap().to_string(), "file:/a");
    }

    proptest! {
        #[test]
        fn a_printed_path_reads_back(text in "(/[a-c.:% ]{0,3}){1,4}") {
            let uri = FileUri::parse(&text).unwrap();
            prop_assert_eq!(FileUri::parse(&uri.to_string()), Ok(uri));
        }

        #[test]
        fn no_text_panics(text in ".{0,20}") {
            let _ = FileUri::parse(&text);
        }
    }
}

//! Paths as a NameNode may be given them.

use std::fmt;

/// Longest path, UTF-16 units, and most parts: a NameNode refuses more.
const MAX_UNITS: usize = 8_000;
const MAX_PARTS: usize = 1_000;

/// A path below the root of an HDFS: absolute, single slashes, none at the end, no `.` or `..`, no `:`. A 1.2.1 NameNode normalises
/// nothing: a path with an empty part makes a directory without a name, and an edit log that the NameNode cannot read at its next start. So
/// nothing else is ever sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HdfsPath(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("HDFS path {path:?}: {reason}")]
pub struct HdfsPathError {
    pub(crate) path: String,
    /// What is wrong, and what was expected.
    pub(crate) reason: &'static str,
}

impl HdfsPath {
    #[cfg(test)]
    pub(crate) fn root() -> Self {
        Self("/".to_owned())
    }

    /// Normalises a path: repeated slashes and one at the end are dropped, `.` and `..` are resolved as text, as Java's `Path` does.
    ///
    /// # Errors
    /// A relative or empty path, one that leads above the root, has a `:` or a NUL in it, or is too long for a NameNode.
    pub fn parse(path: &str) -> Result<Self, HdfsPathError> {
        let refused = |reason| HdfsPathError { path: path.to_owned(), reason };
        if !path.starts_with('/') {
            return Err(refused("not absolute; expected /DIRECTORY/NAME"));
        }
        if path.contains([':', '\0']) {
            return Err(refused("a NameNode accepts neither `:` nor NUL in a name"));
        }
        let mut parts = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or_else(|| refused("leads above the root"))?;
                }
                part => parts.push(part),
            }
        }
        if parts.len() > MAX_PARTS {
            return Err(refused("more than 1000 parts, which a NameNode refuses"));
        }
        let normal = Self(format!("/{}", parts.join("/")));
        if normal.0.encode_utf16().count() > MAX_UNITS {
            return Err(refused("more than 8000 characters, which a NameNode refuses"));
        }
        Ok(normal)
    }

    /// The path of a name in this directory. Errors: a name that is empty, `.` or `..`, or has a `/`, `:` or NUL in it.
    #[cfg(test)]
    pub(crate) fn join(&self, name: &str) -> Result<Self, HdfsPathError> {
        if name.is_empty() || name == "." || name == ".." || name.contains('/') {
            return Err(HdfsPathError {
                path: name.to_owned(),
                reason: "not the name of a file; expected one part of a path",
            });
        }
        Self::parse(&format!("{}/{name}", self.0))
    }

    #[cfg(test)]
    pub(crate) fn parent(&self) -> Option<Self> {
        let (parent, name) = self.0.rsplit_once('/')?;
        (!name.is_empty()).then(|| if parent.is_empty() { Self::root() } else { Self(parent.to_owned()) })
    }

    /// The last part; empty for the root.
    pub(crate) fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The text, as it is sent.
    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HdfsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(path: &str) -> Result<String, String> {
        HdfsPath::parse(path).map(|path| path.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_normalised_or_refused() {
        for (path, expected) in
            [("/", "/"), ("//", "/"), ("/a//b/", "/a/b"), ("/a/./b/../c", "/a/c"), ("/a/..", "/"), ("/a b/é", "/a b/é")]
        {
            assert_eq!(parsed(path).as_deref(), Ok(expected), "{path}");
        }
        let long = format!("/{}", "x".repeat(8_000));
        let deep = "/x".repeat(1_001);
        for path in ["", "a", "a/b", "/..", "/a/../../b", "/a:b", "hdfs://h/x", "/a\0b", &long, &deep] {
            let error = parsed(path).unwrap_err();
            assert!(error.starts_with(&format!("HDFS path {path:?}: ")), "{error}");
        }
        assert!(parsed(&"/x".repeat(1_000)).is_ok());
    }

    #[test]
    fn parts_are_joined_and_taken_apart() {
        let path = HdfsPath::root().join("a").unwrap().join("b").unwrap();
        assert_eq!((path.as_str(), path.name()), ("/a/b", "b"));
        let parents: Vec<_> =
            std::iter::successors(path.parent(), HdfsPath::parent).map(|path| path.to_string()).collect();
        assert_eq!(parents, ["/a", "/"]);
        for name in ["", ".", "..", "a/b", "a:b", "a\0"] {
            assert!(path.join(name).is_err(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_may_be_sent(path in "/?[a-c./:é]{0,12}") {
            if let Ok(path) = HdfsPath::parse(&path) {
                let text = path.as_str();
                prop_assert!(text == "/" || text[1..].split('/').all(|part| !["", ".", ".."].contains(&part)), "{}", text);
                prop_assert!(text.starts_with('/') && !text.contains(':'));
                let again = HdfsPath::parse(text);
                prop_assert_eq!(again.as_ref(), Ok(&path));
            }
        }
    }
}

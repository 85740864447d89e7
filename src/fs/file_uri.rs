//! Paths as Hadoop writes them: `file:/a/b`, `hdfs://namenode:8020/a/b`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::hdfs::Endpoint;

/// An absolute path on a file system, in the form 1.2.1 `Path` keeps it: no `.`, no `..`, no double or trailing slash. Prints as
/// `file:/a/b` or `hdfs://host:port/a/b`, the forms that stock trackers and clients expect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileUri {
    /// `None`: a file of this machine.
    namenode: Option<NameNodeAddress>,
    path: String,
}

/// The address of a NameNode as a URI has it. With and without the default port it is the same one.
#[derive(Clone, Debug, Eq)]
pub(crate) struct NameNodeAddress {
    host: String,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileUriError {
    #[error("{uri:?}: unknown file system {scheme:?}; expected a file: or hdfs: URI or an absolute path")]
    UnknownScheme { uri: String, scheme: String },
    /// `file://host/path`: only the three forms without host name files of this machine.
    #[error("{uri:?}: a host in a file: URI; expected file:/path or file:///path")]
    Host { uri: String },
    /// No NameNode in an `hdfs:` URI, and no default file system that has one; or an address that is none.
    #[error("{uri:?}: no address of a NameNode; expected hdfs://host:port/path")]
    NameNode { uri: String },
    #[error("{uri:?}: not an absolute path; expected a file: or hdfs: URI or an absolute path")]
    NotAbsolute { uri: String },
    /// A NameNode refuses such names, or could not read its own log with them.
    #[error("{uri:?}: a colon in a name; expected a path that HDFS takes")]
    Colon { uri: String },
}

impl FileUri {
    /// Reads `file:///x`, `file:/x`, `hdfs://host:port/x`, or `/x`, which is a file of this machine. Nothing is decoded: a `%` is a `%`,
    /// as in 1.2.1 `Path`.
    ///
    /// # Errors
    /// [`FileUriError`]: another file system, a host where none may be, or a relative path.
    pub fn parse(text: &str) -> Result<Self, FileUriError> {
        Self::read(text, None)
    }

    /// Reads a text as [`FileUri::parse`], with this file system as the default (`fs.default.name`): `/x` and `hdfs:///x` lie on it.
    pub(crate) fn resolve(&self, text: &str) -> Result<Self, FileUriError> {
        Self::read(text, self.namenode.as_ref())
    }

    /// Whether a text is a path without scheme and root: clients resolve one below `mapred.working.dir`.
    pub(crate) fn is_relative(text: &str) -> bool {
        scheme(text).is_none() && !text.is_empty() && !text.starts_with('/')
    }

    /// Reads a value of `fs.default.name`; of old it may be `local` or `host:port` (1.2.1 `FileSystem.fixName`). Its path counts for
    /// nothing.
    pub(crate) fn of_default(value: &str) -> Result<Self, FileUriError> {
        let fixed = match value {
            "local" => "file:///".to_owned(),
            value if !value.contains('/') => format!("hdfs://{value}"),
            value => value.to_owned(),
        };
        Ok(Self::parse(&fixed)?.root())
    }

    pub(crate) fn local_root() -> Self {
        FileUri { namenode: None, path: "/".to_owned() }
    }

    fn read(text: &str, default: Option<&NameNodeAddress>) -> Result<Self, FileUriError> {
        let uri = || text.to_owned();
        let (namenode, path) = match scheme(text) {
            None => (default.cloned(), text),
            Some("file") => (None, local_part(text)?),
            Some("hdfs") => {
                let (address, path) = hdfs_part(text).ok_or_else(|| FileUriError::NameNode { uri: uri() })?;
                let address = address.or_else(|| default.cloned());
                (Some(address.ok_or_else(|| FileUriError::NameNode { uri: uri() })?), path)
            }
            Some(scheme) => return Err(FileUriError::UnknownScheme { uri: uri(), scheme: scheme.to_owned() }),
        };
        // A NUL cannot stand in a path of the system; a URI with one is a mistake.
        if !path.starts_with('/') || path.contains('\0') {
            return Err(FileUriError::NotAbsolute { uri: uri() });
        }
        if namenode.is_some() && path.contains(':') {
            return Err(FileUriError::Colon { uri: uri() });
        }
        Ok(FileUri { namenode, path: resolved(Path::new(path)).to_string_lossy().into_owned() })
    }

    /// The path below this one.
    ///
    /// # Errors
    /// [`FileUriError::NotAbsolute`] when `name` is not a plain name, so that no name can lead out of a folder.
    pub fn join(&self, name: &str) -> Result<Self, FileUriError> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(FileUriError::NotAbsolute { uri: name.to_owned() });
        }
        if self.namenode.is_some() && name.contains(':') {
            return Err(FileUriError::Colon { uri: name.to_owned() });
        }
        Ok(FileUri { namenode: self.namenode.clone(), path: format!("{}/{name}", self.path.trim_end_matches('/')) })
    }

    pub(crate) fn parent(&self) -> Option<Self> {
        let (above, _) = self.path.rsplit_once('/').filter(|(_, name)| !name.is_empty())?;
        let path = if above.is_empty() { "/" } else { above };
        Some(FileUri { namenode: self.namenode.clone(), path: path.to_owned() })
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.path.rsplit('/').next().filter(|name| !name.is_empty())
    }

    pub(crate) fn root(&self) -> Self {
        FileUri { namenode: self.namenode.clone(), path: "/".to_owned() }
    }

    pub(crate) fn is_in(&self, folder: &FileUri) -> bool {
        self.below(folder).is_some()
    }

    /// The path from `folder` to this one, without a slash before it; empty for `folder` itself, `None` elsewhere.
    pub(crate) fn below(&self, folder: &FileUri) -> Option<&str> {
        if self.namenode != folder.namenode {
            return None;
        }
        let rest = self.path.strip_prefix(folder.path.trim_end_matches('/'))?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    }

    /// The NameNode that has it; `None`: this machine.
    pub(crate) fn namenode(&self) -> Option<&NameNodeAddress> {
        self.namenode.as_ref()
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The path for the system; `None` if the file is not one of this machine.
    pub fn local_path(&self) -> Option<&Path> {
        self.namenode.is_none().then(|| Path::new(&self.path))
    }

    /// The path for the system, of a file that lies on this machine.
    pub(super) fn as_path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// What messages call it: the path of a file of this machine, else the whole URI.
    pub fn shown_path(&self) -> PathBuf {
        match &self.namenode {
            None => PathBuf::from(&self.path),
            Some(_) => PathBuf::from(self.to_string()),
        }
    }
}

impl NameNodeAddress {
    /// Reads `host` or `host:port`.
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            Some((_, port)) if !port.bytes().all(|byte| byte.is_ascii_digit()) => return None,
            Some((host, port)) => (host, Some(port.parse().ok().filter(|port| *port != 0)?)),
            None => (text, None),
        };
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        (!host.is_empty() && host.bytes().all(is_host)).then(|| NameNodeAddress { host: host.to_owned(), port })
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(Endpoint::DEFAULT_NAMENODE_PORT)
    }

    /// What two texts of one address have in common.
    fn key(&self) -> (String, u16) {
        (self.host.to_ascii_lowercase(), self.port())
    }
}

impl PartialEq for NameNodeAddress {
    fn eq(&self, other: &Self) -> bool {
        self.port() == other.port() && self.host.eq_ignore_ascii_case(&other.host)
    }
}

impl PartialOrd for NameNodeAddress {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NameNodeAddress {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for NameNodeAddress {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Display for NameNodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The path of a `file:` URI.
fn local_part(text: &str) -> Result<&str, FileUriError> {
    let path = &text["file:".len()..];
    match path.strip_prefix("//") {
        Some(after) if !after.starts_with('/') => Err(FileUriError::Host { uri: text.to_owned() }),
        _ => Ok(path),
    }
}

/// The address, if there is one, and the path of an `hdfs:` URI; `None` if the address is none. Without a path it is the root.
fn hdfs_part(text: &str) -> Option<(Option<NameNodeAddress>, &str)> {
    let rest = &text["hdfs:".len()..];
    let Some(rest) = rest.strip_prefix("//") else { return Some((None, rest)) };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = if path.is_empty() { "/" } else { path };
    match authority {
        "" => Some((None, path)),
        authority => Some((Some(NameNodeAddress::parse(authority)?), path)),
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
        match &self.namenode {
            None => write!(f, "file:{}", self.path),
            Some(address) => write!(f, "hdfs://{address}{}", self.path),
        }
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
        let errors = [
            "hftp://n:50070/x",
            "s3://b/x",
            "file://host/x",
            "out/x",
            "",
            "file:x",
            "/a\0b",
            "hdfs:///x",
            "hdfs:/x",
            "hdfs://n:0/x",
            "hdfs://n:x/y",
            "hdfs://n:+1/y",
            "hdfs://n:99999/y",
            "hdfs://u@n/x",
            "hdfs://n/a:b",
            "hdfs://n\0/x",
        ]
        .map(|text| FileUri::parse(text).map_or_else(|error| error.to_string(), |uri| uri.to_string()));
        insta::assert_snapshot!(errors.join("\n"), @r#"
        "hftp://n:50070/x": unknown file system "hftp"; expected a file: or hdfs: URI or an absolute path
        "s3://b/x": unknown file system "s3"; expected a file: or hdfs: URI or an absolute path
        "file://host/x": a host in a file: URI; expected file:/path or file:///path
        "out/x": not an absolute path; expected a file: or hdfs: URI or an absolute path
        "": not an absolute path; expected a file: or hdfs: URI or an absolute path
        "file:x": not an absolute path; expected a file: or hdfs: URI or an absolute path
        "/a\0b": not an absolute path; expected a file: or hdfs: URI or an absolute path
        "hdfs:///x": no address of a NameNode; expected hdfs://host:port/path
        "hdfs:/x": no address of a NameNode; expected hdfs://host:port/path
        "hdfs://n:0/x": no address of a NameNode; expected hdfs://host:port/path
        "hdfs://n:x/y": no address of a NameNode; expected hdfs://host:port/path
        "hdfs://n:+1/y": no address of a NameNode; expected hdfs://host:port/path
        "hdfs://n:99999/y": no address of a NameNode; expected hdfs://host:port/path
        "hdfs://u@n/x": no address of a NameNode; expected hdfs://host:port/path
        "hdfs://n/a:b": a colon in a name; expected a path that HDFS takes
        "hdfs://n\0/x": no address of a NameNode; expected hdfs://host:port/path
        "#);
    }

    #[test]
    fn a_namenode_is_kept_as_written_and_compared_by_host_and_port() {
        let printed = |text: &str| FileUri::parse(text).unwrap().to_string();
        assert_eq!(printed("hdfs://nn//user/./h1/../h2/"), "hdfs://nn/user/h2");
        assert_eq!(printed("hdfs://nn:9000"), "hdfs://nn:9000/");
        let uri = |text: &str| FileUri::parse(text).unwrap();
        assert_eq!(uri("hdfs://nn/a"), uri("hdfs://NN:8020/a"));
        assert_ne!(uri("hdfs://nn/a"), uri("hdfs://nn:9000/a"));
        assert_ne!(uri("hdfs://nn/a"), uri("/a"));
        assert!(!uri("/a/b").is_in(&uri("hdfs://nn/a")));
        assert_eq!(uri("hdfs://nn:8020/a/b/c").below(&uri("hdfs://nn/a")), Some("b/c"));
        assert_eq!(uri("/ab").below(&uri("/a")), None);
        assert_eq!(uri("/a").below(&uri("/")), Some("a"));
        assert_eq!((uri("/a").local_path(), uri("hdfs://nn/a").local_path()), (Some(Path::new("/a")), None));
        assert!(uri("hdfs://nn/a").join("b:c").is_err());
    }

    #[test]
    fn bare_paths_lie_on_the_default_file_system() {
        let default = FileUri::parse("hdfs://nn:9000/").unwrap();
        let resolved = |text: &str| default.resolve(text).unwrap().to_string();
        assert_eq!(resolved("/a"), "hdfs://nn:9000/a");
        assert_eq!(resolved("hdfs:///a"), "hdfs://nn:9000/a");
        assert_eq!(resolved("hdfs://other/a"), "hdfs://other/a");
        assert_eq!(resolved("file:///a"), "file:/a");
        assert!(default.resolve("a").is_err());
        assert!(FileUri::parse("/x").unwrap().resolve("hdfs:/a").is_err());
    }

    #[test]
    fn parents_and_names() {
        let uri = |text: &str| FileUri::parse(text).unwrap();
        assert_eq!((uri("/a/b").parent(), uri("/a/b").name()), (Some(uri("/a")), Some("b")));
        assert_eq!((uri("hdfs://n/a").parent(), uri("hdfs://n/a").name()), (Some(uri("hdfs://n/")), Some("a")));
        assert_eq!((uri("/").parent(), uri("/").name()), (None, None));
        assert_eq!(uri("hdfs://n/a/b").root(), uri("hdfs://n"));
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

//! Why something cannot be done with an HDFS.

use std::fmt;
use std::io::{self, ErrorKind};
use std::time::Duration;

use crate::wire::WireError;
use crate::wire::limits::{NAMENODE_ERROR_BYTES, cut};
use crate::wire::protocol::RemoteException;

use super::list_bound::BeyondListBound;
use super::path::HdfsPathError;

/// Why something cannot be done with an HDFS. Each text names the address, and the path where there is one.
#[derive(Debug, thiserror::Error)]
pub enum HdfsError {
    #[error(transparent)]
    Path(#[from] HdfsPathError),
    #[error("{address}: the host name does not resolve ({source}); expected the {role}'s address, {}", role.hint())]
    Unresolved { address: String, role: ServerRole, source: io::Error },
    #[error("{role} {address}: cannot connect: {source}")]
    Connect { address: String, role: ServerRole, source: io::Error },
    #[error("{address} is not a {role} of Hadoop 1: {reason}; expected {}", role.hint())]
    OtherServer { address: String, role: ServerRole, reason: String },
    /// The connection ended in the first call, which no server of Hadoop 1 does by itself: whether one listens there is not known.
    #[error(
        "{address} closed the connection in its first call ({source}): either it is no {role} of Hadoop 1, or it ended at that moment; \
         expected {}",
        role.hint()
    )]
    ClosedAtOnce { address: String, role: ServerRole, source: io::Error },
    #[error("{role} {address} has version {theirs} of {protocol}; expected {ours} (Hadoop 0.20.203.0 to 1.2.1)")]
    Version { address: String, role: ServerRole, protocol: &'static str, ours: i64, theirs: i64 },
    /// The connection ended after a call was sent: whether it had an effect is not known.
    #[error("{role} {address}: the connection ended before {call} was answered: {source}")]
    Lost { address: String, role: ServerRole, call: &'static str, source: io::Error },
    /// A call was not answered in time: whether it had an effect is not known.
    #[error("{role} {address}: no answer to {call} within {limit:?}")]
    Silent { address: String, role: ServerRole, call: &'static str, limit: Duration },
    #[error("{role} {address}: the answer to {call} cannot be read: {reason}")]
    BadAnswer { address: String, role: ServerRole, call: &'static str, reason: String },
    #[error("{role} {address}: {call}{}: {exception}", of_path(path))]
    Refused {
        address: String,
        role: ServerRole,
        call: &'static str,
        path: Option<String>,
        exception: Box<HdfsException>,
    },
    #[error("hdfs://{address}{path}: no such file")]
    NotFound { address: String, path: String },
    #[error("hdfs://{address}{path}: {beyond}; expected a directory with less in it")]
    TooMuchListed { address: String, path: String, beyond: BeyondListBound },
    #[error("hdfs://{address}{path}: is a directory; expected a file")]
    IsDirectory { address: String, path: String },
    #[error(
        "hdfs://{address}{path}: another file took its place while it was read, at byte {offset_bytes}; expected one that stays"
    )]
    Replaced {
        address: String,
        path: String,
        /// Where in the file, bytes.
        offset_bytes: u64,
    },
    #[error("hdfs://{address}{path}: no replica of {block} could be read at byte {offset_bytes}: {reason}")]
    NoReplica {
        address: String,
        path: String,
        block: String,
        /// Where in the file, bytes.
        offset_bytes: u64,
        /// What each DataNode did, as far as it was seen.
        reason: String,
    },
    #[error("hdfs://{address}{path}: {block} cannot be written: {reason}")]
    NoPipeline {
        address: String,
        path: String,
        block: String,
        /// What each DataNode did, as far as it was seen.
        reason: String,
    },
    #[error("hdfs://{address}{path}: not closed after {tries} tries: no DataNode has reported its last block")]
    NotClosed { address: String, path: String, tries: u32 },
    #[error("hdfs://{address}{path}: writing failed before: {reason}")]
    Failed {
        address: String,
        path: String,
        /// The first error.
        reason: String,
    },
    #[error("hdfs://{address}{path}: {reason}")]
    Setting {
        address: String,
        path: String,
        /// What is wrong, and what was expected.
        reason: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerRole {
    NameNode,
    DataNode,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({})", class.rsplit('.').next().unwrap_or_default())]
pub struct HdfsException {
    pub(crate) kind: ExceptionKind,
    /// Its Java class.
    pub(crate) class: String,
    /// Its first line.
    pub(crate) message: String,
}

/// Kinds of exceptions that a client acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExceptionKind {
    /// The user may not.
    AccessControl,
    /// The service does not let the user in, or does not let it act for another.
    Authorization,
    /// No such file, or a parent is no directory.
    FileNotFound,
    SafeMode,
    /// The caller does not hold the lease of the file, or the file is not open.
    LeaseExpired,
    /// The block before the last has no replica yet.
    NotReplicatedYet,
    AlreadyBeingCreated,
    Quota,
    Other,
}

impl ServerRole {
    fn hint(self) -> &'static str {
        match self {
            Self::NameNode => "the RPC port of fs.default.name (8020 by default)",
            Self::DataNode => "a port as the NameNode lists it",
        }
    }
}

impl fmt::Display for ServerRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NameNode => "NameNode",
            Self::DataNode => "DataNode",
        })
    }
}

impl From<RemoteException> for HdfsException {
    fn from(exception: RemoteException) -> Self {
        let first = exception.message.lines().next().unwrap_or_default();
        let first = first.strip_prefix(&*exception.class).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(first);
        let kind = match exception.class.rsplit('.').next().unwrap_or_default() {
            "AccessControlException" => ExceptionKind::AccessControl,
            "AuthorizationException" => ExceptionKind::Authorization,
            "FileNotFoundException" => ExceptionKind::FileNotFound,
            "SafeModeException" => ExceptionKind::SafeMode,
            "LeaseExpiredException" => ExceptionKind::LeaseExpired,
            "NotReplicatedYetException" => ExceptionKind::NotReplicatedYet,
            "AlreadyBeingCreatedException" => ExceptionKind::AlreadyBeingCreated,
            "NSQuotaExceededException" | "DSQuotaExceededException" | "QuotaExceededException" => ExceptionKind::Quota,
            _ => ExceptionKind::Other,
        };
        Self {
            kind,
            message: cut(first, NAMENODE_ERROR_BYTES).to_owned(),
            class: cut(&exception.class, NAMENODE_ERROR_BYTES).to_owned(),
        }
    }
}

impl HdfsError {
    pub(crate) fn exception(&self) -> Option<&HdfsException> {
        match self {
            HdfsError::Refused { exception, .. } => Some(&**exception),
            _ => None,
        }
    }

    /// The kind of what the server threw, if it threw something.
    pub(crate) fn exception_kind(&self) -> Option<ExceptionKind> {
        self.exception().map(|exception| exception.kind)
    }

    /// Whether the NameNode is in safe mode, or cannot be reached now: a later try may succeed.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            HdfsError::Connect { .. }
            | HdfsError::ClosedAtOnce { .. }
            | HdfsError::Lost { .. }
            | HdfsError::Silent { .. } => true,
            _ => self.exception_kind() == Some(ExceptionKind::SafeMode),
        }
    }

    #[cfg(test)]
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, HdfsError::NotFound { .. }) || self.exception_kind() == Some(ExceptionKind::FileNotFound)
    }

    #[cfg(test)]
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self.exception_kind(), Some(ExceptionKind::AccessControl | ExceptionKind::Authorization))
    }

    /// Whether a call was sent and what came of it is not known.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self, HdfsError::Lost { .. })
    }

    pub(super) fn bad_answer(address: &str, role: ServerRole, call: &'static str, error: &WireError) -> Self {
        HdfsError::BadAnswer { address: address.to_owned(), role, call, reason: error.to_string() }
    }
}

impl From<HdfsError> for io::Error {
    /// The kind that a local file would have given, around the whole error.
    fn from(error: HdfsError) -> Self {
        let kind = match &error {
            HdfsError::Path(_) | HdfsError::Setting { .. } => ErrorKind::InvalidInput,
            HdfsError::NotFound { .. } => ErrorKind::NotFound,
            HdfsError::IsDirectory { .. } => ErrorKind::IsADirectory,
            HdfsError::Silent { .. } => ErrorKind::TimedOut,
            HdfsError::BadAnswer { .. }
            | HdfsError::OtherServer { .. }
            | HdfsError::Replaced { .. }
            | HdfsError::Version { .. } => ErrorKind::InvalidData,
            HdfsError::Connect { source, .. }
            | HdfsError::ClosedAtOnce { source, .. }
            | HdfsError::Lost { source, .. } => source.kind(),
            error => match error.exception_kind() {
                Some(ExceptionKind::AccessControl | ExceptionKind::Authorization) => ErrorKind::PermissionDenied,
                Some(ExceptionKind::FileNotFound) => ErrorKind::NotFound,
                Some(ExceptionKind::Quota) => ErrorKind::QuotaExceeded,
                _ => ErrorKind::Other,
            },
        };
        io::Error::new(kind, error)
    }
}

fn of_path(path: &Option<String>) -> String {
    path.as_ref().map(|path| format!(" {path}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_its_first_line_without_its_class() {
        let class = "org.apache.hadoop.security.AccessControlException";
        let message = format!("{class}: Permission denied: user=u\n\tat java.lang.Thread.run(Thread.java)");
        let exception = HdfsException::from(RemoteException { class: class.to_owned(), message });
        assert_eq!(exception.kind, ExceptionKind::AccessControl);
        let error = HdfsError::Refused {
            address: "n:8020".to_owned(),
            role: ServerRole::NameNode,
            call: "mkdirs",
            path: Some("/a".to_owned()),
            exception: Box::new(exception),
        };
        assert_eq!(error.to_string(), "NameNode n:8020: mkdirs /a: Permission denied: user=u (AccessControlException)");
        assert!(error.is_denied() && !error.is_temporary());
        assert_eq!(io::Error::from(error).kind(), ErrorKind::PermissionDenied);
    }
}

//! Why the daemon does not start, or does not stop cleanly.

use std::net::SocketAddr;

use crate::config::error::Origin;
use crate::config::{ConfigError, HostPort, NamedValue, Settings, keys};
use crate::fs::{FsError, is_permanent};
use crate::server::{AclFileError, DirectoryError, HostsError};
use crate::store::{BudgetBackEndError, StoreError};

use super::daemon::RunError;
use super::web_socket::WebSocketError;

/// Each text includes what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// An address does not resolve here.
    #[error("{key} = {address}: {source}; expected an address of this machine")]
    Address { key: &'static str, address: HostPort, source: std::io::Error },
    /// The same with its place.
    #[error("{origin}: {source}")]
    Placed { origin: Origin, source: Box<Self> },
    /// A folder of the daemon cannot be used.
    #[error("{culprit}: {source}; set {key} to a folder that this user may write to", key = .culprit.key)]
    Folder { culprit: Box<NamedValue>, source: FsError },
    /// The web server's Unix socket cannot be opened.
    #[error("{culprit}: {source}")]
    WebSocket { culprit: Box<NamedValue>, source: WebSocketError },
    /// The NameNode of system directory or staging root has no address here.
    #[error(
        "{culprit}: the NameNode {host} has no address: {source}; expected the name of a host that this machine knows"
    )]
    NameNode { culprit: Box<NamedValue>, host: String, source: std::io::Error },
    /// The secret of the cookies of pages cannot be used.
    #[error("{0}")]
    PageSecret(String),
    /// A port cannot be bound.
    #[error(
        "cannot listen on {address}: {source}; stop what listens there (jobtracker status shows whether it is another JobTracker, jobtracker stop ends it), or set another address by -D {key}=HOST:PORT"
    )]
    Port { key: &'static str, address: SocketAddr, source: std::io::Error },
    /// The state cannot be opened or closed.
    #[error("{0}{mend}", mend = state_advice(.0))]
    Store(#[from] StoreError),
    #[error("{0}")]
    Budget(#[from] BudgetBackEndError),
    /// The files of the scheduler that was chosen while the daemon ran.
    #[error("{0}")]
    Scheduler(#[from] ConfigError),
    #[error("{0}")]
    Acl(#[from] AclFileError),
    #[error("{0}")]
    Hosts(#[from] HostsError),
    /// System directory or staging root.
    #[error("{0}")]
    Directory(#[from] DirectoryError),
    /// The system refuses a thread, a signal or an event queue.
    #[error("the system refuses {what}: {source}")]
    System { what: &'static str, source: std::io::Error },
    /// The hand-over from the running daemon failed.
    #[error("takeover failed: {0}")]
    TakeOver(String),
    /// The disk of the state, or what has the image of the budgets, hangs at the stop.
    #[error(
        "the state did not close in time: its disk hangs, or what has the image of the budgets; everything acknowledged is durable, \
         and the next start recovers it"
    )]
    CloseTimeout,
    /// Serving ended with an error.
    #[error("{0}: see the log; a restart continues from the durable state")]
    Run(#[from] RunError),
}

impl ServeError {
    pub(super) fn web_socket(settings: &Settings, source: WebSocketError) -> Self {
        let found = settings.configuration.setting(&keys::WEB_SOCKET).ok().flatten();
        let unset =
            || NamedValue { key: keys::WEB_SOCKET.name.to_owned(), origin: Origin::Default, value: String::new() };
        Self::WebSocket { culprit: Box::new(found.map_or_else(unset, |setting| setting.culprit())), source }
    }

    /// Whether the budget file is missing that the first start needs.
    pub(crate) fn is_of_missing_budgets(&self) -> bool {
        matches!(self, Self::Budget(BudgetBackEndError::Missing { .. }))
    }

    /// Whether another start would fail alike until a person acts: a supervisor must not try again.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::Store(error) => error.is_permanent(),
            Self::Budget(error) => match error {
                BudgetBackEndError::Missing { .. }
                | BudgetBackEndError::Line(_)
                | BudgetBackEndError::Unreadable { .. } => true,
                BudgetBackEndError::File { source, .. } => is_permanent(source),
                BudgetBackEndError::BackEnd { is_permanent, .. } => *is_permanent,
                BudgetBackEndError::Store { .. } | BudgetBackEndError::Thread(_) => false,
            },
            Self::Placed { source, .. } => source.is_permanent(),
            Self::Scheduler(_) | Self::NameNode { .. } | Self::PageSecret(_) => true,
            Self::Folder { source, .. } => source.is_permanent(),
            Self::WebSocket { source, .. } => source.is_permanent(),
            Self::Acl(error) => match error {
                AclFileError::Line(_) | AclFileError::NotText(_) => true,
                AclFileError::File { source, .. } => source.is_permanent(),
                AclFileError::Thread(_) => false,
            },
            Self::Hosts(error) => match error {
                HostsError::File(error) => error.is_permanent(),
                HostsError::NotText(_) => true,
            },
            Self::Directory(error) => match error {
                DirectoryError::System(error) | DirectoryError::StagingRoot(error) => error.is_permanent(),
                DirectoryError::SafeMode(_) => false,
            },
            // A low port. One that is taken becomes free, and an address comes with its network.
            Self::Port { source, .. } => source.kind() == std::io::ErrorKind::PermissionDenied,
            Self::Address { .. } | Self::System { .. } | Self::TakeOver(_) | Self::CloseTimeout | Self::Run(_) => false,
        }
    }
}

/// What to do about a bad state folder.
fn state_advice(error: &StoreError) -> &'static str {
    match error {
        StoreError::File { .. } | StoreError::Folder(FsError::Refused { .. } | FsError::WrongKind { .. }) => {
            "; set jobtracker.state.dir to a folder that this user may write to"
        }
        // These texts include it.
        StoreError::Locked { .. } | StoreError::OtherSchema { .. } | StoreError::Emptied { .. } => "",
        _ => " (jobtracker.state.dir)",
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use rustix::io::Errno;

    use crate::fs::FileUri;
    use crate::store::SchemaFound;

    use super::*;

    fn os(code: Errno) -> io::Error {
        code.into()
    }

    fn refused(code: Errno) -> FsError {
        let (path, expected) = (PathBuf::from("/x"), "a folder");
        FsError::Refused { action: "create", path, expected, source: os(code) }
    }

    /// By errno: whether a person must act.
    const CODES: [(Errno, bool); 14] = [
        (Errno::NOENT, true),
        (Errno::ACCESS, true),
        (Errno::PERM, true),
        (Errno::NOTDIR, true),
        (Errno::ISDIR, true),
        (Errno::ROFS, true),
        (Errno::EXIST, true),
        (Errno::INVAL, true),
        (Errno::NOSPC, false),
        (Errno::DQUOT, false),
        (Errno::IO, false),
        (Errno::MFILE, false),
        (Errno::NOMEM, false),
        (Errno::TIMEDOUT, false),
    ];

    #[test]
    fn what_only_a_person_can_mend_is_told_by_the_type_of_the_error() {
        let path = || PathBuf::from("/x");
        let schema = |found| StoreError::OtherSchema { path: path(), found, expected: 2, copy: None };
        let sqlite = |code| {
            let source = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            StoreError::Database { action: "open", path: path(), source }
        };
        let back_end = |is_permanent| {
            let (place, reason) = ("a database".to_owned(), "no table".to_owned());
            BudgetBackEndError::BackEnd { action: "load", place, reason, is_permanent }
        };
        let wrong_owner = || FsError::WrongOwner { path: path(), owner: 7, expected: vec![0] };
        let mut table: Vec<(ServeError, bool)> = vec![
            (schema(SchemaFound::Version(9)).into(), true),
            (schema(SchemaFound::Foreign).into(), true),
            (StoreError::Damaged { path: path(), text: String::new() }.into(), true),
            (StoreError::Locked { path: path(), pid: None }.into(), false),
            (StoreError::NoRoom { path: path(), folder: path(), needed_bytes: 2, free_bytes: 1 }.into(), false),
            (StoreError::Folder(wrong_owner()).into(), true),
            (StoreError::Folder(FsError::SymbolicLink { path: path() }).into(), true),
            (sqlite(rusqlite::ffi::SQLITE_NOTADB).into(), true),
            (sqlite(rusqlite::ffi::SQLITE_CORRUPT).into(), true),
            (sqlite(rusqlite::ffi::SQLITE_CANTOPEN).into(), true),
            (sqlite(rusqlite::ffi::SQLITE_FULL).into(), false),
            (sqlite(rusqlite::ffi::SQLITE_BUSY).into(), false),
            (sqlite(rusqlite::ffi::SQLITE_IOERR).into(), false),
            (BudgetBackEndError::Missing { path: path() }.into(), true),
            (BudgetBackEndError::Unreadable { path: path(), reason: "not UTF-8" }.into(), true),
            (BudgetBackEndError::Thread(os(Errno::AGAIN)).into(), false),
            (back_end(true).into(), true),
            (back_end(false).into(), false),
            (AclFileError::NotText(path()).into(), true),
            (AclFileError::File { source: wrong_owner(), key: "k" }.into(), true),
            (AclFileError::Thread(os(Errno::AGAIN)).into(), false),
            (HostsError::NotText(path()).into(), true),
            (DirectoryError::System(wrong_owner()).into(), true),
            (DirectoryError::SafeMode(FileUri::local_root()).into(), false),
            (ServeError::CloseTimeout, false),
            (ServeError::System { what: "a thread", source: os(Errno::AGAIN) }, false),
        ];
        for (code, is_permanent) in CODES {
            table.extend([
                (StoreError::File { action: "create", path: path(), source: os(code) }.into(), is_permanent),
                (StoreError::Folder(refused(code)).into(), is_permanent),
                (BudgetBackEndError::File { action: "read", path: path(), source: os(code) }.into(), is_permanent),
                (AclFileError::File { source: refused(code), key: "k" }.into(), is_permanent),
                (HostsError::File(refused(code)).into(), is_permanent),
                (DirectoryError::System(refused(code)).into(), is_permanent),
                (DirectoryError::StagingRoot(refused(code)).into(), is_permanent),
            ]);
        }
        let port = |code| ServeError::Port { key: "k", address: ([127, 0, 0, 1], 80).into(), source: os(code) };
        table.extend([(port(Errno::ACCESS), true), (port(Errno::ADDRINUSE), false)]);
        for (error, is_permanent) in table {
            assert_eq!(error.is_permanent(), is_permanent, "{error:?}");
        }
    }
}

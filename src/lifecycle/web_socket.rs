//! The Unix socket at which the web server listens too. It is opened before a session and outlives it: neither an upgrade that fails nor
//! a new session of this process can lose it.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::fs::{FolderHandle, FsError, Privacy, check_trusted_folder, is_permanent, open_trusted_folder};

/// Who may connect: every user of the machine.
const SOCKET_MODE: u32 = 0o666;
/// Of its folder, if it is made.
const FOLDER_MODE: u32 = 0o755;

#[derive(Debug, thiserror::Error)]
pub(crate) enum WebSocketError {
    /// The folder, or what stands in it.
    #[error("{0}; expected a name that is free, in a folder that only root and this user may write to")]
    Folder(#[from] FsError),
    #[error("{} is there and is no socket; expected a name that is free", .0.display())]
    Taken(PathBuf),
    #[error(
        "{} listens there: stop it, or set another path by -D jobtracker.web.socket=PATH",
        process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"))
    )]
    Live { process: Option<u32> },
    #[error("cannot listen there: {0}; expected a name that is free, in a folder that this user may write to")]
    System(#[from] io::Error),
}

#[derive(Debug)]
pub(super) struct WebSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and number of the file.
    file: (u64, u64),
}

impl WebSocketError {
    /// Whether another start would fail alike until a person acts.
    pub(super) fn is_permanent(&self) -> bool {
        match self {
            Self::Folder(error) => error.is_permanent(),
            Self::Taken(_) => true,
            Self::Live { .. } => false,
            Self::System(error) => is_permanent(error),
        }
    }
}

impl WebSocket {
    /// Listens at a path. A socket whose process has ended is replaced; of a live one, that of `predecessor` alone.
    pub(super) fn open(path: &Path, predecessor: Option<u32>) -> Result<Self, WebSocketError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        };
        let folder = open_trusted_folder(parent, FOLDER_MODE, Privacy::Private)?.folder;
        check_name(&folder, path)?;
        // Names of sockets have a short limit.
        let here = Path::new("/proc/self/fd").join(folder.as_fd().as_raw_fd().to_string()).join(name);
        if let Some(process) = listening_process(&here)?
            && (process.is_none() || process != predecessor)
        {
            return Err(WebSocketError::Live { process });
        }
        folder.remove(name)?;
        let listener = UnixListener::bind(&here)?;
        listener.set_nonblocking(true)?;
        folder.set_mode_of_entry(name, SOCKET_MODE)?;
        let file = file_at(path).ok_or(io::ErrorKind::NotFound).map_err(io::Error::from)?;
        Ok(Self { listener, path: path.to_owned(), file })
    }

    /// Whether callers of the path still come here.
    pub(super) fn is_in_place(&self) -> bool {
        file_at(&self.path) == Some(self.file)
    }

    pub(super) fn share(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

/// Looks for what would keep [`WebSocket::open`] from a path, and makes nothing. Whether a process listens there is not looked at: it
/// may be the daemon itself.
pub(super) fn check_web_socket(path: &Path) -> Result<(), WebSocketError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    match check_trusted_folder(parent, Privacy::Private)? {
        Some(found) => check_name(&found.folder, path),
        None => Ok(()),
    }
}

/// Only a socket may have the name.
fn check_name(folder: &FolderHandle, path: &Path) -> Result<(), WebSocketError> {
    let stat = path.file_name().map(|name| folder.stat_of(name)).transpose()?.flatten();
    match stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::Socket) {
        true => Err(WebSocketError::Taken(path.to_owned())),
        false => Ok(()),
    }
}

fn file_at(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// The process that listens at a socket, none inside if the kernel does not say which; none if no process does. Waits for nothing.
fn listening_process(path: &Path) -> io::Result<Option<Option<u32>>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) => {
            let process = rustix::net::sockopt::socket_peercred(&socket).ok().map(|owner| owner.pid);
            Ok(Some(process.and_then(|process| u32::try_from(process.as_raw_nonzero().get()).ok())))
        }
        // Its queue is full; or it is of another kind, which has an owner as well.
        Err(Errno::AGAIN | Errno::PROTOTYPE) => Ok(Some(None)),
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn scratch() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
        folder
    }

    #[test]
    fn a_live_socket_is_refused_by_name_and_a_dead_one_replaced() {
        let folder = scratch();
        let path = folder.path().join("run/web");
        let first = WebSocket::open(&path, None).unwrap();
        let own = std::process::id();
        let error = WebSocket::open(&path, None).unwrap_err();
        assert!(error.to_string().starts_with(&format!("process {own} listens there: stop it")), "{error}");
        assert!(!error.is_permanent());
        WebSocket::open(&path, Some(own + 1)).unwrap_err();
        assert!(first.is_in_place() && UnixStream::connect(&path).is_ok());
        drop(first);
        let second = WebSocket::open(&path, None).unwrap();
        let successor = WebSocket::open(&path, Some(own)).unwrap();
        assert!(successor.is_in_place() && !second.is_in_place());
    }

    #[test]
    fn a_path_that_no_start_can_use_is_refused_before_and_at_the_start() {
        let folder = scratch();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "").unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        std::fs::create_dir(path("open")).unwrap();
        std::fs::set_permissions(path("open"), PermissionsExt::from_mode(0o777)).unwrap();
        for (name, expected) in [
            ("file", "is no socket"),
            ("folder", "is no socket"),
            ("link", "is no socket"),
            ("open/web", "writable for others"),
            ("file/web", "expected"),
        ] {
            let errors = [check_web_socket(&path(name)).unwrap_err(), WebSocket::open(&path(name), None).unwrap_err()];
            for error in errors {
                assert!(error.is_permanent() && error.to_string().contains(expected), "{name}: {error}");
            }
        }
        check_web_socket(&path("missing/web")).unwrap();
        assert!(!path("missing").exists(), "a look makes nothing");
    }
}

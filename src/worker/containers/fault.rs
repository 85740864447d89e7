//! Why a container did not start. Each text names what is at fault.

use std::io;
use std::path::{Path, PathBuf};

use crate::fs::{FileUriError, FsError, script_fault};
use crate::model::ContainerExit;
use crate::supervisor::shortage::{has_shortage, is_of_disk, is_shortage_at_start};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ResourceFault {
    #[error("{0}")]
    Address(#[from] FileUriError),
    #[error("{0}")]
    File(#[from] FsError),
    #[error(
        "{} does not exist on this worker's machine; each worker reads files by itself, so they must lie where all workers see them",
        path.display()
    )]
    NotHere { path: PathBuf },
    /// It lies on a file system that all machines reach by themselves.
    #[error("{resource} is not a file of the worker's machine; expected a file: URI or an absolute path")]
    NotLocal { resource: String },
    #[error("cannot {action} {}: {source}", path.display())]
    Copy {
        /// `read` or `write`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} has {found} bytes; the context says {expected}", path.display())]
    Size {
        path: PathBuf,
        /// Its length, bytes.
        found: u64,
        /// That of the context.
        expected: u64,
    },
    #[error("{} has the SHA-256 {found}; the context says {expected}", path.display())]
    Digest {
        path: PathBuf,
        /// Its digest, hex.
        found: String,
        /// That of the context.
        expected: String,
    },
    #[error("its content is no base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error("its name leads out of the working directory")]
    Name,
    /// Something else has its name in a working directory that is not the container's own.
    #[error("{} is there already, with another content", path.display())]
    Taken {
        /// Where it should be.
        path: PathBuf,
    },
    #[error("{name:?} ends in none of .zip, .tar, .tar.gz, .tgz")]
    NoArchive { name: String },
    #[error("the archive cannot be read: {0}")]
    Archive(String),
    #[error("the archive's entry {entry:?} {reason}")]
    Entry { entry: String, reason: &'static str },
    #[error("it was not brought: the container is to end")]
    Stopped,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchFault {
    #[error("local resource {name:?}: {source}")]
    Resource { name: String, source: ResourceFault },
    #[error("item {item} has no value: {reason}")]
    Item { item: u32, reason: String },
    #[error("the working directory {path:?} {reason}")]
    WorkingDirectory {
        /// As the context has it.
        path: String,
        reason: String,
    },
    #[error("the program {program:?} cannot be started: {reason}")]
    Program {
        /// As the context has it.
        program: String,
        reason: String,
    },
    #[error("{stream} cannot be written to {path:?}: {source}")]
    Output {
        /// `stdout` or `stderr`.
        stream: &'static str,
        /// As the context has it.
        path: String,
        source: io::Error,
    },
    #[error("{0}")]
    Own(#[from] FsError),
    #[error("cannot start: {0}")]
    System(io::Error),
    #[error("it was killed before its command started")]
    Stopped,
}

fn is_written_to_bad_disk(error: &FsError) -> bool {
    matches!(error, FsError::Refused { action, source, .. } if *action != "read" && is_of_disk(source))
}

impl LaunchFault {
    /// That a program, as the context has it, was not started: its file in that working directory.
    pub(crate) fn of_start(program: &str, file: &Path, folder: &Path, error: io::Error) -> Self {
        if is_shortage_at_start(&error) {
            return Self::System(error);
        }
        let fault = script_fault(file, folder, None);
        let reason = fault.map_or_else(|| error.to_string(), |fault| fault.to_string());
        Self::Program { program: program.to_owned(), reason }
    }

    /// The status of a container that did not start for this reason: of the node where its own disk is full or broken.
    pub(crate) fn exit(&self) -> ContainerExit {
        let is_of_node = match self {
            Self::Resource { source: ResourceFault::Copy { action: "write", source, .. }, .. } => is_of_disk(source),
            Self::Resource { source: ResourceFault::File(error), .. } | Self::Own(error) => {
                is_written_to_bad_disk(error)
            }
            _ => false,
        };
        match self {
            _ if is_of_node => ContainerExit::DISKS_FAILED,
            // The machine lacks processes, memory or descriptors, which another one may have.
            Self::System(_) => ContainerExit::ABORTED,
            _ if has_shortage(self) => ContainerExit::ABORTED,
            _ => ContainerExit::INVALID,
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;
    use crate::supervisor::shortage::SupervisorGone;

    #[test]
    fn a_full_disk_or_machine_is_the_nodes_fault_and_an_unreadable_file_the_launchs() {
        let copy = |action, errno: Errno| {
            let source = ResourceFault::Copy { action, path: "/x".into(), source: errno.into() };
            LaunchFault::Resource { name: "x".to_owned(), source }.exit()
        };
        assert_eq!(copy("write", Errno::NOSPC), ContainerExit::DISKS_FAILED);
        assert_eq!(copy("write", Errno::ACCESS), ContainerExit::INVALID);
        assert_eq!(copy("read", Errno::IO), ContainerExit::INVALID);
        let start = |errno: Errno| LaunchFault::of_start("x", Path::new("/x"), Path::new("/"), errno.into()).exit();
        assert_eq!((start(Errno::AGAIN), start(Errno::TOOBIG)), (ContainerExit::ABORTED, ContainerExit::INVALID));
        let gone = LaunchFault::of_start("x", Path::new("/x"), Path::new("/"), io::Error::other(SupervisorGone));
        assert_eq!(gone.exit(), ContainerExit::ABORTED, "a supervisor that gets no thread ends");
    }

    #[test]
    fn a_lack_of_descriptors_is_the_nodes_fault_wherever_a_file_is_opened() {
        let too_many = || io::Error::from(Errno::MFILE);
        let refused = || FsError::Refused { action: "read", path: "/x".into(), expected: "a file", source: too_many() };
        let resource = |source| LaunchFault::Resource { name: "x".to_owned(), source };
        for fault in [
            resource(ResourceFault::Copy { action: "read", path: "/x".into(), source: too_many() }),
            resource(ResourceFault::File(refused())),
            LaunchFault::Own(refused()),
            LaunchFault::Output { stream: "stdout", path: "out".to_owned(), source: too_many() },
        ] {
            assert_eq!(fault.exit(), ContainerExit::ABORTED, "{fault}");
        }
    }
}

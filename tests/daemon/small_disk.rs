//! A daemon one of whose folders is on a disk that can be filled.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::child::{ChildDaemon, DaemonFolders};
use super::skip::skip;

/// Why no disk can be made here, if so.
fn refusal() -> Option<String> {
    let asked = Command::new("unshare").args(namespaces()).args(["mount", "-t", "tmpfs", "tmpfs", "/tmp"]).output();
    match asked {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    }
}

fn namespaces() -> Vec<&'static str> {
    if rustix::process::geteuid().is_root() { vec!["--mount"] } else { vec!["--user", "--map-root-user", "--mount"] }
}

/// Skips the test where no disk can be made.
pub fn skip_without_disks(test: &str) -> bool {
    skip(test, refusal())
}

/// A command that runs what is added to it, with a disk of so many MB in the place of a folder.
pub fn command_on(folder: &Path, megabytes: u32) -> Command {
    command_on_disk(folder, &format!("size={megabytes}m"))
}

/// The same with a disk that has these options of tmpfs.
pub fn command_on_disk(folder: &Path, options: &str) -> Command {
    const SCRIPT: &str = r#"
        folder=$1 options=$2
        shift 2
        cp -a "$folder" "$folder.seed"
        mount -t tmpfs -o $options,mode=755 tmpfs "$folder"
        cp -a "$folder.seed/." "$folder"
        exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(namespaces()).args(["sh", "-ec", SCRIPT, "sh"]).arg(folder).arg(options);
    command
}

/// A daemon one of whose folders is a small disk that no other process sees.
pub struct OnSmallDisk {
    pub serving: ChildDaemon,
    /// The folder, as seen from here.
    pub disk: PathBuf,
}

impl OnSmallDisk {
    pub fn start(place: &DaemonFolders, folder: &str) -> Self {
        Self::start_on(place, folder, 4)
    }

    /// On a disk of so many MB.
    pub fn start_on(place: &DaemonFolders, folder: &str, megabytes: u32) -> Self {
        let mut command = command_on(&place.path(folder), megabytes);
        command.arg(env!("CARGO_BIN_EXE_jobtracker")).args(place.arguments());
        let serving = ChildDaemon::of(command).unwrap_or_else(|(status, log)| panic!("ended with {status}:\n{log}"));
        let root = PathBuf::from(format!("/proc/{}/root", serving.process_id()));
        let disk = root.join(place.path(folder).strip_prefix("/").unwrap());
        Self { serving, disk }
    }

    /// Fills it to the last byte.
    pub fn fill(&self) {
        Self::fill_folder(&self.disk);
    }

    pub fn fill_folder(disk: &Path) {
        let mut filler = File::create(disk.join("filler")).unwrap();
        for piece in [1 << 16, 1 << 10, 1] {
            while filler.write_all(&vec![0; piece]).is_ok() {}
        }
    }

    pub fn make_room(&self) {
        Self::make_room_in(&self.disk);
    }

    pub fn make_room_in(disk: &Path) {
        fs::remove_file(disk.join("filler")).unwrap();
    }

    pub fn budget(&self) -> String {
        fs::read_to_string(self.disk.join("hadoop.budget")).unwrap()
    }
}

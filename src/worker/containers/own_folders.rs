//! The folders of containers on the worker's disks, one for each, which is removed after its end: `containers/CONTAINER`. What a container
//! leaves empty serves the next one under another name: file systems avoid the places of folders that were just removed, and the search for
//! others costs more than a short command.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::accounts::LoginUser;
use crate::fs::{FolderHandle, FsError, ListBound, remove_below};
use crate::model::ContainerId;
use crate::streaming::private_files::FOLDER_MODE;

use super::super::local_folders::LocalFolders;
use super::super::node_health::NodeHealth;

/// On each disk, with a folder for each container.
const FOLDER: &str = "containers";
/// Of it: users reach what is theirs, and see nothing else.
const REACHABLE_MODE: u32 = 0o711;
/// What a container's folder may have and be used again, if it is empty.
const INNER_FOLDERS: [&str; 2] = ["tmp", "work"];
/// Most folders that wait for a container.
const MOST_SPARES: usize = 64;

#[derive(Debug)]
pub(crate) struct OwnFolders {
    shared: Arc<SharedFolders>,
    /// The thread that clears; none before the first one is cleared.
    clearing: Mutex<Option<Sender<ContainerId>>>,
}

/// What the thread that clears knows, too.
#[derive(Debug)]
struct SharedFolders {
    disks: Arc<LocalFolders>,
    spares: Mutex<Spares>,
}

/// Empty folders, by their disks.
#[derive(Debug, Default)]
struct Spares {
    waiting: Vec<(PathBuf, OsString)>,
    last_number: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OwnFolders {
    pub(crate) fn new(disks: Arc<LocalFolders>) -> Self {
        Self { shared: Arc::new(SharedFolders { disks, spares: Mutex::default() }), clearing: Mutex::default() }
    }

    /// Notes how much room the disks have.
    pub(crate) fn look_at_room(&self, health: &NodeHealth) {
        health.set_free_space(self.shared.disks.free_space());
    }

    pub(crate) fn next_disk(&self) -> &Path {
        self.shared.disks.next()
    }

    /// Makes the folder of a container on a disk, for its user.
    pub(crate) fn make(&self, disk: &Path, id: ContainerId, user: Option<&LoginUser>) -> Result<PathBuf, FsError> {
        let all = FolderHandle::open(disk)?.make_folder(OsStr::new(FOLDER), REACHABLE_MODE)?;
        let name = OsString::from(id.to_string());
        if user.is_none()
            && let Some(spare) = self.shared.take_spare(disk)
        {
            // Where that fails, a new one is made.
            let _ = all.rename(&spare, &name);
        }
        let folder = all.make_folder(&name, FOLDER_MODE)?;
        if let Some(user) = user {
            // Last: from then on the user decides what lies in it.
            folder.give(user.uid, Some(user.gid))?;
        }
        Ok(folder.path().to_owned())
    }

    /// Clears the folder of an ended container on a thread: nothing waits for a disk.
    pub(crate) fn clear_later(&self, id: ContainerId) {
        let mut clearing = lock(&self.clearing);
        if clearing.as_ref().is_none_or(|thread| thread.send(id).is_err()) {
            let (sender, receiver) = channel();
            let folders = self.shared.clone();
            let clear = move || folders.clear_all(&receiver);
            // Without a thread the next start removes the folders.
            if std::thread::Builder::new().name("removal".to_owned()).spawn(clear).is_ok() {
                let _ = sender.send(id);
                *clearing = Some(sender);
            }
        }
    }

    #[cfg(test)]
    fn clear(&self, id: ContainerId) {
        self.shared.clear(id);
    }
}

impl SharedFolders {
    fn take_spare(&self, disk: &Path) -> Option<OsString> {
        let mut spares = lock(&self.spares);
        let place = spares.waiting.iter().rposition(|(of, _)| of == disk)?;
        Some(spares.waiting.swap_remove(place).1)
    }

    fn clear_all(&self, ended: &Receiver<ContainerId>) {
        ended.iter().for_each(|id| self.clear(id));
    }

    /// Removes what an ended container has left on the disks, or keeps an empty folder for another one.
    fn clear(&self, id: ContainerId) {
        let name = OsString::from(id.to_string());
        for disk in self.disks.all() {
            // Whatever its user has put there. The next start removes the rest.
            if !self.keep_spare(disk, &name).unwrap_or(false) {
                let _ = remove_below(disk, &Path::new(FOLDER).join(&name));
            }
        }
    }

    /// Whether a folder is empty, and was kept.
    fn keep_spare(&self, disk: &Path, name: &OsStr) -> Result<bool, FsError> {
        let all = FolderHandle::open(disk)?.folder(Path::new(FOLDER))?;
        let folder = all.folder(Path::new(name))?;
        if folder.owner()? != rustix::process::geteuid().as_raw() {
            return Ok(false);
        }
        for inner in folder.names(ListBound::OWN)? {
            let is_inner = INNER_FOLDERS.iter().any(|known| inner == **known);
            if !is_inner || !folder.folder(Path::new(&inner))?.names(ListBound::OWN)?.is_empty() {
                return Ok(false);
            }
        }
        let mut spares = lock(&self.spares);
        if spares.waiting.len() >= MOST_SPARES {
            return Ok(false);
        }
        spares.last_number += 1;
        let spare = OsString::from(format!("spare-{}", spares.last_number));
        all.rename(name, &spare)?;
        spares.waiting.push((disk.to_owned(), spare));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    use super::*;
    use crate::model::ApplicationId;

    fn id(number: u64) -> ContainerId {
        ApplicationId::new(5, 1).container(1, number)
    }

    fn folders(scratch: &Path) -> OwnFolders {
        let disks = [scratch.join("disk")];
        OwnFolders::new(Arc::new(
            LocalFolders::acquire(&disks, 1, "tracker_h:1", "alice", false, Duration::ZERO).unwrap(),
        ))
    }

    #[test]
    fn an_empty_folder_serves_another_container_and_one_with_content_does_not() {
        let scratch = tempfile::tempdir().unwrap();
        let folders = folders(scratch.path());
        let first = folders.make(folders.next_disk(), id(1), None).unwrap();
        fs::create_dir(first.join("tmp")).unwrap();
        let inode = fs::metadata(&first).unwrap().ino();
        folders.clear(id(1));
        assert!(!first.exists());
        let second = folders.make(folders.next_disk(), id(2), None).unwrap();
        assert_eq!(fs::metadata(&second).unwrap().ino(), inode);
        assert_eq!(fs::metadata(&second).unwrap().mode() & 0o777, FOLDER_MODE);
        for (number, left) in [(2, "tmp/left"), (3, "secret")] {
            let folder = folders.make(folders.next_disk(), id(number), None).unwrap();
            fs::create_dir_all(folder.join("tmp")).unwrap();
            fs::write(folder.join(left), "left").unwrap();
            folders.clear(id(number));
            assert!(!folder.exists());
            let next = folders.make(folders.next_disk(), id(number + 1), None).unwrap();
            assert_eq!(fs::read_dir(&next).unwrap().count(), 0, "{left}");
        }
    }

    #[test]
    fn few_wait() {
        let scratch = tempfile::tempdir().unwrap();
        let folders = folders(scratch.path());
        let all: Vec<PathBuf> =
            (0..80).map(|number| folders.make(folders.next_disk(), id(number), None).unwrap()).collect();
        (0..80).for_each(|number| folders.clear(id(number)));
        assert!(all.iter().all(|folder| !folder.exists()));
        assert_eq!(fs::read_dir(all[0].parent().unwrap()).unwrap().count(), MOST_SPARES);
    }
}

//! Watches the folder of the ACL file, so that an edit is in force, and a bad one logged, before the next signed request.
//!
//! An optimization only: some file systems send no events, and each signed request has the file checked anyway.

use std::path::{Path, PathBuf};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::server::AclFile;

#[derive(Debug)]
pub(super) struct AclWatch {
    _watcher: RecommendedWatcher,
}

impl AclWatch {
    /// Triggers a check of the file at each event; without events it is checked each second.
    pub(super) fn of(acl: &AclFile) -> Option<Self> {
        match Self::start(acl.path(), acl.check_soon()) {
            Ok(watch) => Some(watch),
            Err(error) => {
                tracing::warn!("{}: edits take effect within a second, not at once: {error}", acl.path().display());
                None
            }
        }
    }

    /// Calls `look` after each event that may have changed the file.
    fn start(path: &Path, look: impl Fn() + Send + 'static) -> notify::Result<Self> {
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error may have swallowed events.
            if event.as_ref().map_or(true, is_change) {
                look();
            }
        })?;
        // The folder, since most editors replace the file; for a symbolic link also that of its target.
        let linked = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut folders = vec![folder(path), folder(&linked)];
        folders.dedup();
        for folder in folders {
            watcher.watch(&folder, RecursiveMode::NonRecursive)?;
        }
        Ok(Self { _watcher: watcher })
    }
}

fn folder(path: &Path) -> PathBuf {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new(".")).to_owned()
}

/// Whether the content may be complete now. Single writes do not count: half a list is no list.
fn is_change(event: &Event) -> bool {
    let is_complete = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) | EventKind::Remove(_) => true,
        EventKind::Modify(kind) => matches!(kind, ModifyKind::Name(_) | ModifyKind::Metadata(_)),
        _ => false,
    };
    is_complete || event.need_rescan()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// Far longer than an event takes; only a failing test waits so long.
    const TIMEOUT: Duration = Duration::from_secs(60);

    /// Reads the file at each event and hands the content out.
    fn watch(path: &Path) -> (AclWatch, impl Fn(&str)) {
        let (sender, looks) = mpsc::channel();
        let read = path.to_owned();
        let watch = AclWatch::start(path, move || drop(sender.send(std::fs::read_to_string(&read)))).unwrap();
        let wait_for = move |content: &str| {
            while !looks.recv_timeout(TIMEOUT).unwrap().is_ok_and(|read| read == content) {}
        };
        (watch, wait_for)
    }

    #[test]
    fn edits_in_place_and_by_replacement_are_noticed() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, new) = (scratch.path().join("hadoop.acl"), scratch.path().join("new"));
        std::fs::write(&path, "one").unwrap();
        let (_watch, wait_for) = watch(&path);
        std::fs::write(&path, "two").unwrap();
        wait_for("two");
        std::fs::write(&new, "three").unwrap();
        std::fs::rename(&new, &path).unwrap();
        wait_for("three");
    }

    #[test]
    fn an_edit_behind_a_link_is_noticed() {
        let (scratch, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (link, target) = (scratch.path().join("hadoop.acl"), other.path().join("list"));
        std::fs::write(&target, "one").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let (_watch, wait_for) = watch(&link);
        std::fs::write(&target, "two").unwrap();
        wait_for("two");
    }

    #[test]
    fn readers_and_half_written_files_are_passed_over() {
        use notify::event::{CreateKind, DataChange, RenameMode};
        let is_change = |kind| is_change(&Event::new(kind));
        assert!(!is_change(EventKind::Access(AccessKind::Open(AccessMode::Any))));
        assert!(!is_change(EventKind::Create(CreateKind::File)));
        assert!(!is_change(EventKind::Modify(ModifyKind::Data(DataChange::Any))));
        assert!(is_change(EventKind::Modify(ModifyKind::Name(RenameMode::To))));
        assert!(is_change(EventKind::Access(AccessKind::Close(AccessMode::Write))));
    }
}

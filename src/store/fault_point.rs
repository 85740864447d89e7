//! Named places where a test has the process die: before, between and after all that is written to a disk.
//!
//! A debug build dies as a crash does, by SIGKILL, at the place that `JOBTRACKER_CRASH_AT` names: `point`, `point:n` for
//! the n-th time that it is passed, `point:n:bytes` for a write that is cut after so many bytes. With
//! `RUST_LOG=jobtracker::store::fault_point=trace` it says which places it passes. In a release build nothing of this is
//! left, and the variable does nothing.

use std::fs::File;
use std::io::{self, Write};

/// Makes the places and the list of all of them.
macro_rules! fault_points {
    ($($(#[$meaning:meta])* $point:ident = $name:literal,)*) => {
        /// A place where a test has the process die.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FaultPoint {
            $($(#[$meaning])* $point,)*
        }

        impl FaultPoint {
            /// All there are.
            pub const ALL: &[FaultPoint] = &[$(FaultPoint::$point,)*];

            /// What it is called in `JOBTRACKER_CRASH_AT`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(FaultPoint::$point => $name,)*
                }
            }
        }
    };
}

fault_points! {
    /// The state folder is there, not yet locked.
    FolderMade = "folder.made",
    /// The state folder is locked; nothing says by whom.
    FolderLocked = "folder.locked",
    /// The lock names its holder.
    FolderNamed = "folder.named",
    /// `state.db` is there, its name not yet on the disk.
    DatabaseMade = "database.made",
    /// The name of `state.db` is on the disk.
    DatabaseNamed = "database.named",
    /// `state.db` is opened, and its log made.
    DatabaseOpened = "database.opened",
    /// The transaction that creates the schema has begun.
    SchemaBegun = "schema.begun",
    /// The schema is created, not committed.
    SchemaCommit = "schema.commit",
    /// The schema is committed.
    SchemaCommitted = "schema.committed",
    /// The state is read.
    StateLoaded = "start.loaded",
    /// The system directory is there.
    SystemDirMade = "start.system-dir",
    /// The engine goes on from what was read; nothing is served yet.
    EngineMade = "start.engine",

    /// Facts or notes wait to be written.
    CommitDue = "commit.due",
    /// Their transaction has begun.
    CommitBegun = "commit.begun",
    /// A fact is written, not committed.
    CommitFact = "commit.fact",
    /// A note is written, not committed.
    CommitNote = "commit.note",
    /// All of the transaction is written, not committed.
    CommitWritten = "commit.written",
    /// It is committed and synced; nobody knows yet.
    CommitDone = "commit.done",
    /// Who waits for it has been told; perhaps no reply is out yet.
    CommitPublished = "commit.published",
    /// The log is to be moved into the database.
    CheckpointDue = "checkpoint.due",
    /// The log is moved.
    CheckpointDone = "checkpoint.done",

    /// Old rows of the ledger are taken out, in a transaction.
    FoldDeleted = "fold.deleted",
    /// A daily sum stands in their place.
    FoldSummed = "fold.summed",
    /// All of them do, not committed.
    FoldWritten = "fold.written",
    /// The folding is committed.
    FoldDone = "fold.done",
    /// A tick that is too old is taken out, in a transaction.
    ThinDeleted = "thin.deleted",
    /// All of them are, not committed.
    ThinWritten = "thin.written",
    /// The thinning is committed.
    ThinDone = "thin.done",
    /// A finished job is deleted, in a transaction; its attempts are not.
    RetentionDeleted = "retention.deleted",
    /// What a step deletes is deleted, not committed.
    RetentionWritten = "retention.written",
    /// That is committed.
    RetentionDone = "retention.done",

    /// The budget file's content of the first start is noted; the money has not come in.
    ImageFirstNoted = "image.first-noted",
    /// An edited content is noted as taken over; the money has not come in.
    ImageTakenNoted = "image.taken-noted",
    /// It is noted that this is done with.
    ImageTakenCleared = "image.taken-cleared",
    /// A content is to be shown.
    ImageDue = "image.due",
    /// What was pending since a crash is noted as confirmed.
    ImageOldConfirmed = "image.old-confirmed",
    /// The hash of the new content is noted as pending.
    ImagePending = "image.pending",
    /// A new file, or copy, is made, empty.
    ImageNewMade = "image.new-made",
    /// It is being written.
    ImageNewTorn = "image.new-torn",
    /// It is written, not synced.
    ImageNewWritten = "image.new-written",
    /// It is on the disk, its mode perhaps not.
    ImageNewSynced = "image.new-synced",
    /// The old file has a second, passing name.
    ImagePreviousLinked = "image.previous-linked",
    /// The old file has its second name.
    ImagePreviousKept = "image.previous-kept",
    /// The new file has the name of the old one, not yet on the disk.
    ImageRenamed = "image.renamed",
    /// Its name is on the disk.
    ImageReplaced = "image.replaced",
    /// The hash of what is there is noted as confirmed.
    ImageConfirmed = "image.confirmed",
    /// A file for what is kept aside is there, empty.
    ImageAsideMade = "image.aside-made",
    /// It is being written.
    ImageAsideTorn = "image.aside-torn",
    /// It is on the disk.
    ImageAsideKept = "image.aside-kept",
    /// A copy in the refuge has its name, not yet on the disk.
    ImageRefugeRenamed = "image.refuge-renamed",
    /// The refuge has a copy.
    ImageRefugeKept = "image.refuge-kept",
    /// The refuge has both; the file itself is as it was.
    ImageInPlaceDue = "image.in-place-due",
    /// The file itself is being written.
    ImageInPlaceTorn = "image.in-place-torn",
    /// It is written; of a longer old content the end is still there.
    ImageInPlaceWritten = "image.in-place-written",
    /// It has its length, and is not synced.
    ImageInPlaceCut = "image.in-place-cut",
    /// It is on the disk.
    ImageInPlaceDone = "image.in-place-done",

    /// No one calls any more; the budget file is to be shown a last time.
    StopBegun = "stop.begun",
    /// It is noted that the file shows all there is.
    StopShown = "stop.shown",
    /// The store has been told to close.
    StopClosing = "stop.closing",
    /// All is written.
    StopWritten = "stop.written",
    /// The log is moved into the database and gone.
    StopCheckpointed = "stop.checkpointed",
    /// The database is closed; the folder is still locked.
    StopClosed = "stop.closed",

    /// A place for a backup is made.
    BackupMade = "backup.made",
    /// All pages are copied.
    BackupCopied = "backup.copied",
    /// It has forgotten the clean stop.
    BackupCompleted = "backup.completed",
    /// It is checked and closed.
    BackupChecked = "backup.checked",
    /// It is on the disk, under a passing name.
    BackupSynced = "backup.synced",
    /// It has its name, not yet on the disk.
    BackupRenamed = "backup.renamed",
    /// Its name is on the disk.
    BackupDone = "backup.done",

    /// A job is to have a system directory.
    JobFilesDue = "job-files.due",
    /// The directory is there, empty.
    JobFilesDirMade = "job-files.dir-made",
    /// `job-info` is written.
    JobFilesInfoWritten = "job-files.info-written",
    /// `jobToken` is written too.
    JobFilesWritten = "job-files.written",
    /// The system directory of a job is removed.
    JobFilesRemoved = "job-files.removed",
    /// The staging directory of a job is removed.
    StagingRemoved = "job-files.staging-removed",
    /// What a start has found missing in a system directory is written again.
    LeftoversWritten = "job-files.written-again",
    /// A start has found what nobody needs any more, and will remove it.
    LeftoversFound = "job-files.leftovers-found",
}

impl FaultPoint {
    /// The process passes here, or dies.
    #[inline]
    pub fn pass(self) {
        #[cfg(debug_assertions)]
        cut::pass(self);
    }

    /// Writes all of it; who dies here has written a part.
    ///
    /// # Errors
    /// As of [`Write::write_all`].
    #[inline]
    pub fn write_all(self, file: &mut File, content: &[u8]) -> io::Result<()> {
        #[cfg(debug_assertions)]
        cut::tear(self, file, content);
        file.write_all(content)
    }
}

#[cfg(debug_assertions)]
mod cut {
    use std::fs::File;
    use std::io::Write;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::FaultPoint;

    /// Where and when this process dies.
    struct Cut {
        point: FaultPoint,
        /// How often it is yet to be passed, this time included.
        left: AtomicU64,
        bytes: Option<usize>,
    }

    static CUT: LazyLock<Option<Cut>> = LazyLock::new(|| {
        let wanted = std::env::var("JOBTRACKER_CRASH_AT").ok()?;
        let cut = parse(&wanted);
        if cut.is_none() {
            tracing::error!("JOBTRACKER_CRASH_AT={wanted} names no fault point");
            die();
        }
        cut
    });

    fn parse(wanted: &str) -> Option<Cut> {
        let mut fields = wanted.split(':');
        let name = fields.next()?;
        let point = FaultPoint::ALL.iter().copied().find(|point| point.name() == name)?;
        let left = fields.next().map_or(Some(1), |text| text.parse().ok())?;
        let bytes = fields.next().map(|text| text.parse().ok());
        let bytes = if let Some(bytes) = bytes { Some(bytes?) } else { None };
        Some(Cut { point, left: AtomicU64::new(left), bytes })
    }

    /// Whether this is the place and the time.
    fn is_cut(point: FaultPoint) -> Option<&'static Cut> {
        tracing::trace!("passes {}", point.name());
        CUT.as_ref().filter(|cut| cut.point == point && cut.left.fetch_sub(1, Ordering::Relaxed) == 1)
    }

    pub(super) fn pass(point: FaultPoint) {
        if is_cut(point).is_some() {
            die();
        }
    }

    pub(super) fn tear(point: FaultPoint, file: &mut File, content: &[u8]) {
        if let Some(cut) = is_cut(point) {
            let bytes = cut.bytes.unwrap_or(content.len() / 2).min(content.len());
            // It dies in any case.
            let _ = file.write_all(&content[..bytes]);
            die();
        }
    }

    /// As a crash does it: no destructor runs, nothing is flushed.
    fn die() -> ! {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        loop {
            std::thread::park();
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_cut_names_a_point_a_time_and_a_length() {
            let cut = |wanted| {
                let cut: Cut = parse(wanted)?;
                Some((cut.point, cut.left.into_inner(), cut.bytes))
            };
            assert_eq!(cut("commit.done"), Some((FaultPoint::CommitDone, 1, None)));
            assert_eq!(cut("commit.fact:7"), Some((FaultPoint::CommitFact, 7, None)));
            assert_eq!(cut("image.new-torn:2:11"), Some((FaultPoint::ImageNewTorn, 2, Some(11))));
            for wrong in ["", "commit", "commit.done:", "commit.done:x", "commit.done:1:"] {
                assert_eq!(cut(wrong), None, "{wrong:?}");
            }
        }

        #[test]
        fn names_are_different() {
            let mut names: Vec<_> = FaultPoint::ALL.iter().map(|point| point.name()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), FaultPoint::ALL.len());
        }
    }
}

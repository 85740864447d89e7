//! Named points at which a test kills the process: before, between and after all writes to a disk.
//!
//! A debug build kills itself by SIGKILL at the point that `JOBTRACKER_CRASH_AT` names: `point`, `point:n` for the n-th time that it is
//! passed, `point:n:bytes` for a write that is cut after so many bytes. Its thread waits for ever, as for a disk that does not answer, at
//! the point that `JOBTRACKER_HANG_AT` names. With `RUST_LOG=jobtracker::store::fault_point=trace` it logs the points that it passes. A
//! release build contains none of this and ignores the variables.

use std::fs::File;
use std::io::{self, Write};

/// Declares the points and the list of all of them.
macro_rules! fault_points {
    ($($(#[$meaning:meta])* $point:ident = $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FaultPoint {
            $($(#[$meaning])* $point,)*
        }

        impl FaultPoint {
            pub const ALL: &[FaultPoint] = &[$(FaultPoint::$point,)*];

            /// Its name in `JOBTRACKER_CRASH_AT`.
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
    /// The state folder exists, not yet locked.
    FolderMade = "folder.made",
    /// The state folder is locked; the lock file names no process yet.
    FolderLocked = "folder.locked",
    FolderNamed = "folder.named",
    /// `state.db` exists, its name not yet synced.
    DatabaseMade = "database.made",
    DatabaseNamed = "database.named",
    /// `state.db` is open, and its log created.
    DatabaseOpened = "database.opened",
    SchemaBegun = "schema.begun",
    SchemaCommit = "schema.commit",
    SchemaCommitted = "schema.committed",
    /// The schema is of an older version; no copy is made.
    MigrationDue = "migration.due",
    MigrationCopyKept = "migration.copy-kept",
    MigrationBegun = "migration.begun",
    /// A step to the next version is run, not committed.
    MigrationStepRun = "migration.step-run",
    /// All steps are, not committed.
    MigrationWritten = "migration.written",
    MigrationCommitted = "migration.committed",
    StateLoaded = "start.loaded",
    SystemDirMade = "start.system-dir",
    /// The engine is restored from the loaded state; nothing is served yet.
    EngineMade = "start.engine",

    /// Facts or values of `meta` wait to be written.
    CommitDue = "commit.due",
    CommitBegun = "commit.begun",
    CommitFact = "commit.fact",
    CommitMeta = "commit.meta",
    CommitWritten = "commit.written",
    /// It is committed and synced, not yet published.
    CommitDone = "commit.done",
    /// The new durable number is published; replies may not have been sent.
    CommitPublished = "commit.published",
    /// The files of a scheduler are read, and nothing is decided.
    SwitchRead = "switch.read",
    /// The engine has switched, and its facts are sent to the store.
    SwitchDecided = "switch.decided",
    /// The choice of a scheduler is written in a transaction; moved jobs are not.
    SwitchChoiceWritten = "switch.choice-written",
    /// Moved jobs are written too, not committed.
    SwitchJobsWritten = "switch.jobs-written",
    /// The switch is durable; the operator is not answered.
    SwitchDurable = "switch.durable",
    ApplicationSubmitted = "application.submitted",
    /// How an application stands is written: registered, or a master of it has ended.
    ApplicationStands = "application.stands",
    ApplicationCallTakenIn = "application.call-taken-in",
    /// The end of an application is written; its containers may live.
    ApplicationOver = "application.over",
    ApplicationRequestWritten = "application.request-written",
    /// It is written which items are taken, or what became of one.
    ApplicationItemsWritten = "application.items-written",
    /// An answer is written, with the containers and the statuses that it names.
    ApplicationAnswered = "application.answered",
    /// It is written that a registration has listed containers, and which statuses come again.
    ApplicationListed = "application.listed",
    ContainerGranted = "container.granted",
    ContainerLaunched = "container.launched",
    ContainerRunning = "container.running",
    ContainerKilled = "container.killed",
    ContainerComplete = "container.complete",
    /// The engine has answered a request about applications, and its facts are sent to the store.
    ApplicationRequestDecided = "application.request-decided",
    /// The facts of the answer are durable; it is not sent.
    ApplicationRequestDurable = "application.request-durable",
    /// The engine has taken a beat of a worker, and its facts are sent to the store.
    ContainerBeatDecided = "container-beat.decided",
    /// A held beat is about to be answered with news, whose facts are sent to the store.
    ContainerBeatReleased = "container-beat.released",
    CheckpointDue = "checkpoint.due",
    CheckpointDone = "checkpoint.done",

    /// Old rows of the ledger are deleted, in a transaction.
    CompactDeleted = "compact.deleted",
    /// A daily sum is inserted.
    CompactSummed = "compact.summed",
    /// All of them are, not committed.
    CompactWritten = "compact.written",
    CompactDone = "compact.done",
    /// An old tick is deleted, in a transaction.
    PruneDeleted = "prune.deleted",
    /// All of them are, not committed.
    PruneWritten = "prune.written",
    PruneDone = "prune.done",
    /// A finished job is deleted, in a transaction; its attempts are not.
    RetentionDeleted = "retention.deleted",
    RetentionWritten = "retention.written",
    RetentionDone = "retention.done",

    /// The hash of the first start's budget file is recorded; no money is credited.
    BudgetFileFirstNoted = "budget-file.first-noted",
    /// The hash of an edited file is recorded as pending; no difference is applied.
    BudgetFileTakenNoted = "budget-file.taken-noted",
    /// A write of the file begins.
    BudgetFileDue = "budget-file.due",
    /// The hash that was pending since a crash is recorded as confirmed.
    BudgetFileOldConfirmed = "budget-file.old-confirmed",
    /// The hash of the new content is recorded as pending.
    BudgetFilePending = "budget-file.pending",
    /// A new file, or copy, exists, empty.
    BudgetFileNewMade = "budget-file.new-made",
    /// It is being written.
    BudgetFileNewTorn = "budget-file.new-torn",
    /// It is written, not synced.
    BudgetFileNewWritten = "budget-file.new-written",
    /// It is synced, its mode perhaps not.
    BudgetFileNewSynced = "budget-file.new-synced",
    /// The old file has a second, temporary name.
    BudgetFilePreviousLinked = "budget-file.previous-linked",
    /// The old file has its second name.
    BudgetFilePreviousKept = "budget-file.previous-kept",
    /// The new file has the name of the old one, not yet synced.
    BudgetFileRenamed = "budget-file.renamed",
    BudgetFileReplaced = "budget-file.replaced",
    /// The hash of the new content is recorded as confirmed.
    BudgetFileConfirmed = "budget-file.confirmed",
    /// A file for a rejected content exists, empty.
    BudgetFileAsideMade = "budget-file.aside-made",
    /// It is being written.
    BudgetFileAsideTorn = "budget-file.aside-torn",
    /// It is synced.
    BudgetFileAsideKept = "budget-file.aside-kept",
    /// A copy in the fallback directory has its name, not yet synced.
    BudgetFileRefugeRenamed = "budget-file.fallback_dir-renamed",
    /// A copy in the fallback directory is synced.
    BudgetFileRefugeKept = "budget-file.fallback_dir-kept",
    /// Both copies are synced; the file itself is unchanged.
    BudgetFileInPlaceDue = "budget-file.in-place-due",
    /// The file itself is being written.
    BudgetFileInPlaceTorn = "budget-file.in-place-torn",
    /// It is written; the end of a longer old content remains.
    BudgetFileInPlaceWritten = "budget-file.in-place-written",
    /// It has its length, not synced.
    BudgetFileInPlaceCut = "budget-file.in-place-cut",
    /// It is synced.
    BudgetFileInPlaceDone = "budget-file.in-place-done",

    /// The tables of a database of budgets belong to the state; no money is credited.
    TablesClaimed = "tables.claimed",
    /// A batch of movements is written with its mark, not committed.
    TablesMovementsWritten = "tables.movements-written",
    /// It is committed; the accounts are not written.
    TablesMovementsDone = "tables.movements-done",
    /// The accounts are written with the mark of their tick, not committed.
    TablesAccountsWritten = "tables.accounts-written",
    TablesAccountsDone = "tables.accounts-done",
    /// Top-ups are read from a database; the ledger has not taken them over.
    TopUpsFound = "top-ups.found",
    /// The ledger has them durably; their rows are not answered.
    TopUpsTaken = "top-ups.taken",
    TopUpsAnswered = "top-ups.answered",

    /// No call is served any more; the budget file is written a last time.
    StopBegun = "stop.begun",
    /// It is recorded that the file shows the last fact.
    StopShown = "stop.shown",
    StopClosing = "stop.closing",
    StopWritten = "stop.written",
    StopCheckpointed = "stop.checkpointed",
    /// The database is closed; the folder is still locked.
    StopClosed = "stop.closed",

    BackupMade = "backup.made",
    BackupCopied = "backup.copied",
    /// Its record of the clean stop is removed.
    BackupCompleted = "backup.completed",
    BackupChecked = "backup.checked",
    /// It is synced, under a temporary name.
    BackupSynced = "backup.synced",
    /// It has its name, not yet synced.
    BackupRenamed = "backup.renamed",
    BackupDone = "backup.done",

    /// A copy to be restored is checked; nothing is changed.
    RestoreDue = "restore.due",
    /// It is beside the database, under a name of its own.
    RestoreCopied = "restore.copied",
    /// The database has a second name.
    RestoreKept = "restore.kept",
    /// The copy has its name, not yet synced.
    RestoreRenamed = "restore.renamed",
    RestoreDone = "restore.done",

    JobFilesDue = "job-files.due",
    JobFilesDirMade = "job-files.dir-made",
    JobFilesInfoWritten = "job-files.info-written",
    JobFilesWritten = "job-files.written",
    JobFilesRemoved = "job-files.removed",
    StagingRemoved = "job-files.staging-removed",
    /// The history of a job that is over is read from the database; nothing of it is written.
    HistoryDue = "history.due",
    /// The folder for it exists.
    HistoryFolderMade = "history.folder-made",
    /// A part of its file is written, under a temporary name.
    HistoryTorn = "history.torn",
    /// Its file has its name; that with the job's configuration is not written.
    HistoryFileWritten = "history.file-written",
    /// Both have their names; the user has no copy.
    HistoryConfWritten = "history.conf-written",
    /// The user has the copy of the history, not of the configuration.
    HistoryCopied = "history.copied",
    /// All is written, and nothing recorded.
    HistoryWritten = "history.written",
    /// The engine knows that it is; the fact is sent to the store.
    HistoryRecorded = "history.recorded",
    /// A start has rewritten files that a system directory lacked.
    LeftoversWritten = "job-files.written-again",
    /// A start has found files that no job needs, and will remove them.
    LeftoversFound = "job-files.leftovers-found",
}

impl FaultPoint {
    #[inline]
    pub(crate) fn pass(self) {
        #[cfg(debug_assertions)]
        cut::pass(self);
    }

    /// Writes `content`; if this point is selected, writes a part and kills the process.
    #[inline]
    pub(crate) fn write_all(self, file: &mut File, content: &[u8]) -> io::Result<()> {
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

    struct Cut {
        point: FaultPoint,
        /// Passes left, the fatal one included.
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

    static HANG: LazyLock<Option<FaultPoint>> =
        LazyLock::new(|| point_named(&std::env::var("JOBTRACKER_HANG_AT").ok()?));

    fn point_named(name: &str) -> Option<FaultPoint> {
        FaultPoint::ALL.iter().copied().find(|point| point.name() == name)
    }

    fn parse(wanted: &str) -> Option<Cut> {
        let mut fields = wanted.split(':');
        let point = point_named(fields.next()?)?;
        let left = fields.next().map_or(Some(1), |text| text.parse().ok())?;
        let bytes = fields.next().map(|text| text.parse().ok());
        let bytes = if let Some(bytes) = bytes { Some(bytes?) } else { None };
        Some(Cut { point, left: AtomicU64::new(left), bytes })
    }

    /// The cut, if this pass is fatal.
    fn is_cut(point: FaultPoint) -> Option<&'static Cut> {
        tracing::trace!("passes {}", point.name());
        CUT.as_ref().filter(|cut| cut.point == point && cut.left.fetch_sub(1, Ordering::Relaxed) == 1)
    }

    pub(super) fn pass(point: FaultPoint) {
        if is_cut(point).is_some() {
            die();
        }
        while *HANG == Some(point) {
            std::thread::park();
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

    /// As in a crash: no destructor runs, nothing is flushed.
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
            assert_eq!(cut("budget-file.new-torn:2:11"), Some((FaultPoint::BudgetFileNewTorn, 2, Some(11))));
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

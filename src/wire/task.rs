//! A task in a launch.

use crate::model::{AttemptId, Kind, names};

use super::class::encoded_by_name;
use super::error::WireErrorKind;
use super::fields::fields;
use super::{Decode, Encode, Reader, RecordRange, TaskStatus, Text, WireError, Writer};

/// The outcome that a job-cleanup task passes to the committer (commit or abort).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleanupOutcome {
    /// Commit.
    Succeeded,
    /// Abort after a failure.
    Failed,
    /// Abort after a kill.
    Killed,
}

/// Ranges of records to skip (1.2.1 `SortedRanges`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkipRanges {
    pub(crate) records: i64,
    /// The ranges, ascending.
    pub(crate) ranges: Vec<RecordRange>,
}

/// The location of a map's split (1.2.1 `JobSplit.TaskSplitIndex`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitIndex {
    /// The submitted `job.split`.
    pub(crate) file: Text,
    /// Offset of the split's class name in it, bytes.
    pub(crate) offset_bytes: i64,
}

/// The part that depends on the kind of task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskBody {
    /// A task on a map slot; it has a split exactly for ordinary maps (no setup or cleanup).
    Map {
        /// The split.
        split: Option<SplitIndex>,
    },
    /// A task on a reduce slot.
    Reduce {
        /// Maps of the job.
        maps: i32,
    },
}

/// A task to launch (1.2.1 `MapTask`, `ReduceTask`).
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The submitted job.xml, `<staging>/<job>/job.xml`.
    pub job_file: Text,
    /// Index of the task within its job and kind.
    pub partition: i32,
    /// Slots it takes.
    pub num_slots: i32,
    /// Its first status: the attempt id, and the state that makes the tracker start it.
    pub status: TaskStatus,
    /// Records to skip.
    pub skip_ranges: SkipRanges,
    /// Whether it runs in skipping mode.
    pub skipping: bool,
    /// `Some` exactly for job-cleanup tasks.
    pub job_cleanup: Option<CleanupOutcome>,
    /// Whether it is a job-setup task.
    pub job_setup: bool,
    /// Whether skipped records are written to files.
    pub write_skipped_records: bool,
    /// Whether it is a task-cleanup attempt.
    pub task_cleanup: bool,
    /// Owner of the job.
    pub user: Text,
    /// The part that depends on the kind.
    pub body: TaskBody,
}

names!(CleanupOutcome {
    Succeeded = "SUCCEEDED",
    Failed = "FAILED",
    Killed = "KILLED",
});
encoded_by_name!(CleanupOutcome, "outcome of the job");

fields! {
    SkipRanges, 12;
    records: i64 "number of records to skip",
    ranges: &list "number of ranges to skip",
}

fields! {
    SplitIndex, 2;
    file: &text "split file",
    offset_bytes: vlong "offset of the split",
}

impl TaskBody {
    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Map { .. } => Kind::Map,
            Self::Reduce { .. } => Kind::Reduce,
        }
    }
}

impl Task {
    /// Whether it is a map or reduce of the job, not a setup or cleanup: of maps, only these have a split.
    pub(crate) const fn is_ordinary(&self) -> bool {
        self.job_cleanup.is_none() && !self.job_setup && !self.task_cleanup
    }
}

impl Decode for Task {
    const MIN_BYTES: usize = TaskStatus::MIN_BYTES + 40;

    /// Reads `isMap` and the task, as in `LAUNCH_TASK` and `getTask`.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let kind = reader.kind("kind of the task")?;
        let job_file = reader.text("job file")?;
        let id = reader.clone();
        let attempt = AttemptId::decode(reader)?;
        let partition = reader.i32("partition")?;
        let num_slots = reader.i32("slots of the task")?;
        let foreign = || id.error(WireErrorKind::ForeignId, "attempt id");
        let status = TaskStatus::decode_known(kind, reader)?.filter(|status| status.attempt == attempt);
        let mut task = Self {
            job_file,
            partition,
            num_slots,
            status: status.ok_or_else(foreign)?,
            skip_ranges: SkipRanges::decode(reader)?,
            skipping: reader.bool("skipping")?,
            job_cleanup: reader.option("job cleanup")?,
            job_setup: reader.bool("job setup")?,
            write_skipped_records: reader.bool("write skipped records")?,
            task_cleanup: reader.bool("task cleanup")?,
            user: reader.text("owner of the task")?,
            body: TaskBody::Map { split: None },
        };
        match kind {
            Kind::Map if task.is_ordinary() => task.body = TaskBody::Map { split: Some(SplitIndex::decode(reader)?) },
            Kind::Map => {}
            Kind::Reduce => task.body = TaskBody::Reduce { maps: reader.i32("number of maps")? },
        }
        Ok(task)
    }
}

impl Encode for Task {
    /// Writes the fields of the body's kind in any case, so that no value misaligns a reader.
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.kind(self.body.kind());
        writer.text(&self.job_file);
        self.status.attempt.encode(writer);
        writer.i32(self.partition);
        writer.i32(self.num_slots);
        self.status.encode_as(self.body.kind(), writer);
        self.skip_ranges.encode(writer);
        writer.bool(self.skipping);
        writer.option(&self.job_cleanup);
        writer.bool(self.job_setup);
        writer.bool(self.write_skipped_records);
        writer.bool(self.task_cleanup);
        writer.text(&self.user);
        match &self.body {
            TaskBody::Map { split } if self.is_ordinary() => match split {
                Some(split) => split.encode(writer),
                None => SplitIndex { file: Text::default(), offset_bytes: 0 }.encode(writer),
            },
            TaskBody::Map { .. } => {}
            TaskBody::Reduce { maps } => writer.i32(*maps),
        }
    }
}

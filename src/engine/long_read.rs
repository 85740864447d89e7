//! Answers that grow with a job or with the cluster, made slice by slice: between two slices the owner does other
//! things.
//!
//! Each slice shows one moment. What is shown comes once, also where it changes meanwhile: a job's tasks are sorted into
//! done ones and others at the beginning, and each then says how it stands when it is its turn.

use std::sync::Arc;

use crate::mapreduce::{Job, TaskKey};
use crate::model::{FactNumber, JobId, Kind};
use crate::wire::protocol::{Value, encode_array_start, encode_element, encode_value};
use crate::wire::{ClusterStatus, JobStatus, TaskReport, Text, TrackersOfState};

use super::ReportKind;
use super::engine::Engine;

/// An answer in the making: its value as it travels, behind what the caller has put there.
#[derive(Debug)]
pub enum LongRead {
    /// Reports on the tasks of a job.
    Reports(Box<ReportsRead>),
    /// Statuses of jobs.
    Jobs(Box<JobsRead>),
    /// The cluster with the names of its trackers.
    Cluster(Box<ClusterRead>),
}

/// What a slice has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The last fact that the slices so far show.
    pub wait_for: FactNumber,
    /// How it goes on.
    pub then: Then,
}

/// How a long read goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// There is more. What was made so far may leave.
    More,
    /// There is more, for which what was made so far must stay where it is.
    MoreOfTheSame,
    /// That was all.
    Done,
    /// The rest cannot be told: the job is forgotten.
    Gone,
}

/// Most tasks, jobs or trackers that one slice writes.
pub const SLICE_ITEMS: u32 = 64;
/// A slice ends with the item that brings it to so many bytes.
pub const SLICE_BYTES: usize = 64 << 10;
/// Most tasks that one slice looks at, of jobs and trackers a sixteenth: finding one of those takes longer.
pub const SLICE_LOOKS: u32 = 4_096;

/// What is left of a slice.
struct Room {
    looks: u32,
    items: u32,
    full_at_bytes: usize,
}

/// Reports on the tasks of a job, the done ones first.
#[derive(Debug)]
pub struct ReportsRead {
    job: JobId,
    kind: ReportKind,
    stage: ReportStage,
    /// The next task.
    cursor: u32,
    total: u32,
    /// A bit for each task: whether it was done at the beginning.
    done: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportStage {
    Beginning,
    /// Which tasks are done?
    Sorting,
    /// Writes those whose bit is this.
    Writing {
        done: bool,
    },
}

/// Statuses of jobs, by id.
#[derive(Debug)]
pub struct JobsRead {
    wanted: WantedJobs,
    after: Option<JobId>,
    count: u32,
    /// Where the count stands, once the beginning is written.
    start: Option<usize>,
    wait_for: FactNumber,
}

/// Which jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedJobs {
    /// All that are known.
    All,
    /// Those that are not over.
    ToComplete,
    /// Those of a queue that are not over.
    OfQueue(String),
}

/// The cluster with the names of its trackers.
#[derive(Debug, Default)]
pub struct ClusterRead {
    after: Option<Arc<str>>,
    active: Vec<Text>,
    blacklisted: Vec<Text>,
    graylisted: Vec<Text>,
}

// === impl LongRead ===

impl LongRead {
    /// Reports on the tasks of a job; none of an unknown one. For those whom [`Engine::check_view_details`] lets.
    pub fn task_reports(job: JobId, kind: ReportKind) -> Self {
        let stage = ReportStage::Beginning;
        Self::Reports(Box::new(ReportsRead { job, kind, stage, cursor: 0, total: 0, done: Vec::new() }))
    }

    /// Statuses of jobs.
    pub fn jobs(wanted: WantedJobs) -> Self {
        let wait_for = FactNumber::default();
        Self::Jobs(Box::new(JobsRead { wanted, after: None, count: 0, start: None, wait_for }))
    }

    /// The cluster in the detailed form.
    pub fn cluster() -> Self {
        Self::Cluster(Box::default())
    }

    /// Appends the next slice.
    pub fn next(&mut self, engine: &Engine, out: &mut Vec<u8>) -> Slice {
        match self {
            LongRead::Reports(reports) => reports.next(engine, out),
            LongRead::Jobs(jobs) => jobs.next(engine, out),
            LongRead::Cluster(cluster) => cluster.next(engine, out),
        }
    }
}

// === impl Room ===

impl Room {
    fn new(looks: u32, out: &[u8]) -> Self {
        Self { looks, items: SLICE_ITEMS, full_at_bytes: out.len() + SLICE_BYTES }
    }

    fn is_full(&self, out: &[u8]) -> bool {
        self.looks == 0 || self.items == 0 || out.len() >= self.full_at_bytes
    }
}

// === impl ReportsRead ===

impl ReportsRead {
    fn next(&mut self, engine: &Engine, out: &mut Vec<u8>) -> Slice {
        let Some(job) = engine.jobs.get(self.job).filter(|job| !job.is_without_tasks()) else {
            let then = match self.stage {
                ReportStage::Beginning | ReportStage::Sorting => {
                    encode_array_start::<TaskReport>(0, out);
                    Then::Done
                }
                ReportStage::Writing { .. } => Then::Gone,
            };
            return Slice { wait_for: FactNumber::default(), then };
        };
        let mut room = Room::new(SLICE_LOOKS, out);
        let mut then = Then::More;
        while !room.is_full(out) {
            let at_end = self.cursor == self.total;
            match self.stage {
                ReportStage::Beginning => {
                    self.total = self.kind.count(job);
                    self.done = vec![0; (self.total as usize).div_ceil(u64::BITS as usize)];
                    self.stage = ReportStage::Sorting;
                }
                ReportStage::Sorting if at_end => {
                    encode_array_start::<TaskReport>(self.total as usize, out);
                    self.cursor = 0;
                    self.stage = ReportStage::Writing { done: true };
                }
                ReportStage::Sorting => {
                    let ((word, bit), is_done) = (place(self.cursor), job.task(self.key()).is_complete());
                    if let Some(word) = self.done.get_mut(word).filter(|_| is_done) {
                        *word |= bit;
                    }
                    self.pass(&mut room);
                }
                ReportStage::Writing { done: true } if at_end => {
                    self.cursor = 0;
                    self.stage = ReportStage::Writing { done: false };
                }
                ReportStage::Writing { .. } if at_end => {
                    then = Then::Done;
                    break;
                }
                ReportStage::Writing { done } => {
                    let (word, bit) = place(self.cursor);
                    if self.done.get(word).is_some_and(|word| (word & bit != 0) == done) {
                        encode_element(&job.task_report(self.key()), out);
                        room.items -= 1;
                    }
                    self.pass(&mut room);
                }
            }
        }
        Slice { wait_for: job.last_fact, then }
    }

    fn key(&self) -> TaskKey {
        self.kind.key(self.cursor)
    }

    fn pass(&mut self, room: &mut Room) {
        self.cursor += 1;
        room.looks -= 1;
    }
}

fn place(task: u32) -> (usize, u64) {
    ((task / u64::BITS) as usize, 1 << (task % u64::BITS))
}

// === impl ReportKind ===

impl ReportKind {
    /// How many such tasks a job has.
    fn count(self, job: &Job) -> u32 {
        match self {
            ReportKind::Work(kind) => job.total()[kind],
            ReportKind::Setup | ReportKind::Cleanup => 2,
        }
    }

    fn key(self, number: u32) -> TaskKey {
        let variant = || if number == 0 { Kind::Map } else { Kind::Reduce };
        match self {
            ReportKind::Work(kind) => TaskKey::Work(kind, number),
            ReportKind::Setup => TaskKey::Setup(variant()),
            ReportKind::Cleanup => TaskKey::Cleanup(variant()),
        }
    }
}

// === impl JobsRead ===

impl JobsRead {
    fn next(&mut self, engine: &Engine, out: &mut Vec<u8>) -> Slice {
        let start = *self.start.get_or_insert_with(|| {
            encode_array_start::<JobStatus>(0, out);
            out.len() - size_of::<i32>()
        });
        let mut room = Room::new(SLICE_LOOKS / 16, out);
        let mut then = Then::Done;
        for job in engine.jobs.iter_after(self.after) {
            if room.is_full(out) {
                then = Then::MoreOfTheSame;
                break;
            }
            self.after = Some(job.id);
            room.looks -= 1;
            if self.wanted.is(job) {
                encode_element(&job.status(engine.config.acls_enabled), out);
                self.wait_for = self.wait_for.max(job.last_fact);
                self.count += 1;
                room.items -= 1;
            }
        }
        if let Some(count) = out.get_mut(start..start + size_of::<i32>()) {
            count.copy_from_slice(&self.count.to_be_bytes());
        }
        Slice { wait_for: self.wait_for, then }
    }
}

// === impl WantedJobs ===

impl WantedJobs {
    fn is(&self, job: &Job) -> bool {
        match self {
            WantedJobs::All => true,
            WantedJobs::ToComplete => job.is_to_complete(),
            WantedJobs::OfQueue(queue) => job.is_to_complete() && job.spec.queue == *queue,
        }
    }
}

// === impl ClusterRead ===

impl ClusterRead {
    fn next(&mut self, engine: &Engine, out: &mut Vec<u8>) -> Slice {
        use std::ops::Bound::{Excluded, Unbounded};
        let wait_for = FactNumber::default();
        let after = self.after.take();
        let range = (after.as_deref().map_or(Unbounded, Excluded), Unbounded);
        let mut left = SLICE_LOOKS / 16;
        for (name, tracker) in engine.trackers.range::<str, _>(range) {
            if left == 0 {
                return Slice { wait_for, then: Then::MoreOfTheSame };
            }
            left -= 1;
            self.after = Some(name.clone());
            let list = if tracker.healthy { &mut self.active } else { &mut self.blacklisted };
            list.push(Text::from(&**name));
            if engine.host_faults.is_graylisted(&tracker.host) {
                self.graylisted.push(Text::from(&**name));
            }
        }
        let of = |names: &mut Vec<Text>| {
            let names = std::mem::take(names);
            TrackersOfState { count: i32::try_from(names.len()).unwrap_or(i32::MAX), names }
        };
        let status = ClusterStatus {
            active: of(&mut self.active),
            blacklisted: of(&mut self.blacklisted),
            graylisted: of(&mut self.graylisted),
            ..engine.cluster_status(false).value
        };
        encode_value(&Value::ClusterStatus(status), out);
        Slice { wait_for, then: Then::Done }
    }
}

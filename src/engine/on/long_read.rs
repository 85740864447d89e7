//! Answers whose size grows with a job or the cluster, built in slices: between two slices the owner processes other
//! events.
//!
//! Each slice shows the state when it was built. Each item appears once, even if it changes meanwhile: the tasks of a
//! job are divided into complete and other ones at the beginning, and each task's report shows its state when its slice
//! is built.

use std::sync::Arc;

use crate::engine::core::Engine;
use crate::mapreduce::{Job, TaskKey};
use crate::model::{FactNumber, JobId, Kind};
use crate::scheduler::AppId;
use crate::wire::protocol::{Value, encode_array_start, encode_element, encode_value};
use crate::wire::{ClusterStatus, JobStatus, TaskReport, Text, TrackersOfState};

use super::queries::TaskReportKind;

/// A partial answer: the encoded value, appended to the caller's buffer.
#[derive(Debug)]
pub enum LongRead {
    Reports(Box<ReportsRead>),
    Jobs(Box<JobsRead>),
    /// The cluster with the names of its trackers.
    Cluster(Box<ClusterRead>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The last fact that the slices show so far.
    pub wait_for: FactNumber,
    /// Whether and how the read continues.
    pub progress: ReadProgress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadProgress {
    /// There is more. The slices so far may be sent.
    More,
    /// There is more. The buffer must stay: a later slice updates a count in it.
    MoreInPlace,
    Done,
    /// The rest is not available: the job was forgotten.
    JobForgotten,
}

/// Most tasks, jobs or trackers in one slice.
pub(crate) const SLICE_ITEMS: u32 = 64;
/// A slice ends with the item that reaches this size, bytes.
pub(crate) const SLICE_BYTES: usize = 64 << 10;
/// Most tasks that one slice visits; of jobs and trackers a sixteenth, since finding one takes longer.
pub(crate) const SLICE_LOOKS: u32 = 4_096;

struct SliceCapacity {
    looks: u32,
    items: u32,
    full_at_bytes: usize,
}

/// Reports on the tasks of a job, complete ones first.
#[derive(Debug)]
pub struct ReportsRead {
    job: JobId,
    kind: TaskReportKind,
    stage: ReportStage,
    /// The next task.
    cursor: u32,
    total: u32,
    /// A bit for each task: whether it was complete at the beginning.
    done: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportStage {
    Beginning,
    /// Finds the complete tasks.
    Sorting,
    /// Writes the tasks whose bit equals `done`.
    Writing {
        done: bool,
    },
}

/// Statuses of jobs: by id, or in the order in which the policy lists the jobs of a queue.
#[derive(Debug)]
pub struct JobsRead {
    wanted: WantedJobs,
    after: Option<JobId>,
    /// Jobs of the queue still to write, the next one last, if the policy lists them; fixed at the beginning.
    listed: Option<Vec<AppId>>,
    count: u32,
    /// Position of the count, once it is written.
    start: Option<usize>,
    wait_for: FactNumber,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WantedJobs {
    All,
    ToComplete,
    /// Unfinished jobs of a queue; of the pool of that name while the Fair scheduler rules (1.2.1 contrib
    /// `FairScheduler.getJobs`).
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

impl LongRead {
    /// Reports on the tasks of a job; none of an unknown one. The caller must have passed
    /// [`Engine::check_view_details`].
    pub fn task_reports(job: JobId, kind: TaskReportKind) -> Self {
        let stage = ReportStage::Beginning;
        Self::Reports(Box::new(ReportsRead { job, kind, stage, cursor: 0, total: 0, done: Vec::new() }))
    }

    pub(crate) fn jobs(wanted: WantedJobs) -> Self {
        let wait_for = FactNumber::default();
        Self::Jobs(Box::new(JobsRead { wanted, after: None, listed: None, count: 0, start: None, wait_for }))
    }

    /// The cluster in the detailed form.
    pub(crate) fn cluster() -> Self {
        Self::Cluster(Box::default())
    }

    /// Appends the next slice to `out`.
    pub fn next(&mut self, engine: &Engine, out: &mut Vec<u8>) -> Slice {
        match self {
            LongRead::Reports(reports) => reports.next(engine, out),
            LongRead::Jobs(jobs) => jobs.next(engine, out),
            LongRead::Cluster(cluster) => cluster.next(engine, out),
        }
    }
}

impl SliceCapacity {
    fn new(looks: u32, out: &[u8]) -> Self {
        Self { looks, items: SLICE_ITEMS, full_at_bytes: out.len() + SLICE_BYTES }
    }

    fn is_full(&self, out: &[u8]) -> bool {
        self.looks == 0 || self.items == 0 || out.len() >= self.full_at_bytes
    }
}

impl ReportsRead {
    fn next(&mut self, engine: &Engine, out: &mut Vec<u8>) -> Slice {
        let Some(job) = engine.jobs.get(self.job).filter(|job| !job.is_without_tasks()) else {
            let progress = match self.stage {
                ReportStage::Beginning | ReportStage::Sorting => {
                    encode_array_start::<TaskReport>(0, out);
                    ReadProgress::Done
                }
                ReportStage::Writing { .. } => ReadProgress::JobForgotten,
            };
            return Slice { wait_for: FactNumber::default(), progress };
        };
        let mut capacity = SliceCapacity::new(SLICE_LOOKS, out);
        let mut progress = ReadProgress::More;
        while !capacity.is_full(out) {
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
                    let ((word, bit), is_done) = (bit_of(self.cursor), job.task(self.key()).is_complete());
                    if let Some(word) = self.done.get_mut(word).filter(|_| is_done) {
                        *word |= bit;
                    }
                    self.advance(&mut capacity);
                }
                ReportStage::Writing { done: true } if at_end => {
                    self.cursor = 0;
                    self.stage = ReportStage::Writing { done: false };
                }
                ReportStage::Writing { .. } if at_end => {
                    progress = ReadProgress::Done;
                    break;
                }
                ReportStage::Writing { done } => {
                    let (word, bit) = bit_of(self.cursor);
                    if self.done.get(word).is_some_and(|word| (word & bit != 0) == done) {
                        encode_element(&job.task_report(self.key()), out);
                        capacity.items -= 1;
                    }
                    self.advance(&mut capacity);
                }
            }
        }
        Slice { wait_for: job.last_fact, progress }
    }

    fn key(&self) -> TaskKey {
        self.kind.key(self.cursor)
    }

    fn advance(&mut self, capacity: &mut SliceCapacity) {
        self.cursor += 1;
        capacity.looks -= 1;
    }
}

fn bit_of(task: u32) -> (usize, u64) {
    ((task / u64::BITS) as usize, 1 << (task % u64::BITS))
}

impl TaskReportKind {
    /// How many such tasks a job has; none before it has begun.
    fn count(self, job: &Job) -> u32 {
        match self {
            _ if !job.has_begun() => 0,
            TaskReportKind::Work(kind) => job.total()[kind],
            TaskReportKind::Setup | TaskReportKind::Cleanup => 2,
        }
    }

    fn key(self, number: u32) -> TaskKey {
        let variant = || if number == 0 { Kind::Map } else { Kind::Reduce };
        match self {
            TaskReportKind::Work(kind) => TaskKey::Work(kind, number),
            TaskReportKind::Setup => TaskKey::Setup(variant()),
            TaskReportKind::Cleanup => TaskKey::Cleanup(variant()),
        }
    }
}

impl JobsRead {
    fn next(&mut self, engine: &Engine, out: &mut Vec<u8>) -> Slice {
        let start = *self.start.get_or_insert_with(|| {
            self.listed = self.wanted.listed(engine);
            encode_array_start::<JobStatus>(0, out);
            out.len() - size_of::<i32>()
        });
        let mut capacity = SliceCapacity::new(SLICE_LOOKS / 16, out);
        let mut progress = ReadProgress::Done;
        while let Some(job) = self.first_job(engine) {
            if capacity.is_full(out) {
                progress = ReadProgress::MoreInPlace;
                break;
            }
            self.pass_job(job);
            capacity.looks -= 1;
            if self.wanted.matches(engine, job) {
                encode_element(&engine.status_of(job), out);
                self.wait_for = self.wait_for.max(job.last_fact);
                self.count += 1;
                capacity.items -= 1;
            }
        }
        if let Some(count) = out.get_mut(start..start + size_of::<i32>()) {
            count.copy_from_slice(&self.count.to_be_bytes());
        }
        Slice { wait_for: self.wait_for, progress }
    }

    /// The first job to look at.
    fn first_job<'a>(&mut self, engine: &'a Engine) -> Option<&'a Job> {
        let Some(listed) = &mut self.listed else { return engine.jobs.all().iter_after(self.after).next() };
        // A job may have been forgotten since.
        while listed.last().is_some_and(|app| engine.jobs.by_app(*app).is_none()) {
            listed.pop();
        }
        engine.jobs.by_app(*listed.last()?)
    }

    fn pass_job(&mut self, job: &Job) {
        match &mut self.listed {
            Some(listed) => drop(listed.pop()),
            None => self.after = Some(job.id),
        }
    }
}

impl WantedJobs {
    /// The jobs of a queue, the first one last, if the policy lists them.
    fn listed(&self, engine: &Engine) -> Option<Vec<AppId>> {
        let WantedJobs::OfQueue(queue) = self else { return None };
        let scheduler = &engine.cluster.scheduler;
        let mut listed = scheduler.listed_apps(scheduler.group(queue)?)?;
        listed.reverse();
        Some(listed)
    }

    fn matches(&self, engine: &Engine, job: &Job) -> bool {
        match self {
            WantedJobs::All => true,
            WantedJobs::ToComplete => job.is_to_complete(),
            WantedJobs::OfQueue(queue) => job.is_to_complete() && engine.list_of(job) == queue,
        }
    }
}

impl ClusterRead {
    fn next(&mut self, engine: &Engine, out: &mut Vec<u8>) -> Slice {
        let wait_for = FactNumber::default();
        let after = self.after.take();
        let mut left = SLICE_LOOKS / 16;
        for tracker in engine.trackers.iter_after(after.as_deref()) {
            if left == 0 {
                return Slice { wait_for, progress: ReadProgress::MoreInPlace };
            }
            left -= 1;
            self.after = Some(tracker.name.clone());
            let list = if tracker.healthy { &mut self.active } else { &mut self.blacklisted };
            list.push(Text::from(&*tracker.name));
            if engine.host_faults.is_graylisted(&tracker.host) {
                self.graylisted.push(Text::from(&*tracker.name));
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
        Slice { wait_for, progress: ReadProgress::Done }
    }
}

//! What the list pages show of the cluster, from one snapshot.

use crate::api::PolicyName;
use crate::engine::{ClusterSnapshot, JobSnapshot, TrackerSnapshot};
use crate::model::{PerKind, RunState};

use super::java_text::date;
use super::rows::ShownProgress;

/// What is said of a queue and of a job of which a policy says nothing.
const NO_QUEUE_INFO: &str = "N/A";
const NO_INFO: &str = "NA";
/// Pace of the pages of running jobs, s; those of ended ones stand still.
const REFRESH_S: u32 = 30;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Summary {
    pub(super) running: PerKind<u64>,
    pub(super) submissions: u64,
    pub(super) nodes: usize,
    pub(super) occupied: PerKind<u32>,
    pub(super) reserved: PerKind<u32>,
    pub(super) capacity: PerKind<u32>,
    pub(super) blacklisted: usize,
    pub(super) graylisted: usize,
    pub(super) excluded: usize,
}

pub(super) struct QueueLines {
    pub(super) name: String,
    pub(super) state: &'static str,
    pub(super) info: Vec<String>,
}

pub(super) struct JobsTable {
    pub(super) jobs: Vec<JobCells>,
    /// Whether jobs can be chosen and changed.
    pub(super) has_boxes: bool,
    pub(super) refresh: u32,
}

pub(super) struct JobCells {
    pub(super) index: usize,
    pub(super) id: String,
    pub(super) started: String,
    pub(super) priority: &'static str,
    pub(super) user: String,
    pub(super) name: String,
    pub(super) maps: ShownProgress,
    pub(super) reduces: ShownProgress,
    pub(super) total: PerKind<u32>,
    pub(super) finished: PerKind<u32>,
    pub(super) scheduling_info: String,
    pub(super) diagnostics: String,
}

impl Summary {
    pub(super) fn of(overview: &ClusterSnapshot) -> Self {
        let count = |is: fn(&&TrackerSnapshot) -> bool| overview.trackers.iter().filter(is).count();
        Summary {
            running: overview.attempts,
            submissions: overview.jobs_accepted,
            nodes: count(|tracker| tracker.healthy),
            occupied: overview.running,
            reserved: reserved(overview),
            capacity: overview.slots,
            blacklisted: count(|tracker| !tracker.healthy),
            graylisted: count(|tracker| tracker.graylisted),
            excluded: overview.excluded_hosts.len(),
        }
    }

    /// Slots a tracker; none without trackers.
    pub(super) fn tasks_per_node(&self) -> Option<f32> {
        let slots = u64::from(self.capacity.map) + u64::from(self.capacity.reduce);
        (self.nodes > 0).then(|| slots as f32 / self.nodes as f32)
    }
}

/// Trackers whose free slots are kept for jobs.
fn reserved(overview: &ClusterSnapshot) -> PerKind<u32> {
    let sum = |of: fn(&JobSnapshot) -> u32| overview.all_jobs().map(of).fold(0, u32::saturating_add);
    PerKind::new(sum(|job| job.live.reserved.map), sum(|job| job.live.reserved.reduce))
}

impl QueueLines {
    /// All queues. `shows_money`: whether what a market says of them may be shown.
    pub(super) fn all(overview: &ClusterSnapshot, shows_money: bool) -> Vec<Self> {
        let queues = overview.queues.iter().map(|queue| {
            let said = queue.paused.as_ref().or(queue.scheduling_info.as_ref().filter(|_| shows_money));
            let info = said.filter(|info| !info.is_empty()).map_or(NO_QUEUE_INFO, |info| info.trim_end_matches('\n'));
            QueueLines {
                name: queue.name.clone(),
                state: if queue.is_stopped { "stopped" } else { "running" },
                info: info.split('\n').map(str::to_owned).collect(),
            }
        });
        queues.collect()
    }
}

impl JobsTable {
    /// A table of jobs, numbered from `first` on.
    pub(super) fn new<'a>(
        jobs: impl IntoIterator<Item = &'a JobSnapshot>,
        first: usize,
        has_boxes: bool,
        shows_money: bool,
    ) -> Self {
        let rows: Vec<JobCells> =
            jobs.into_iter().zip(first..).map(|(job, index)| JobCells::new(job, index, shows_money)).collect();
        JobsTable { has_boxes: has_boxes && !rows.is_empty(), jobs: rows, refresh: 0 }
    }

    /// The same of running jobs.
    pub(super) fn refreshed(self) -> Self {
        Self { refresh: REFRESH_S, ..self }
    }
}

impl JobCells {
    fn new(job: &JobSnapshot, index: usize, shows_money: bool) -> Self {
        JobCells {
            index,
            id: job.id.to_string(),
            started: date(job.submit_ms),
            priority: job.priority.name(),
            user: job.user.clone(),
            name: job.name.clone(),
            maps: ShownProgress::of(job.live.progress.map),
            reduces: ShownProgress::of(job.live.progress.reduce),
            total: job.tasks,
            finished: job.finished,
            scheduling_info: scheduling_info(job, shows_money),
            diagnostics: if job.failure_info.is_empty() { NO_INFO.to_owned() } else { job.failure_info.clone() },
        }
    }
}

/// What the policy says of a job.
pub(super) fn scheduling_info(job: &JobSnapshot, shows_money: bool) -> String {
    job.live.scheduling_info.clone().filter(|_| shows_money).unwrap_or_else(|| NO_INFO.to_owned())
}

pub(super) fn jobs_in<'a>(overview: &'a ClusterSnapshot, states: &[RunState]) -> Vec<&'a JobSnapshot> {
    let mut jobs: Vec<&JobSnapshot> = overview.all_jobs().filter(|job| states.contains(&job.state)).collect();
    jobs.sort_by_key(|job| job.id);
    jobs
}

/// The unfinished jobs that the scheduler lists for a queue, in its order. FIFO has one list, for whatever queue (1.2.1
/// `JobQueueTaskScheduler.getJobs`).
pub(super) fn jobs_of_queue<'a>(overview: &'a ClusterSnapshot, queue: &str) -> Vec<&'a JobSnapshot> {
    let mut jobs = jobs_in(overview, &[RunState::Running, RunState::Prep]);
    let is_fifo = overview.report.policy == PolicyName::Fifo;
    jobs.retain(|job| is_fifo || job.queue == queue);
    jobs.sort_by_key(|job| (job.priority, job.submit_ms, job.id));
    jobs
}

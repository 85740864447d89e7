//! Limits of the cluster that hold for every job.

use crate::mapreduce::JobSpec;
use crate::model::{CounterLimits, JobId, PerKind};

use super::{FaultConfig, Refusal};

/// Limits of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// When a host is shown on the graylist.
    pub faults: FaultConfig,
    /// Counters of a job.
    pub counters: CounterLimits,
    /// Most memory that one task may ask for, MB; none where jobs need not tell
    /// (`mapred.cluster.max.map.memory.mb`, `mapred.cluster.max.reduce.memory.mb`).
    pub max_task_memory_mb: Option<PerKind<u64>>,
    /// Most tasks of all jobs that are not over, by `Limits::weight` (`jobtracker.max-tasks`).
    pub max_live_tasks: Option<u64>,
    /// Most memory for texts, splits and credentials of all jobs that are not over, bytes; one user may take half of it
    /// (`jobtracker.max-job-bytes`).
    pub max_live_bytes: Option<u64>,
    /// Most tasks of finished jobs in memory, by `Limits::weight`; those of jobs that ended first are in the database alone.
    pub max_finished_tasks: u64,
    /// Most trackers registered at once: some kB each.
    pub max_trackers: usize,
    /// Most slots of a kind that a tracker is believed to have (`jobtracker.tracker.max-slots`).
    pub max_tracker_slots: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            faults: FaultConfig::default(),
            counters: CounterLimits::default(),
            max_task_memory_mb: None,
            max_live_tasks: None,
            max_live_bytes: None,
            max_finished_tasks: MAX_FINISHED_TASKS,
            max_trackers: 20_000,
            max_tracker_slots: 1_000,
        }
    }
}

/// Tasks of finished jobs that are kept in memory.
const MAX_FINISHED_TASKS: u64 = 1_000_000;

// === impl Limits ===

impl Limits {
    /// What a job takes of the room for tasks: maps, reduces, and setup and cleanup of either kind.
    pub(super) fn weight(spec: &JobSpec) -> u64 {
        u64::from(spec.maps) + u64::from(spec.reduces) + 4
    }

    /// Whether there is room for a job beside the tasks that are there.
    pub(super) fn judge_room(&self, id: JobId, spec: &JobSpec, live_tasks: u64) -> Result<(), Refusal> {
        let Some(most) = self.max_live_tasks.filter(|most| live_tasks + Self::weight(spec) > *most) else {
            return Ok(());
        };
        Err(Refusal::Invalid(format!(
            "{id} has {} tasks, and jobs that are not over have {live_tasks}; the limit is {most} (jobtracker.max-tasks): \
             try again when some are over",
            Self::weight(spec)
        )))
    }

    /// Whether a job asks for memory as the cluster wants it, in the words of 1.2.1 `JobTracker.checkMemoryRequirements`.
    pub(super) fn judge_memory(&self, id: JobId, spec: &JobSpec) -> Result<(), Refusal> {
        let Some(most) = self.max_task_memory_mb else { return Ok(()) };
        let (map, reduce) = (spec.map_memory_mb, spec.reduce_memory_mb);
        let why = if map.is_some_and(|mb| mb > most.map) || reduce.is_some_and(|mb| mb > most.reduce) {
            "Exceeds the cluster's max-memory-limit."
        } else if map.is_none() || reduce.is_none() {
            "Invalid job requirements."
        } else {
            return Ok(());
        };
        let text = |memory_mb: Option<u64>| memory_mb.map_or("-1".to_owned(), |mb| mb.to_string());
        let (map, reduce) = (text(map), text(reduce));
        Err(Refusal::Invalid(format!("{id}({map} memForMapTasks {reduce} memForReduceTasks): {why}")))
    }
}

//! Limits of the cluster.

use crate::mapreduce::JobSpec;
use crate::model::{CounterLimits, JobId, PerKind};

use super::host_faults::FaultConfig;
use super::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub faults: FaultConfig,
    pub counters: CounterLimits,
    /// Most memory that one task may request, MB; none = jobs need not state it
    /// (`mapred.cluster.max.map.memory.mb`, `mapred.cluster.max.reduce.memory.mb`).
    pub max_task_memory_mb: Option<PerKind<u64>>,
    /// Most tasks of all unfinished jobs, by `Limits::weight` (`jobtracker.max-tasks`).
    pub max_live_tasks: Option<u64>,
    /// Most memory for texts, splits and credentials of all unfinished jobs, bytes; one user may use half of it
    /// (`jobtracker.max-job-bytes`).
    pub max_live_bytes: Option<u64>,
    /// Most tasks of finished jobs in memory, by `Limits::weight`; the store alone has those of older jobs.
    pub max_finished_tasks: u64,
    /// Most trackers registered at once: some kB each.
    pub max_trackers: usize,
    /// Most slots of a kind that count of a tracker (`jobtracker.tracker.max-slots`).
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

/// Default of `Limits::max_finished_tasks`.
const MAX_FINISHED_TASKS: u64 = 1_000_000;

impl Limits {
    /// Tasks of a job: maps, reduces, and setup and cleanup of either kind.
    pub(crate) fn weight(spec: &JobSpec) -> u64 {
        u64::from(spec.maps) + u64::from(spec.reduces) + 4
    }

    /// Refuses a job whose tasks exceed the limit together with the existing ones.
    pub(crate) fn check_room(&self, id: JobId, spec: &JobSpec, live_tasks: u64) -> Result<(), Refusal> {
        let Some(most) = self.max_live_tasks.filter(|most| live_tasks + Self::weight(spec) > *most) else {
            return Ok(());
        };
        Err(Refusal::Invalid(format!(
            "{id} has {} tasks, and jobs that are not over have {live_tasks}; the limit is {most} (jobtracker.max-tasks): \
             try again when some are over",
            Self::weight(spec)
        )))
    }

    /// Refuses invalid memory requirements, with the text of 1.2.1 `JobTracker.checkMemoryRequirements` first.
    pub(crate) fn check_memory(&self, id: JobId, spec: &JobSpec) -> Result<(), Refusal> {
        let Some(most) = self.max_task_memory_mb else { return Ok(()) };
        let (map, reduce) = (spec.map_memory_mb, spec.reduce_memory_mb);
        let asked = [
            (map, most.map, "mapred.job.map.memory.mb", "mapred.cluster.max.map.memory.mb"),
            (reduce, most.reduce, "mapred.job.reduce.memory.mb", "mapred.cluster.max.reduce.memory.mb"),
        ];
        let why = if let Some((Some(mb), most, key, limit)) =
            asked.into_iter().find(|(mb, most, ..)| mb.is_some_and(|mb| mb > *most))
        {
            format!(
                "Exceeds the cluster's max-memory-limit. {key} = {mb}, {limit} = {most}: set the first to at most that"
            )
        } else if let Some((_, most, key, limit)) = asked.into_iter().find(|(mb, ..)| mb.is_none()) {
            format!(
                "Invalid job requirements. {key} is not set, but {limit} = {most}: set it to what one task needs, at most that"
            )
        } else {
            return Ok(());
        };
        let text = |memory_mb: Option<u64>| memory_mb.map_or("-1".to_owned(), |mb| mb.to_string());
        let (map, reduce) = (text(map), text(reduce));
        Err(Refusal::Invalid(format!("{id}({map} memForMapTasks {reduce} memForReduceTasks): {why}")))
    }
}

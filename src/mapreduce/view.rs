//! A job as clients see it.

use crate::model::{Kind, RunState, TaskId};
use crate::scheduler::HostId;
use crate::wire::{
    AccessControlList, Counter, CounterGroup, Counters, JobAcl, JobProfile, JobStatus, TaskReport, Text, TipStatus,
    WString,
};

use super::job::{Job, TaskKey};
use super::job_state::{JobOutcome, JobState};
use super::{CounterTotal, Task, TaskState};

/// Group of the counters that the server itself counts (1.2.1 `JobInProgress.Counter`).
const SERVER_GROUP: &str = "org.apache.hadoop.mapred.JobInProgress$Counter";
/// Its display name, with the trailing blank that clients know.
const SERVER_GROUP_DISPLAY: &str = "Job Counters ";

impl Job {
    /// The constant part. `url` is the job's page.
    pub(crate) fn profile(&self, url: String) -> JobProfile {
        JobProfile {
            id: self.id,
            job_file: Text(self.spec.job_file.clone()),
            url: Text(url),
            user: Text(self.spec.user.clone()),
            name: Text(self.spec.name.clone()),
            queue: Text(self.spec.queue.clone()),
        }
    }

    /// The variable part. `with_acls` when access lists are enabled.
    pub(crate) fn status(&self, with_acls: bool) -> JobStatus {
        let acl = |list: &Option<String>| AccessControlList(list.as_deref().unwrap_or(" ").into());
        let acls = match with_acls {
            true => vec![(JobAcl::ModifyJob, acl(&self.spec.modify_acl)), (JobAcl::ViewJob, acl(&self.spec.view_acl))],
            false => Vec::new(),
        };
        JobStatus {
            id: self.id,
            setup_progress: done(&self.setup.map, &self.setup.reduce),
            map_progress: self.progress(Kind::Map),
            reduce_progress: self.progress(Kind::Reduce),
            cleanup_progress: if self.is_over() { 1.0 } else { done(&self.cleanup.map, &self.cleanup.reduce) },
            run_state: self.reported_state(),
            start_ms: self.submit_ms,
            user: Text(self.spec.user.clone()),
            priority: self.priority,
            scheduling_info: "NA".into(),
            acls,
            failure_info: if self.failure_info.is_empty() { "NA".into() } else { Text(self.failure_info.clone()) },
        }
    }

    fn progress(&self, kind: Kind) -> f32 {
        let total = self.total()[kind];
        // 1.2.1 shows 1.0 at the end of a job that did not succeed, and for kinds without tasks.
        match self.state {
            JobState::Over(JobOutcome::Failed | JobOutcome::Killed) => return 1.0,
            JobState::Over(JobOutcome::Succeeded) if total == 0 => return 1.0,
            _ if total == 0 => return 0.0,
            _ => {}
        }
        (self.progress_sum[kind] / f64::from(total)).clamp(0.0, 1.0) as f32
    }

    /// The mean progress of the tasks of a kind in whole millionths, for comparison.
    pub(super) fn progress_millionths(&self, kind: Kind) -> u32 {
        (f64::from(self.progress(kind)) * 1_000_000.0).round() as u32
    }

    /// Adds the server's own counters and the sums over maps and reduces, without visiting tasks.
    pub(super) fn add_counters(&self, total: &mut CounterTotal) {
        self.add_server_counters(total);
        for kind in Kind::ALL {
            self.counter_sums[kind].add_to(total);
            self.running_counters[kind].add_to(total);
        }
    }

    fn add_server_counters(&self, total: &mut CounterTotal) {
        let group =
            CounterGroup { name: SERVER_GROUP.into(), display_name: SERVER_GROUP_DISPLAY.into(), counters: Vec::new() };
        let over = self.is_over();
        let counts = &self.counts;
        let waited = |kind| format!("Total time spent by all {kind} waiting after reserving slots (ms)");
        // Hadoop creates a counter when it is first counted; those of slot time are read, and so created, at the end.
        let mut add = |name: &str, display: Option<String>, value: i64, always: bool| {
            if value != 0 || always {
                total.add(&group, &Counter { name: name.into(), display_name: display.map(Text), value: 0 }, value);
            }
        };
        add("TOTAL_LAUNCHED_MAPS", Some("Launched map tasks".into()), counts.launched.map, false);
        add("TOTAL_LAUNCHED_REDUCES", Some("Launched reduce tasks".into()), counts.launched.reduce, false);
        add("NUM_FAILED_MAPS", Some("Failed map tasks".into()), i64::from(self.failed.map), false);
        add("NUM_FAILED_REDUCES", Some("Failed reduce tasks".into()), i64::from(self.failed.reduce), false);
        add("OTHER_LOCAL_MAPS", Some("Other local map tasks".into()), counts.other_local_maps, false);
        add("DATA_LOCAL_MAPS", Some("Data-local map tasks".into()), counts.node_local_maps, false);
        add("RACK_LOCAL_MAPS", Some("Rack-local map tasks".into()), counts.rack_local_maps, false);
        add("SLOTS_MILLIS_MAPS", None, counts.slot_ms.map, over);
        add("SLOTS_MILLIS_REDUCES", None, counts.slot_ms.reduce, over);
        add("FALLOW_SLOTS_MILLIS_MAPS", Some(waited("maps")), counts.fallow_slot_ms.map, over);
        add("FALLOW_SLOTS_MILLIS_REDUCES", Some(waited("reduces")), counts.fallow_slot_ms.reduce, over);
    }

    /// Time for which its attempts of a kind held slots, or slots were kept for it, ms.
    pub(crate) fn slot_time_ms(&self, kind: Kind) -> i64 {
        self.counts.slot_ms[kind].saturating_add(self.counts.fallow_slot_ms[kind])
    }

    /// When the first of its maps or reduces was launched, epoch ms; none: none was, or its tasks are retired.
    pub(crate) fn first_launch_ms(&self, kind: Kind) -> Option<i64> {
        first_launch_ms(&self.work[kind])
    }

    pub(crate) fn first_setup_launch_ms(&self) -> Option<i64> {
        first_launch_ms([&self.setup.map, &self.setup.reduce])
    }

    pub(crate) fn first_cleanup_launch_ms(&self) -> Option<i64> {
        first_launch_ms([&self.cleanup.map, &self.cleanup.reduce])
    }

    /// Reports on all maps or reduces, finished ones first; none once tasks are retired, and none of a job that has not begun.
    pub(crate) fn task_reports(&self, kind: Kind) -> Vec<TaskReport> {
        self.reports((0..self.total()[kind]).map(|number| TaskKey::Work(kind, number)))
    }

    /// Reports on both variants of the setup, the done one first.
    pub(crate) fn setup_reports(&self) -> Vec<TaskReport> {
        self.reports(Kind::ALL.into_iter().map(TaskKey::Setup))
    }

    /// Reports on both variants of the cleanup, the done one first.
    pub(crate) fn cleanup_reports(&self) -> Vec<TaskReport> {
        self.reports(Kind::ALL.into_iter().map(TaskKey::Cleanup))
    }

    /// In the order of 1.2.1 `JobTracker.getMapTaskReports`.
    fn reports(&self, keys: impl Iterator<Item = TaskKey>) -> Vec<TaskReport> {
        if self.is_without_tasks() || !self.has_begun() {
            return Vec::new();
        }
        let (mut done, waiting): (Vec<_>, Vec<_>) = keys.partition(|key| self.task(*key).is_complete());
        done.extend(waiting);
        done.into_iter().map(|key| self.task_report(key)).collect()
    }

    /// The state of a task as clients see it.
    pub(crate) fn tip_status(&self, key: TaskKey) -> TipStatus {
        let (task, id) = (self.task(key), self.task_id(key));
        let twin_is_over = |tasks: &crate::model::PerKind<Task>| {
            Kind::ALL.iter().any(|kind| *kind != key.kind() && tasks[*kind].is_over())
        };
        // A task-cleanup that runs counts, one that waits does not (1.2.1 `TaskInProgress.generateSingleReport`).
        let is_active = |attempt: &&super::Attempt| attempt.is_active() || attempt.cleanup_tracker.is_some();
        let active = task.attempts.iter().filter(is_active).map(|attempt| id.attempt(attempt.number));
        let active: Vec<_> = active.collect();
        match task.state {
            TaskState::Complete(position) => match task.attempts.get(position) {
                Some(attempt) => TipStatus::Complete(id.attempt(attempt.number)),
                None => TipStatus::Pending,
            },
            _ if !active.is_empty() => TipStatus::Running(active),
            // 1.2.1 marks a task that failed as killed too, and shows that.
            TaskState::Failed | TaskState::Killed => TipStatus::Killed,
            TaskState::Waiting | TaskState::Running => match key {
                TaskKey::Setup(_) if twin_is_over(&self.setup) => TipStatus::Killed,
                TaskKey::Cleanup(_) if twin_is_over(&self.cleanup) => TipStatus::Killed,
                _ => TipStatus::Pending,
            },
        }
    }

    /// When a task was over, epoch ms, also one that failed or was killed (1.2.1 `TaskInProgress.kill`); 0: it is not.
    pub(crate) fn task_end_ms(&self, key: TaskKey) -> i64 {
        let task = self.task(key);
        if task.finish_ms > 0 || self.tip_status(key) != TipStatus::Killed {
            return task.finish_ms;
        }
        let of_twin = |tasks: &crate::model::PerKind<Task>| {
            let twins = Kind::ALL.into_iter().filter(|kind| *kind != key.kind());
            twins.map(|kind| tasks[kind].finish_ms).find(|end_ms| *end_ms > 0)
        };
        let superseded_ms = match key {
            TaskKey::Setup(_) => of_twin(&self.setup),
            TaskKey::Cleanup(_) => of_twin(&self.cleanup),
            TaskKey::Work(..) => None,
        };
        let last_attempt_ms = || task.attempts.iter().map(|attempt| attempt.finish_ms).max();
        superseded_ms.or_else(last_attempt_ms).unwrap_or(self.finish_ms)
    }

    pub(crate) fn task_report(&self, key: TaskKey) -> TaskReport {
        let task = self.task(key);
        let best = task.best_attempt();
        TaskReport {
            task: self.task_id(key),
            progress: task.progress,
            state_text: best.map(|attempt| Text(attempt.state_text.clone())).unwrap_or_default(),
            start_ms: task.first_launch_ms,
            finish_ms: self.task_end_ms(key),
            diagnostics: task.attempts.iter().flat_map(diagnostics_of).collect(),
            counters: best
                .and_then(|attempt| attempt.counters.as_ref())
                .map(|values| values.to_counters())
                .unwrap_or_default(),
            status: self.tip_status(key),
        }
    }

    /// Diagnostics of an attempt; none when the job has no such attempt.
    pub(crate) fn diagnostics(&self, key: TaskKey, number: i32) -> Option<Vec<String>> {
        let attempt = self.attempt(key, number)?;
        Some(attempt.diagnostics.texts().map(str::to_owned).collect())
    }

    /// At most `max` completion events from index `from`.
    pub(crate) fn completion_events(&self, from: usize, max: usize) -> Vec<crate::wire::TaskCompletionEvent> {
        (from..self.events.len().min(from.saturating_add(max))).filter_map(|index| self.event(index)).collect()
    }

    /// Whether clients count it among the jobs to complete.
    pub(crate) fn is_to_complete(&self) -> bool {
        matches!(self.reported_state(), RunState::Prep | RunState::Running)
    }

    pub(crate) fn failure_info(&self) -> &str {
        &self.failure_info
    }

    /// Whether a task is one of its maps or reduces, not its setup or cleanup.
    pub(crate) fn is_work(&self, task: TaskId) -> bool {
        matches!(self.key_of(task), Some(TaskKey::Work(..)))
    }

    /// Hosts that it avoids, with the failures of its attempts there.
    pub(crate) fn flaky_host_failures(&self) -> impl Iterator<Item = (HostId, u32)> {
        self.flaky_hosts.with_failures()
    }

    /// The sum over its finished and running maps or reduces; none once tasks are retired.
    pub(crate) fn counters_of_kind(&self, kind: Kind) -> Counters {
        let mut total = CounterTotal::default();
        self.counter_sums[kind].add_to(&mut total);
        self.running_counters[kind].add_to(&mut total);
        total.into_counters()
    }
}

fn done(map: &Task, reduce: &Task) -> f32 {
    map.progress.max(reduce.progress)
}

fn diagnostics_of(attempt: &super::Attempt) -> impl Iterator<Item = WString> {
    attempt.diagnostics.texts().map(|text| WString(Some(text.to_owned())))
}

fn first_launch_ms<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Option<i64> {
    tasks.into_iter().map(|task| task.first_launch_ms).filter(|at_ms| *at_ms != 0).min()
}

//! Launches attempts: chooses the task and the attempt number, and builds the wire task.

use std::sync::Arc;

use crate::model::{AttemptId, AttemptState, Kind, Now, TrackerId, Violations};
use crate::scheduler::{Distance, HostId, Level, RackId, TaskOrigin};
use crate::wire;
use crate::wire::{CleanupOutcome, Phase, RecordRange, ReduceProgress, SplitIndex, TaskBody, TaskStatus, Text};

use super::failed_ranges::SkipInstructions;
use super::flaky_hosts::FlakyHosts;
use super::job::{Job, TaskKey};
use super::job_state::JobOutcome;
use super::node_registry::EligibleHosts;
use super::{Attempt, AttemptRole, JobContext, JobFact, NodeRegistry, Task, TaskState};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) key: TaskKey,
    pub(crate) attempt: AttemptId,
    pub(crate) role: AttemptRole,
    /// Slots that it takes: one for a setup, cleanup or task-cleanup (1.2.1 `TaskInProgress.addRunningTask`).
    pub(crate) slots: u32,
}

impl Job {
    /// A map or reduce for `tracker`, granted by the scheduler: a waiting one, else a straggler; with the hosts of its request.
    pub(crate) fn take_task(
        &mut self,
        kind: Kind,
        tracker: TrackerId,
        distance: Distance,
        nodes: &NodeRegistry,
    ) -> Option<(u32, Arc<[HostId]>)> {
        let info = nodes.get(tracker)?;
        if !self.can_run_on(kind, tracker, nodes) {
            return None;
        }
        let (tasks, flaky, hosts) = (&self.work[kind], &self.flaky_hosts, self.eligible_hosts(nodes));
        let can_rerun = |number: u32| {
            tasks.get(number as usize).is_some_and(|task| can_rerun(task, flaky, kind, info.host, (nodes, hosts)))
        };
        if let Some(number) = self.waiting[kind].take(distance, info.host, &info.near, can_rerun) {
            return Some((number, self.preferred_hosts_of(TaskKey::Work(kind, number))));
        }
        if distance.farthest != Level::Any {
            return None;
        }
        Some((self.take_straggler(kind, tracker, info)?, self.no_hosts.clone()))
    }

    /// How far a tracker is from the input of a task; a reduce has none.
    pub(super) fn task_level(&self, kind: Kind, number: u32, tracker: TrackerId, nodes: &NodeRegistry) -> Level {
        nodes.get(tracker).map_or(Level::Any, |info| self.level(TaskKey::Work(kind, number), info.host, &info.near))
    }

    pub(super) fn can_run_on(&self, kind: Kind, tracker: TrackerId, nodes: &NodeRegistry) -> bool {
        let is_possible = match kind {
            Kind::Map => self.has_room_on(tracker, nodes),
            Kind::Reduce => self.are_reduces_due(),
        };
        is_possible && !self.avoids(kind, tracker, nodes)
    }

    /// Whether a task that has had an attempt may run on a tracker.
    pub(super) fn can_rerun_on(&self, kind: Kind, number: u32, tracker: TrackerId, nodes: &NodeRegistry) -> bool {
        let Some(host) = nodes.get(tracker).map(|info| info.host) else { return false };
        let task = self.work[kind].get(number as usize);
        task.is_some_and(|task| can_rerun(task, &self.flaky_hosts, kind, host, (nodes, self.eligible_hosts(nodes))))
    }

    /// Creates the attempt of a task that was taken; and why it waited.
    pub(crate) fn launch_task(
        &mut self,
        kind: Kind,
        number: u32,
        tracker: TrackerId,
        nodes: &NodeRegistry,
        now: Now,
        violations: &mut Violations,
    ) -> (Launch, TaskOrigin) {
        let key = TaskKey::Work(kind, number);
        let task = self.task(key);
        let origin = match (task.attempts.is_empty(), task.has_live_attempt()) {
            (true, _) => TaskOrigin::Fresh,
            (false, false) => TaskOrigin::Rerun,
            (false, true) => TaskOrigin::Speculative,
        };
        let launch = self.add_attempt(key, AttemptRole::Work, tracker, now, violations);
        self.slot_holders[kind].insert((now.mono_ms, number, launch.attempt.number));
        self.counts.launched[kind] += 1;
        if let (Kind::Map, Some(info)) = (kind, nodes.get(tracker)) {
            self.count_locality(key, info.host, &info.near);
        }
        self.refresh_task(key, violations);
        (launch, origin)
    }

    /// Whether the setup variant for `kind` may run on a tracker: not where too many of the job's attempts failed, nor
    /// where that variant failed, unless it failed everywhere else.
    pub(crate) fn can_set_up_on(&self, kind: Kind, tracker: TrackerId, nodes: &NodeRegistry) -> bool {
        self.can_run_variant_on(&self.setup[kind], kind, tracker, nodes)
    }

    /// Whether the cleanup variant for `kind` may run on a tracker, by the same rules.
    pub(crate) fn can_clean_up_on(&self, kind: Kind, tracker: TrackerId, nodes: &NodeRegistry) -> bool {
        self.can_run_variant_on(&self.cleanup[kind], kind, tracker, nodes)
    }

    fn can_run_variant_on(&self, task: &Task, kind: Kind, tracker: TrackerId, nodes: &NodeRegistry) -> bool {
        let Some(info) = nodes.get(tracker).filter(|_| !self.avoids(kind, tracker, nodes)) else { return false };
        can_rerun(task, &self.flaky_hosts, kind, info.host, (nodes, self.eligible_hosts(nodes)))
    }

    /// Launches the job's setup, in the variant for `kind`, on a tracker.
    pub(crate) fn launch_setup(&mut self, kind: Kind, tracker: TrackerId, context: &mut JobContext<'_>) -> Launch {
        let launch =
            self.add_attempt(TaskKey::Setup(kind), AttemptRole::JobSetup, tracker, context.now, context.violations);
        context.scheduler.begin_housekeeping(self.app, tracker, kind, launch.slots, context.now.mono_ms);
        self.refresh_housekeeping(context.housekeeping);
        self.refresh_awaits_setup(context);
        launch
    }

    /// Launches the job's cleanup, in the variant for `kind`, on a tracker.
    pub(crate) fn launch_cleanup(&mut self, kind: Kind, tracker: TrackerId, context: &mut JobContext<'_>) -> Launch {
        let launch =
            self.add_attempt(TaskKey::Cleanup(kind), AttemptRole::JobCleanup, tracker, context.now, context.violations);
        context.scheduler.begin_housekeeping(self.app, tracker, kind, launch.slots, context.now.mono_ms);
        self.refresh_housekeeping(context.housekeeping);
        launch
    }

    /// Launches the next waiting task-cleanup of that kind on a tracker, under the attempt's own id.
    pub(crate) fn launch_task_cleanup(
        &mut self,
        kind: Kind,
        tracker: TrackerId,
        context: &mut JobContext<'_>,
    ) -> Option<Launch> {
        let launch = loop {
            let Some((key, number)) = self.task_cleanups[kind].pop_front() else { break None };
            let task = self.task_mut(key);
            let Some(attempt) = task.attempts.iter_mut().find(|attempt| attempt.number == number) else { continue };
            if !attempt.is_unclean() || attempt.cleanup_tracker.is_some() {
                continue;
            }
            attempt.cleanup_tracker = Some(tracker);
            attempt.holds_slot = true;
            attempt.started = false;
            attempt.reported = false;
            attempt.phase = Phase::Cleanup;
            attempt.launch_mono_ms = context.now.mono_ms;
            self.trackers.insert(tracker);
            context.scheduler.begin_task_cleanup(self.app, tracker, kind, context.now.mono_ms);
            let attempt = self.task_id(key).attempt(number);
            break Some(Launch { key, attempt, role: AttemptRole::TaskCleanup, slots: 1 });
        };
        self.refresh_housekeeping(context.housekeeping);
        launch
    }

    fn add_attempt(
        &mut self,
        key: TaskKey,
        role: AttemptRole,
        tracker: TrackerId,
        now: Now,
        violations: &mut Violations,
    ) -> Launch {
        let (kind, id) = (key.kind(), self.task_id(key));
        self.trackers.insert(tracker);
        let first_attempt = self.first_attempt;
        let slots = if role == AttemptRole::Work { self.slots_per_task[kind].get() } else { 1 };
        let task = self.task_mut(key);
        let number = task.next_number().max(first_attempt);
        if task.attempts.is_empty() {
            // Most tasks never have a second attempt.
            task.attempts.reserve_exact(1);
        }
        if let Some(ranges) = &mut task.failed_ranges {
            ranges.record_launch(number);
        }
        task.attempts.push(Attempt { slots, ..Attempt::launched(number, role, first_phase(kind), tracker, now) });
        task.enter_state(TaskState::Running, id, violations);
        if task.first_launch_ms == 0 {
            task.first_launch_ms = now.wall_ms;
        }
        Launch { key, attempt: id.attempt(number), role, slots }
    }

    /// The fact that `launch` was sent in that response to a tracker.
    pub(crate) fn launch_fact(&self, launch: &Launch, tracker: Arc<str>, response_id: i16, at_ms: i64) -> JobFact {
        let Launch { attempt, role, slots, .. } = *launch;
        JobFact::AttemptLaunched { attempt, role, tracker, response_id, slots, at_ms }
    }

    pub(crate) fn wire_task(&self, launch: &Launch) -> wire::Task {
        let kind = launch.key.kind();
        let attempt = self.attempt(launch.key, launch.attempt.number);
        let state = match (launch.role, attempt) {
            (AttemptRole::TaskCleanup, Some(attempt)) => attempt.state,
            _ => AttemptState::Unassigned,
        };
        let split = match launch.key {
            TaskKey::Work(Kind::Map, number) if launch.role == AttemptRole::Work => self
                .splits
                .splits()
                .get(number as usize)
                .map(|split| SplitIndex { file: Text(self.spec.split_file.clone()), offset_bytes: split.offset_bytes }),
            _ => None,
        };
        let skip = self.skip_instructions(launch.key);
        wire::Task {
            job_file: Text(self.spec.job_file.clone()),
            partition: launch.attempt.task.number,
            num_slots: wire_slots(launch.slots),
            status: first_status(launch, state),
            skip_ranges: skip.ranges,
            skipping: skip.skipping,
            job_cleanup: (launch.role == AttemptRole::JobCleanup).then(|| self.cleanup_outcome()),
            job_setup: launch.role == AttemptRole::JobSetup,
            write_skipped_records: !skip.is_test,
            task_cleanup: launch.role == AttemptRole::TaskCleanup,
            user: Text(self.spec.user.clone()),
            body: match kind {
                Kind::Map => TaskBody::Map { split },
                Kind::Reduce => TaskBody::Reduce { maps: i32::try_from(self.spec.maps).unwrap_or(i32::MAX) },
            },
        }
    }

    /// What the committer does: commit, or abort and why.
    fn cleanup_outcome(&self) -> CleanupOutcome {
        match self.ending.as_ref().map(|ending| ending.outcome) {
            None | Some(JobOutcome::Succeeded) => CleanupOutcome::Succeeded,
            Some(JobOutcome::Failed) => CleanupOutcome::Failed,
            Some(JobOutcome::Killed) => CleanupOutcome::Killed,
        }
    }

    pub(crate) fn attempt(&self, key: TaskKey, number: i32) -> Option<&Attempt> {
        let task = self.task(key);
        task.attempts.get(task.position(number)?)
    }

    pub(super) fn is_task_idle(task: &Task) -> bool {
        !task.is_over() && !task.has_live_attempt()
    }

    /// The most records, or groups of a reduce, that may be skipped at once; none where nothing is skipped.
    pub(super) fn longest_skip(&self, key: TaskKey) -> Option<u64> {
        let TaskKey::Work(kind, _) = key else { return None };
        let longest = match kind {
            Kind::Map => self.spec.max_skipped.map,
            Kind::Reduce => self.spec.max_skipped.reduce,
        };
        (longest > 0).then_some(longest)
    }

    /// Whether new attempts of the task run in skipping mode: it has failed often enough.
    pub(super) fn is_skipping(&self, key: TaskKey) -> bool {
        self.longest_skip(key).is_some() && self.task(key).failures >= self.spec.skip_start_attempts
    }

    pub(super) fn record_skip_range(&mut self, key: TaskKey, report: &TaskStatus) {
        if self.longest_skip(key).is_none() {
            return;
        }
        let range = match report.state {
            // A later loss of its output is no fault of a record.
            AttemptState::Succeeded => RecordRange::default(),
            _ => report.next_record_range,
        };
        let ranges = &mut self.task_mut(key).failed_ranges;
        if ranges.is_some() || range.length > 0 {
            ranges.get_or_insert_default().record_range(report.attempt.number, range);
        }
    }

    pub(super) fn skip_instructions(&self, key: TaskKey) -> SkipInstructions {
        let skipping = self.is_skipping(key);
        match &self.task(key).failed_ranges {
            Some(ranges) => ranges.instructions(skipping),
            None => SkipInstructions { skipping, ..SkipInstructions::default() },
        }
    }

    /// How far a host is from the nearest input of a map: 0 on it, 1 in its rack, then the groups of racks above (1.2.1
    /// `JobInProgress.getMatchingLevelForNodes`); none beyond the levels of locality.
    fn levels_apart(&self, key: TaskKey, host: HostId, near: &[RackId]) -> Option<usize> {
        let place = self.preferred_hosts_of(key);
        if place.contains(&host) {
            return Some(0);
        }
        let apart = |there: &[RackId]| {
            let shared = near.iter().zip(1..).filter_map(|(group, up)| {
                let down = there.iter().position(|other| other == group)?;
                Some((down + 1).max(up))
            });
            shared.min()
        };
        place.iter().filter_map(|host| apart(self.racks.get(host)?)).min()
    }

    /// The level of a host, near which these racks and groups are, for the input of a map.
    pub(super) fn level(&self, key: TaskKey, host: HostId, near: &[RackId]) -> Level {
        match self.levels_apart(key, host, near) {
            Some(0) => Level::Node,
            Some(_) => Level::Rack,
            None => Level::Any,
        }
    }

    pub(super) fn count_locality(&mut self, key: TaskKey, host: HostId, near: &[RackId]) {
        match self.levels_apart(key, host, near) {
            Some(0) => self.counts.node_local_maps += 1,
            Some(1) => self.counts.rack_local_maps += 1,
            Some(_) => self.counts.other_local_maps += 1,
            None => {}
        }
    }
}

impl TaskKey {
    pub(crate) fn kind(self) -> Kind {
        match self {
            TaskKey::Work(kind, _) | TaskKey::Setup(kind) | TaskKey::Cleanup(kind) => kind,
        }
    }

    /// Whether it is a map or reduce, not a setup or cleanup.
    pub(crate) fn is_work(self) -> bool {
        matches!(self, TaskKey::Work(..))
    }
}

/// A task does not run where it failed, unless no other host is left. `hosts` are those that the job can choose from.
fn can_rerun(
    task: &Task,
    flaky: &FlakyHosts,
    kind: Kind,
    host: HostId,
    (nodes, hosts): (&NodeRegistry, EligibleHosts<'_>),
) -> bool {
    Job::can_run_task_on(task, kind, host, hosts) || flaky.leave_no_other_host(&task.failed_hosts, kind, nodes, hosts)
}

pub(super) fn first_phase(kind: Kind) -> Phase {
    match kind {
        Kind::Map => Phase::Map,
        Kind::Reduce => Phase::Shuffle,
    }
}

fn wire_slots(slots: u32) -> i32 {
    i32::try_from(slots).unwrap_or(i32::MAX)
}

/// The status inside a launched task: the stock values, whose state makes the tracker start it.
fn first_status(launch: &Launch, state: AttemptState) -> TaskStatus {
    let kind = launch.key.kind();
    TaskStatus {
        attempt: launch.attempt,
        progress: 0.0,
        num_slots: wire_slots(launch.slots),
        state,
        diagnostics: Text::default(),
        state_text: Text::default(),
        phase: first_phase(kind),
        start_ms: 0,
        finish_ms: 0,
        output_bytes: -1,
        // Empty, not absent: else the task's process would never send any.
        counters: Some(crate::wire::ReportedCounters::default()),
        next_record_range: RecordRange::default(),
        reduce: (kind == Kind::Reduce).then(ReduceProgress::default),
    }
}

//! One job: its tasks, its costs and its life cycle (1.2.1 `JobInProgress`).

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU32;
use std::ops::Bound;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{FactNumber, JobId, Kind, PerKind, Priority, RunState, TaskId, TrackerId, Violations, lower, raise};
use crate::scheduler::constraint::{ChangedDeadline, DeadlineSpec, JobEstimate, KnownCosts, Seconds};
use crate::scheduler::{AppId, AppSpec, HostId, Scheduler, Topology};
use crate::wire::CompletionStatus;

use super::fetch_failures::FetchFailures;
use super::finished_summary::FinishedSummary;
use super::flaky_hosts::FlakyHosts;
use super::job_state::{Ending, JobState};
use super::node_registry::EligibleHosts;
use super::output_estimate::OutputEstimate;
use super::pending_tasks::{PendingTasks, Racks};
use super::stragglers::Stragglers;
use super::task_costs::TaskCosts;
use super::{AcceptedJob, Attempt, CounterSum, HousekeepingQueue, JobSpec, SplitHost, SplitTable, Task};

/// A task of a job by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TaskKey {
    /// A map or reduce, by its index.
    Work(Kind, u32),
    /// The job's setup, in the variant that takes this kind of slot.
    Setup(Kind),
    /// The job's cleanup, in the variant that takes this kind of slot.
    Cleanup(Kind),
}

/// An attempt in order of launch: when it was (ms of the monotonic clock), its task, its number.
pub(crate) type RunningPlace = (u64, u32, i32);

/// An entry of the list that shuffling reduces follow.
#[derive(Clone, Debug)]
pub(super) struct CompletionEntry {
    pub(super) key: TaskKey,
    pub(super) attempt: i32,
    pub(super) status: CompletionStatus,
    pub(super) http: Arc<str>,
    pub(super) run_time_ms: i32,
}

/// Counts of the server itself (1.2.1 `JobInProgress.Counter`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JobCounts {
    pub(super) launched: PerKind<i64>,
    pub(super) slot_ms: PerKind<i64>,
    /// Time of slots that were kept for it, unused.
    pub(super) fallow_slot_ms: PerKind<i64>,
    pub(super) node_local_maps: i64,
    pub(super) rack_local_maps: i64,
    /// Maps beyond the rack of their input, but within the levels of locality.
    pub(super) other_local_maps: i64,
}

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) app: AppId,
    /// Slots that its next attempts take, as in its [`AppSpec`].
    pub(super) slots_per_task: PerKind<NonZeroU32>,
    /// Approximate memory beside its tasks, by [`AcceptedJob::bytes`], until it is over.
    pub(crate) bytes: u64,
    /// Diagnostics that its attempts have sent, bytes.
    pub(super) diagnostics_bytes: usize,
    pub(crate) spec: Arc<JobSpec>,
    pub(crate) splits: Arc<SplitTable>,
    /// When it was submitted, epoch ms.
    pub(crate) submit_ms: i64,
    /// Its place among submissions; 0: it ended before a restart.
    pub(crate) order: u64,
    /// Start of the wait before its tasks may count as lagging, epoch ms: its submission, or the last restart.
    pub(super) straggler_watch_ms: i64,
    /// When it ended, epoch ms; 0 = not.
    pub(crate) finish_ms: i64,
    pub(crate) priority: Priority,
    pub(crate) pool: Option<Arc<str>>,
    pub(crate) changed_deadline: Option<Arc<ChangedDeadline>>,
    /// What is believed of its costs beside what it states.
    pub(crate) estimate: JobEstimate,
    /// The last fact about it: the job must not be shown before that is durable.
    pub(crate) last_fact: FactNumber,
    /// Trackers that were given any of its attempts: each gets KILL_JOB when the job is over.
    pub(crate) trackers: BTreeSet<TrackerId>,
    /// The lowest number that a new attempt may get.
    pub(super) first_attempt: i32,
    /// Attempts that trackers run and that this JobTracker has not launched: its setup waits until they are gone.
    pub(super) unknown_attempts: u32,
    /// Whether nothing of it starts for now: it is held, or its queue paused.
    pub(super) is_paused: bool,
    pub(super) state: JobState,
    /// Whether it has left [`JobState::Accepted`] other than by its end: before that it has no tasks to show.
    has_begun: bool,
    /// Whether it has been [`JobState::Running`].
    has_run: bool,
    pub(super) ending: Option<Ending>,
    /// Whether it is shown as unfinished though it is over.
    is_end_withheld: bool,
    pub(super) failure_info: String,
    pub(super) work: PerKind<Vec<Task>>,
    pub(super) setup: PerKind<Task>,
    pub(super) cleanup: PerKind<Task>,
    /// Tasks without a running attempt, once the setup has succeeded.
    pub(super) waiting: PerKind<PendingTasks>,
    /// Whether its waiting reduces are requested: enough maps are done.
    pub(super) reduces_requested: bool,
    /// Preferred hosts of each map; equal lists are shared.
    pub(super) preferred_hosts: Vec<Arc<[HostId]>>,
    pub(super) no_hosts: Arc<[HostId]>,
    /// Racks of all hosts that hold input, and the groups of racks above them. Never iterated.
    pub(super) racks: Racks,
    /// Attempts whose task-cleanup waits for a slot.
    pub(super) task_cleanups: PerKind<VecDeque<(TaskKey, i32)>>,
    pub(super) fetch_failures: FetchFailures,
    pub(super) flaky_hosts: FlakyHosts,
    pub(super) output: OutputEstimate,
    pub(super) task_costs: TaskCosts,
    pub(super) events: Vec<CompletionEntry>,
    pub(super) counts: JobCounts,
    /// Over finished tasks.
    pub(super) counter_sums: PerKind<CounterSum>,
    /// Over running tasks, as last reported.
    pub(super) running_counters: PerKind<CounterSum>,
    pub(super) progress_sum: PerKind<f64>,
    /// Attempts of its maps and reduces that hold slots.
    pub(super) slot_holders: PerKind<BTreeSet<RunningPlace>>,
    /// Unfinished tasks with a running attempt that holds a slot.
    pub(super) running_tasks: PerKind<u32>,
    pub(super) stragglers: PerKind<Stragglers>,
    pub(super) finished: PerKind<u32>,
    pub(super) failed: PerKind<u32>,
    /// What remains of its tasks after they were retired.
    pub(super) finished_summary: Option<Box<FinishedSummary>>,
}

/// Most hosts that splits of jobs may add to the topology.
const MAX_HOSTS_NAMED: usize = 200_000;

impl Job {
    /// A job just accepted, `app` at the scheduler. It waits for [`Self::begin`].
    pub(crate) fn new(accepted: &AcceptedJob, app: &AppSpec) -> Self {
        Self { slots_per_task: app.slots_per_task, ..Self::accepted(accepted, app.id) }
    }

    pub(super) fn accepted(accepted: &AcceptedJob, app: AppId) -> Self {
        let (spec, splits) = (accepted.spec.clone(), accepted.splits.clone());
        Self {
            bytes: accepted.bytes(),
            first_attempt: accepted.first_attempt,
            estimate: accepted.estimate,
            order: accepted.order,
            changed_deadline: accepted.tested_deadline().map(Arc::new),
            ..Self::without_tasks(accepted.id, app, spec, splits, accepted.submit_ms)
        }
    }

    /// Begins the job (1.2.1 `JobInProgress.initTasks`): its tasks exist from now on, its setup waits, and it requests
    /// slots once that has succeeded. No effect on one that has begun or is over.
    pub(crate) fn begin(&mut self, topology: &mut Topology, housekeeping: &mut HousekeepingQueue) {
        if self.make_tasks() {
            self.locate_splits(topology);
            self.refresh_housekeeping(housekeeping);
        }
    }

    /// Enters PREP with all its tasks; false when that is not possible.
    pub(super) fn make_tasks(&mut self) -> bool {
        let may = self.enter_state(JobState::Prep);
        if may {
            self.work = PerKind::new(tasks(self.spec.maps), tasks(self.spec.reduces));
        }
        may
    }

    /// Finds hosts and racks of its input, and holds them until it is over: clients can invent any number of names.
    fn locate_splits(&mut self, topology: &mut Topology) {
        let splits = &self.splits;
        // Hosts beyond the limit of the table stay unknown until a tracker registers there.
        let mut id_of = |host: &SplitHost| match topology.len() < MAX_HOSTS_NAMED {
            true => Some(topology.intern_host(&host.host, &host.rack)),
            false => topology.host(&host.host),
        };
        let hosts: Vec<Option<HostId>> = splits.hosts().iter().map(&mut id_of).collect();
        self.racks = hosts.iter().flatten().map(|host| (*host, topology.shared_near(*host))).collect();
        hosts.iter().flatten().for_each(|host| topology.hold(*host));
        let mut shared: FxHashMap<Arc<[HostId]>, Arc<[HostId]>> = FxHashMap::default();
        let preferred_hosts = splits.splits().iter().map(|split| {
            let place: Arc<[HostId]> =
                splits.locations(split).iter().filter_map(|index| *hosts.get(*index as usize)?).collect();
            shared.entry(place.clone()).or_insert(place).clone()
        });
        self.preferred_hosts = preferred_hosts.collect();
    }

    /// A job that has not begun, not yet known to the scheduler.
    pub(super) fn without_tasks(
        id: JobId,
        app: AppId,
        spec: Arc<JobSpec>,
        splits: Arc<SplitTable>,
        submit_ms: i64,
    ) -> Self {
        Self {
            id,
            app,
            slots_per_task: AppSpec::ONE_SLOT,
            bytes: 0,
            diagnostics_bytes: 0,
            preferred_hosts: Vec::new(),
            no_hosts: Arc::new([]),
            racks: FxHashMap::default(),
            submit_ms,
            order: 0,
            straggler_watch_ms: submit_ms,
            finish_ms: 0,
            last_fact: FactNumber::default(),
            trackers: BTreeSet::new(),
            priority: spec.priority,
            pool: None,
            changed_deadline: None,
            estimate: JobEstimate::default(),
            first_attempt: 0,
            unknown_attempts: 0,
            is_paused: false,
            state: JobState::Accepted,
            has_begun: false,
            has_run: false,
            ending: None,
            is_end_withheld: false,
            failure_info: String::new(),
            work: PerKind::default(),
            setup: PerKind::default(),
            cleanup: PerKind::default(),
            waiting: PerKind::default(),
            reduces_requested: false,
            task_cleanups: PerKind::default(),
            fetch_failures: FetchFailures::default(),
            output: OutputEstimate::new(&splits, slowstart_maps(&spec)),
            task_costs: TaskCosts::default(),
            flaky_hosts: FlakyHosts::new(spec.max_tracker_failures),
            events: Vec::new(),
            counts: JobCounts::default(),
            counter_sums: PerKind::default(),
            running_counters: PerKind::default(),
            progress_sum: PerKind::default(),
            slot_holders: PerKind::default(),
            running_tasks: PerKind::default(),
            stragglers: PerKind::default(),
            finished: PerKind::default(),
            failed: PerKind::default(),
            finished_summary: None,
            spec,
            splits,
        }
    }

    /// Whether it has begun. A job killed before has no tasks, events and counters to show (1.2.1 `isJobInited`).
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    pub(crate) fn state(&self) -> JobState {
        self.state
    }

    /// Its state as clients and pages may know it: while its end is withheld, the one that it had before.
    pub(crate) fn reported_state(&self) -> RunState {
        match self.state.run_state() {
            _ if !self.is_end_withheld => self.state.run_state(),
            _ if self.has_run => RunState::Running,
            _ => RunState::Prep,
        }
    }

    pub(crate) fn is_end_reported(&self) -> bool {
        self.is_over() && !self.is_end_withheld
    }

    pub(crate) fn withhold_end(&mut self, is_withheld: bool) {
        self.is_end_withheld = is_withheld;
    }

    /// The decided end, while its cleanup is still to run.
    #[cfg(test)]
    pub(crate) fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, JobState::Over(_))
    }

    pub(crate) fn is_over_or_ending(&self) -> bool {
        self.is_over() || self.ending.is_some()
    }

    pub(crate) fn total(&self) -> PerKind<u32> {
        PerKind::new(self.spec.maps, self.spec.reduces)
    }

    pub(crate) fn finished(&self) -> PerKind<u32> {
        self.finished
    }

    /// Attempts of its maps and reduces that hold slots.
    pub(crate) fn running(&self) -> PerKind<u32> {
        let of = |kind: Kind| u32::try_from(self.slot_holders[kind].len()).unwrap_or(u32::MAX);
        PerKind::new(of(Kind::Map), of(Kind::Reduce))
    }

    /// Slots that its maps and reduces take if launched from now on. Attempts that run keep theirs.
    pub(crate) fn set_slots_per_task(&mut self, slots: PerKind<NonZeroU32>, scheduler: &mut Scheduler) {
        self.slots_per_task = slots;
        scheduler.set_slots_per_task(self.app, slots);
    }

    pub(crate) fn slots_per_task(&self, kind: Kind) -> u32 {
        self.slots_per_task[kind].get()
    }

    /// The attempts that [`Self::running`] counts, in order of launch.
    pub(crate) fn running_attempts(&self, kind: Kind) -> impl Iterator<Item = &Attempt> {
        self.running_after(kind, None).map(|(_, _, attempt)| attempt)
    }

    /// The same after the one at a place, with their places.
    pub(crate) fn running_after(
        &self,
        kind: Kind,
        after: Option<RunningPlace>,
    ) -> impl Iterator<Item = (RunningPlace, TaskKey, &Attempt)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.slot_holders[kind].range((from, Bound::Unbounded)).filter_map(move |place| {
            let key = TaskKey::Work(kind, place.1);
            Some((*place, key, self.attempt(key, place.2)?))
        })
    }

    /// Maps and reduces that are neither done nor given up nor running: what the market calls pending. A second attempt
    /// makes no difference.
    pub(crate) fn pending(&self) -> PerKind<u32> {
        let of = |kind: Kind| self.undone(kind).saturating_sub(self.running_tasks[kind]);
        if self.is_over_or_ending() { PerKind::default() } else { PerKind::new(of(Kind::Map), of(Kind::Reduce)) }
    }

    pub(super) fn undone(&self, kind: Kind) -> u32 {
        self.total()[kind].saturating_sub(self.finished[kind] + self.failed[kind])
    }

    /// [`Self::pending`] as 1.2.1 counts it, which includes the tasks of a job that is killed, until that is over.
    pub(crate) fn hadoop_pending(&self) -> PerKind<u32> {
        if self.is_over() || self.ending.is_none() {
            return self.pending();
        }
        let running = self.running();
        let of = |kind: Kind| self.undone(kind).saturating_sub(running[kind]);
        PerKind::new(of(Kind::Map), of(Kind::Reduce))
    }

    /// The key of a task id; none when the job has no such task.
    pub(crate) fn key_of(&self, id: TaskId) -> Option<TaskKey> {
        let count = self.total()[id.kind];
        let number = u32::try_from(id.number).ok()?;
        match number.checked_sub(count) {
            None => Some(TaskKey::Work(id.kind, number)),
            Some(0) => Some(TaskKey::Cleanup(id.kind)),
            Some(1) => Some(TaskKey::Setup(id.kind)),
            Some(_) => None,
        }
    }

    /// The id of a task: the cleanup is numbered one after the last task, the setup two after.
    pub(crate) fn task_id(&self, key: TaskKey) -> TaskId {
        let (kind, number) = match key {
            TaskKey::Work(kind, number) => (kind, number),
            TaskKey::Cleanup(kind) => (kind, self.total()[kind]),
            TaskKey::Setup(kind) => (kind, self.total()[kind].saturating_add(1)),
        };
        self.id.task(kind, i32::try_from(number).unwrap_or(i32::MAX))
    }

    /// A task. A key with an index beyond the job's tasks gives its setup; [`Self::key_of`] makes no such key.
    pub(crate) fn task(&self, key: TaskKey) -> &Task {
        match key {
            TaskKey::Work(kind, number) => self.work[kind].get(number as usize).unwrap_or(&self.setup[kind]),
            TaskKey::Setup(kind) => &self.setup[kind],
            TaskKey::Cleanup(kind) => &self.cleanup[kind],
        }
    }

    pub(super) fn task_mut(&mut self, key: TaskKey) -> &mut Task {
        match key {
            TaskKey::Work(kind, number) => match self.work[kind].get_mut(number as usize) {
                Some(task) => task,
                None => &mut self.setup[kind],
            },
            TaskKey::Setup(kind) => &mut self.setup[kind],
            TaskKey::Cleanup(kind) => &mut self.cleanup[kind],
        }
    }

    pub(super) fn preferred_hosts_of(&self, key: TaskKey) -> Arc<[HostId]> {
        match key {
            TaskKey::Work(Kind::Map, number) => {
                self.preferred_hosts.get(number as usize).unwrap_or(&self.no_hosts).clone()
            }
            _ => self.no_hosts.clone(),
        }
    }

    pub(super) fn requeue(&mut self, kind: Kind, number: u32, failures: u32) {
        self.waiting[kind].requeue(number, failures);
    }

    /// Updates the sums over tasks after a change to a task.
    pub(super) fn refresh_task(&mut self, key: TaskKey, violations: &mut Violations) {
        let task = self.task_mut(key);
        let change = task.recompute_progress();
        let is_running = task.has_running_attempt();
        let was_running = std::mem::replace(&mut task.is_counted_running, is_running);
        if let TaskKey::Work(kind, _) = key {
            let sum = self.progress_sum[kind] + change;
            self.progress_sum[kind] = sum.clamp(0.0, f64::from(self.total()[kind]));
            lower(&mut self.running_tasks[kind], was_running, violations);
            raise(&mut self.running_tasks[kind], is_running, violations);
            self.refresh_straggler(key);
            self.refresh_counters(key);
        }
    }

    /// Changes the state; false, and nothing has changed, where [`JobState::can_become`] forbids it. The only place that changes the state.
    pub(super) fn enter_state(&mut self, next: JobState) -> bool {
        let may = self.state.can_become(next);
        if may {
            self.state = next;
            self.has_begun |= next == JobState::Prep;
            self.has_run |= next == JobState::Running;
        }
        may
    }

    pub(super) fn max_attempts(&self, kind: Kind) -> u32 {
        let limit = match kind {
            Kind::Map => self.spec.map_max_attempts,
            Kind::Reduce => self.spec.reduce_max_attempts,
        };
        limit.max(1)
    }

    /// Whether an attempt of `task` may run on a host: never where the task failed, unless it failed on every host with
    /// slots of its kind (1.2.1 counts all hosts, and may wait forever).
    pub(super) fn can_run_task_on(task: &Task, kind: Kind, host: HostId, hosts: EligibleHosts<'_>) -> bool {
        task.failed_hosts.is_empty()
            || !task.failed_hosts.contains(&host)
            || task.failed_hosts.iter().filter(|host| hosts.offers(**host, kind)).count() >= hosts.offering(kind).max(1)
    }

    pub(crate) fn deadline(&self) -> Option<&DeadlineSpec> {
        match &self.changed_deadline {
            Some(changed) => changed.spec.as_ref(),
            None => self.spec.deadline.as_ref(),
        }
    }

    /// Of a job that ended after its deadline: how late, as schedulers report on jobs that run.
    pub(crate) fn report_late_end(&self) -> Option<String> {
        let us = |ms: i64| ms.saturating_mul(1_000);
        let due_us = self.deadline().filter(|_| self.is_over())?.due_us(self.submit_ms);
        let late_us = us(self.finish_ms).saturating_sub(due_us);
        let seconds = |us: i64| Seconds { us };
        (late_us > 0).then(|| {
            let after = seconds(due_us.saturating_sub(us(self.submit_ms)));
            format!("Deadline {after} s (left {} s, LATE). Ended after its deadline.", seconds(-late_us))
        })
    }

    pub(super) fn add_task_cost(&mut self, key: TaskKey, position: usize) {
        let TaskKey::Work(kind, number) = key else { return };
        let Some(attempt) = self.task(key).attempts.get(position) else { return };
        let mut costs = self.task_costs;
        match kind {
            Kind::Map => {
                let Some(split) = self.splits.splits().get(number as usize) else { return };
                let input = u64::try_from(split.length_bytes).unwrap_or(0);
                costs.add_map(attempt, input, self.splits.volume().largest_bytes);
            }
            Kind::Reduce => costs.add_reduce(attempt, self.spec.reduces),
        }
        self.task_costs = costs;
    }

    /// When the newest of its running attempts of a kind was launched, ms of the monotonic clock.
    pub(crate) fn newest_launch_mono_ms(&self, kind: Kind) -> Option<u64> {
        self.slot_holders[kind].last().map(|(launch_mono_ms, ..)| *launch_mono_ms)
    }

    pub(crate) fn known_costs(&self) -> KnownCosts {
        self.task_costs.known()
    }

    /// The time of its slowest map that is done, microseconds; none: none is.
    pub(crate) fn slowest_map_us(&self) -> Option<u64> {
        self.task_costs.slowest_map_us()
    }

    /// What its first maps cost, once enough of them are done: a tenth, but no fewer than three.
    pub(crate) fn first_maps_us_per_mb(&self) -> Option<u64> {
        let enough = self.spec.maps.div_ceil(PART_OF_FIRST_MAPS).max(FIRST_MAPS);
        self.task_costs.map_us_per_mb().filter(|_| self.finished.map >= enough)
    }
}

/// Maps that must be done before reduces are requested.
pub(super) fn slowstart_maps(spec: &JobSpec) -> u32 {
    let needed = u64::from(spec.slowstart_millionths) * u64::from(spec.maps);
    // More than all maps would mean never.
    u32::try_from(needed.div_ceil(1_000_000)).unwrap_or(u32::MAX).min(spec.maps)
}

fn tasks(count: u32) -> Vec<Task> {
    (0..count).map(|_| Task::new()).collect()
}

/// Fewest maps that show what a map of the job costs, but for a part of all of them.
const FIRST_MAPS: u32 = 3;
/// A job's first maps are one in so many.
const PART_OF_FIRST_MAPS: u32 = 10;

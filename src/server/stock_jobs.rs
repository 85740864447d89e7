//! What the stock pages show of a job: from memory by one event of the owner each, or from the database for a job whose tasks
//! memory no longer has.

use std::sync::Arc;

use crate::engine::{Caller, Engine, Refusal};
use crate::mapreduce::{Attempt, Job, StoredAttempt, StoredJob, Task, TaskKey, TasksByState};
use crate::model::{AttemptId, AttemptState, DEFAULT_RACK, FactNumber, JobId, Kind, PerKind, TaskId, TrackerId};
use crate::scheduler::AppId;
use crate::store::FinishedJobReader;
use crate::web::{
    FailureFilter, GRAPH_GROUPS, StockAcls, StockAttempt, StockAttempts, StockCounter, StockCounterGroup,
    StockFailures, StockGraph, StockJob, StockPlace, StockTally, StockTask, StockTasks, TASKS_PER_PAGE, TaskFilter,
    TaskList,
};
use crate::wire::{Counter, CounterGroup, Counters, TipStatus};

use super::history::host_of_tracker;

/// Most tasks that one step visits.
const LOOKS: u32 = 16_384;

pub(super) enum JobSource<'a> {
    Live {
        engine: &'a Engine,
        job: &'a Job,
    },
    /// In the database: its end, its tasks, and the trackers of its attempts.
    Stored {
        head: Box<Job>,
        tasks: Box<Job>,
        places: Vec<(AttemptId, StockPlace)>,
        are_acls_on: bool,
    },
}

pub(super) enum Found<T> {
    Live(T),
    /// Its tasks are in the database, or memory does not know it.
    NotInMemory {
        is_known: bool,
        are_acls_on: bool,
    },
}

impl<'a> JobSource<'a> {
    /// A job of before a restart; none if the database does not have it. Blocks on the disk.
    pub(super) fn stored(reader: &FinishedJobReader, id: JobId, are_acls_on: bool) -> Option<JobSource<'a>> {
        let read = || Ok::<_, crate::store::StoreError>((reader.finished(id)?, reader.job(id)?));
        let (head, stored) = match read() {
            Ok((Some(head), Some(stored))) => (head, stored),
            Ok(_) => return None,
            Err(error) => {
                tracing::warn!("cannot read {id} for a page: {error}");
                return None;
            }
        };
        let places = places_of(&stored);
        // No scheduler knows it.
        let head = Box::new(Job::from_finished(head, AppId::new(0)));
        Some(JobSource::Stored { head, tasks: Box::new(Job::from_stored(stored)), places, are_acls_on })
    }

    fn head(&self) -> &Job {
        match self {
            JobSource::Live { job, .. } => job,
            JobSource::Stored { head, .. } => head,
        }
    }

    fn tasks(&self) -> &Job {
        match self {
            JobSource::Live { job, .. } => job,
            JobSource::Stored { tasks, .. } => tasks,
        }
    }

    /// Most tasks to visit at once.
    fn looks(&self) -> u32 {
        match self {
            JobSource::Live { .. } => LOOKS,
            JobSource::Stored { .. } => u32::MAX,
        }
    }

    fn work_tally(&self, kind: Kind) -> StockTally {
        match self {
            JobSource::Live { job, .. } => tally(job.work_tally(kind)),
            JobSource::Stored { head, tasks, .. } => {
                let total = head.total()[kind];
                let finished = tasks.finished()[kind].min(total);
                StockTally { total, finished, killed: total - finished, ..StockTally::default() }
            }
        }
    }

    fn counters(&self) -> Vec<StockCounterGroup> {
        let totals = match self {
            JobSource::Live { engine, job } => engine.counters_of(job).unwrap_or_default(),
            JobSource::Stored { head, .. } => head.counters(&Default::default()).unwrap_or_default(),
        };
        let of_kind =
            PerKind::new(self.tasks().counters_of_kind(Kind::Map), self.tasks().counters_of_kind(Kind::Reduce));
        let sum = |kind: Kind, group: &CounterGroup, counter: &Counter| {
            let group = of_kind[kind].groups.iter().find(|known| known.name == group.name);
            let found = group.and_then(|group| group.counters.iter().find(|known| known.name == counter.name));
            found.map_or(0, |counter| counter.value)
        };
        counter_groups(&totals, |group, counter| {
            PerKind::new(sum(Kind::Map, group, counter), sum(Kind::Reduce, group, counter))
        })
    }

    fn flaky(&self) -> Vec<(String, u32)> {
        match self {
            JobSource::Live { engine, job } => {
                let hosts = job.flaky_host_failures();
                hosts.map(|(host, failures)| (engine.host_name(host).to_owned(), failures)).collect()
            }
            JobSource::Stored { .. } => Vec::new(),
        }
    }

    fn place(&self, attempt: AttemptId, tracker: TrackerId) -> StockPlace {
        match self {
            JobSource::Live { engine, .. } => {
                let Some((info, node)) = engine.tracker_place(tracker) else { return StockPlace::default() };
                let (host, http_port) = host_and_port(&info.http);
                StockPlace { name: info.name.to_string(), host, http_port, node }
            }
            JobSource::Stored { places, .. } => {
                let found = places.binary_search_by_key(&attempt, |(id, _)| *id).ok();
                found.and_then(|index| places.get(index)).map(|(_, place)| place.clone()).unwrap_or_default()
            }
        }
    }

    fn attempt(&self, task: TaskId, attempt: &Attempt) -> StockAttempt {
        let id = task.attempt(attempt.number);
        StockAttempt {
            id,
            state: attempt.state,
            progress: if attempt.state == AttemptState::Succeeded { 1.0 } else { attempt.progress },
            start_ms: if attempt.start_ms == 0 { attempt.launch_ms } else { attempt.start_ms },
            shuffle_ms: attempt.shuffle_finish_ms,
            sort_ms: attempt.sort_finish_ms,
            finish_ms: attempt.finish_ms,
            diagnostics: attempt.diagnostics.texts().map(str::to_owned).collect(),
            tracker: self.place(id, attempt.tracker),
            cleanup_tracker: attempt.cleanup_tracker.map(|tracker| self.place(id, tracker)),
            counters: attempt.counters.as_ref().map_or(0, |counters| counters.values().len()),
        }
    }

    pub(super) fn job(&self) -> StockJob {
        let head = self.head();
        let (are_acls_on, scheduling_info) = match self {
            JobSource::Live { engine, job } => (engine.are_acls_enabled(), Some(engine.scheduling_info(job))),
            JobSource::Stored { are_acls_on, .. } => (*are_acls_on, None),
        };
        let status = head.status(are_acls_on);
        let list = |list: &Option<String>| list.clone().unwrap_or_default();
        let bad_ends = |kind: Kind| {
            let ends = self.tasks().bad_ends(kind);
            (ends.failed, ends.killed)
        };
        StockJob {
            id: head.id,
            name: head.spec.name.clone(),
            user: head.spec.user.clone(),
            queue: head.spec.queue.clone(),
            priority: head.priority,
            state: status.run_state,
            job_file: head.spec.job_file.clone(),
            submit_host: head.spec.submit_host.clone(),
            submit_address: head.spec.submit_address.clone(),
            acls: are_acls_on
                .then(|| StockAcls { view: list(&head.spec.view_acl), modify: list(&head.spec.modify_acl) }),
            submit_ms: head.submit_ms,
            finish_ms: head.is_end_reported().then_some(head.finish_ms),
            failure_info: status.failure_info.0,
            scheduling_info: scheduling_info.filter(|info| info != "NA"),
            progress: PerKind::new(status.map_progress, status.reduce_progress),
            work: PerKind::new(self.work_tally(Kind::Map), self.work_tally(Kind::Reduce)),
            setup: tally(self.tasks().setup_tally()),
            cleanup: tally(self.tasks().cleanup_tally()),
            bad_ends: PerKind::new(bad_ends(Kind::Map), bad_ends(Kind::Reduce)),
            flaky: self.flaky(),
            counters: self.counters(),
            graphs: PerKind::new(self.graph(Kind::Map), self.graph(Kind::Reduce)),
        }
    }

    /// The progress of the tasks of a kind: of a job in memory with more than it may visit, the mean alone.
    fn graph(&self, kind: Kind) -> StockGraph {
        let (tasks, total) = (self.tasks(), self.head().total()[kind]);
        if !tasks.has_begun() || total == 0 {
            return StockGraph::default();
        }
        let per_group = total.div_ceil(GRAPH_GROUPS);
        if total > self.looks() {
            let status = self.head().status(false);
            let mean = PerKind::new(status.map_progress, status.reduce_progress)[kind];
            return StockGraph { tasks: total, per_group: total, groups: vec![phases(kind, mean)] };
        }
        let mean = |first: u32| {
            let numbers = first..first.saturating_add(per_group).min(total);
            let count = numbers.len().max(1) as f32;
            let mut sum = [0.0; 3];
            for number in numbers {
                let of_task = phases(kind, tasks.task(TaskKey::Work(kind, number)).progress);
                sum.iter_mut().zip(of_task).for_each(|(sum, part)| *sum += part / count);
            }
            sum
        };
        let groups = (0..total).step_by(per_group as usize).map(mean).collect();
        StockGraph { tasks: total, per_group, groups }
    }

    pub(super) fn total(&self) -> PerKind<u32> {
        self.head().total()
    }

    pub(super) fn ended_attempts(&self, key: TaskKey) -> Vec<StockAttempt> {
        let job = self.tasks();
        if !job.has_begun() {
            return Vec::new();
        }
        let has_ended = |attempt: &&Attempt| {
            matches!(attempt.state, AttemptState::Succeeded | AttemptState::Failed | AttemptState::Killed)
        };
        let ended = job.task(key).attempts.iter().filter(has_ended);
        ended.map(|attempt| self.attempt(job.task_id(key), attempt)).collect()
    }

    /// A part of a page of tasks. `skipped`: tasks of the list before the page that were passed over; `from`: where the walk
    /// continues, none at its end.
    pub(super) fn tasks_part(&self, walk: TaskWalk) -> (StockTasks, Option<TaskWalk>) {
        let job = self.tasks();
        let mut keys: Vec<TaskKey> = match walk.list {
            TaskList::Setup => Kind::ALL.map(TaskKey::Setup).to_vec(),
            TaskList::Cleanup => Kind::ALL.map(TaskKey::Cleanup).to_vec(),
            TaskList::Work(kind) => {
                let total = self.head().total()[kind];
                // Pages of all tasks are found without a walk.
                let (first, count) = match walk.filter {
                    TaskFilter::All => (walk.start, TASKS_PER_PAGE),
                    _ => (walk.from, self.looks()),
                };
                let until = first.saturating_add(count).min(total);
                (first.min(until)..until).map(|number| TaskKey::Work(kind, number)).collect()
            }
        };
        let total = match walk.list {
            TaskList::Work(kind) => self.head().total()[kind],
            TaskList::Setup | TaskList::Cleanup => 2,
        };
        if !job.has_begun() {
            return (StockTasks::default(), None);
        }
        let is_direct = walk.filter == TaskFilter::All && matches!(walk.list, TaskList::Work(_));
        // 1.2.1 lists what has succeeded first; of a job with more than a page of tasks that would need a walk over all.
        if total <= TASKS_PER_PAGE && walk.filter == TaskFilter::All {
            keys.sort_by_key(|key| !is_in(job, *key, TaskFilter::Completed));
        }
        let mut walk = walk;
        let mut page = StockTasks::default();
        for key in &keys {
            if !is_direct && walk.filter != TaskFilter::All && !is_in(job, *key, walk.filter) {
                continue;
            }
            let is_on_page = is_direct || (walk.start..walk.start.saturating_add(TASKS_PER_PAGE)).contains(&walk.seen);
            walk.seen += 1;
            if is_on_page {
                page.tasks.push(stock_task(job, *key));
            }
        }
        page.total = if is_direct { total } else { walk.seen };
        let read = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        walk.from = walk.from.saturating_add(read);
        let has_more = !is_direct && matches!(walk.list, TaskList::Work(_)) && walk.from < total;
        (page, has_more.then_some(walk))
    }

    /// The attempts of a task; none if the job has no such task.
    pub(super) fn attempts(&self, id: TaskId) -> Option<StockAttempts> {
        let job = self.tasks();
        let key = job.key_of(id).filter(|_| job.has_begun())?;
        let split_nodes = match key {
            TaskKey::Work(Kind::Map, number) => split_nodes(job, number),
            _ => Vec::new(),
        };
        Some(StockAttempts {
            is_housekeeping: !matches!(key, TaskKey::Work(..)),
            attempts: job.task(key).attempts.iter().map(|attempt| self.attempt(id, attempt)).collect(),
            split_nodes,
        })
    }

    /// The counters of a task, or of one of its attempts; none if there is no such one.
    pub(super) fn task_counters(&self, task: TaskId, attempt: Option<i32>) -> Option<Vec<StockCounterGroup>> {
        let job = self.tasks();
        let key = job.key_of(task).filter(|_| job.has_begun())?;
        let counters = match attempt {
            None => {
                let best = job.task(key).best_attempt().and_then(|attempt| attempt.counters.as_ref());
                best.map(|counters| counters.to_counters()).unwrap_or_default()
            }
            Some(number) => {
                let attempt = job.attempt(key, number)?;
                attempt.counters.as_ref().map(|counters| counters.to_counters()).unwrap_or_default()
            }
        };
        Some(counter_groups(&counters, |_, _| PerKind::default()))
    }

    /// A part of the failures of a job, from a task on, and where the next part begins.
    pub(super) fn failures(&self, filter: FailureFilter, from: u32, room: usize) -> (StockFailures, Option<u32>) {
        let job = self.tasks();
        let mut found = StockFailures::default();
        let total = self.head().total();
        let (maps, all) = (total.map, total.map.saturating_add(total.reduce));
        let until = from.saturating_add(self.looks()).min(all);
        for position in from..if job.has_begun() { until } else { from } {
            let key = match position.checked_sub(maps) {
                None => TaskKey::Work(Kind::Map, position),
                Some(number) => TaskKey::Work(Kind::Reduce, number),
            };
            if !filter.kinds[key.kind()] {
                continue;
            }
            for attempt in job.task(key).attempts.iter().filter(|attempt| filter.lists(attempt.state)) {
                if found.attempts.len() >= room {
                    found.is_cut = true;
                    return (found, None);
                }
                found.attempts.push(self.attempt(job.task_id(key), attempt));
            }
        }
        (found, (job.has_begun() && until < all).then_some(until))
    }
}

/// Where a walk over the tasks of a list stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskWalk {
    pub(super) list: TaskList,
    pub(super) filter: TaskFilter,
    /// The first task of the page, of those that the filter lists.
    pub(super) start: u32,
    /// The next task.
    pub(super) from: u32,
    /// Tasks that the filter has listed.
    pub(super) seen: u32,
}

/// What a job in memory gives, and the fact that must be durable before it is shown.
pub(super) fn read_live<T>(
    engine: &Engine,
    id: JobId,
    viewer: Option<&Caller>,
    read: impl FnOnce(&JobSource<'_>) -> T,
) -> Result<(Found<T>, FactNumber), Refusal> {
    if let Some(viewer) = viewer {
        engine.check_view_details(id, viewer)?;
    }
    let (is_known, are_acls_on) = (engine.has_job(id), engine.are_acls_enabled());
    match engine.job(id).filter(|job| !job.is_without_tasks()) {
        Some(job) => Ok((Found::Live(read(&JobSource::Live { engine, job })), job.last_fact)),
        None => Ok((Found::NotInMemory { is_known, are_acls_on }, FactNumber::default())),
    }
}

/// The progress of a task in its phases: a reduce copies, sorts and reduces, a third each.
fn phases(kind: Kind, progress: f32) -> [f32; 3] {
    match kind {
        Kind::Map => [progress, 0.0, 0.0],
        Kind::Reduce => [0.0, 1.0, 2.0].map(|before| (progress * 3.0 - before).clamp(0.0, 1.0)),
    }
}

fn is_in(job: &Job, key: TaskKey, filter: TaskFilter) -> bool {
    let status = job.tip_status(key);
    match filter {
        TaskFilter::All => true,
        TaskFilter::Running => matches!(status, TipStatus::Running(_)),
        TaskFilter::Completed => matches!(status, TipStatus::Complete(_)),
        TaskFilter::Killed => matches!(status, TipStatus::Killed | TipStatus::Failed),
        TaskFilter::Pending => status == TipStatus::Pending,
        TaskFilter::Nothing => false,
    }
}

fn stock_task(job: &Job, key: TaskKey) -> StockTask {
    let task: &Task = job.task(key);
    let best = task.best_attempt();
    let texts = task.attempts.iter().flat_map(|attempt| attempt.diagnostics.texts());
    StockTask {
        id: job.task_id(key),
        progress: task.progress,
        status: best.map(|attempt| attempt.state_text.clone()).unwrap_or_default(),
        start_ms: task.first_launch_ms,
        finish_ms: job.task_end_ms(key),
        diagnostics: texts.map(str::to_owned).collect(),
        counters: best.and_then(|attempt| attempt.counters.as_ref()).map_or(0, |counters| counters.values().len()),
    }
}

/// By rack, as 1.2.1 `TaskInProgress.getSplitNodes`.
fn split_nodes(job: &Job, number: u32) -> Vec<String> {
    let splits = &job.splits;
    let Some(split) = splits.splits().get(number as usize) else { return Vec::new() };
    let hosts = splits.locations(split).iter().filter_map(|index| splits.hosts().get(*index as usize));
    let mut nodes: Vec<(&str, &str)> = hosts.map(|host| (host.rack.as_str(), host.host.as_str())).collect();
    nodes.sort_by_key(|(rack, _)| *rack);
    nodes.into_iter().map(|(rack, host)| format!("{rack}/{host}")).collect()
}

fn counter_groups(
    counters: &Counters,
    of_kind: impl Fn(&CounterGroup, &Counter) -> PerKind<i64>,
) -> Vec<StockCounterGroup> {
    let groups = counters.groups.iter().map(|group| StockCounterGroup {
        name: group.display_name.0.clone(),
        counters: group
            .counters
            .iter()
            .map(|counter| StockCounter {
                name: counter.display_name.as_ref().unwrap_or(&counter.name).0.clone(),
                of_kind: of_kind(group, counter),
                total: counter.value,
            })
            .collect(),
    });
    groups.collect()
}

fn tally(tally: TasksByState) -> StockTally {
    let TasksByState { total, pending, running, finished, killed } = tally;
    StockTally { total, pending, running, finished, killed }
}

/// The trackers of the attempts of a stored job, by attempt.
fn places_of(stored: &StoredJob) -> Vec<(AttemptId, StockPlace)> {
    let place = |attempt: &StoredAttempt| {
        let event = stored.events.iter().rev().find(|event| event.attempt == attempt.id);
        let (host, http_port) = event.map(|event| host_and_port(&event.http)).unwrap_or_default();
        let node = format!("{DEFAULT_RACK}/{}", host_of_tracker(&attempt.tracker));
        (attempt.id, StockPlace { name: attempt.tracker.to_string(), host, http_port, node })
    };
    let mut places: Vec<_> = stored.attempts.iter().map(place).collect();
    places.sort_by_key(|(id, _)| *id);
    places
}

/// The parts of `http://HOST:PORT`.
fn host_and_port(http: &str) -> (Option<String>, u16) {
    let address = http.strip_prefix("http://").unwrap_or(http);
    match address.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => (Some(host.to_owned()), port.parse().unwrap_or(0)),
        _ => (None, 0),
    }
}

pub(super) fn with_groups(viewer: Option<Caller>, groups: Arc<[String]>) -> Option<Caller> {
    viewer.map(|viewer| Caller { groups, ..viewer })
}

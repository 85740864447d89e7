//! What the stock pages show of a job: from the views, with what the owner says beside facts, or from the database for a job that
//! is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::{LiveJob, ReportedAttempt};
use crate::mapreduce::{
    Attempt, AttemptRole, CounterSum, CounterTotal, CounterValues, FinishedJob, Job, StoredAttempt, StoredJob,
};
use crate::model::{AttemptId, AttemptState, DEFAULT_RACK, Kind, PerKind, RunState, TaskId};
use crate::scheduler::AppId;
use crate::views::{AttemptView, JobView, ListedState, WatchedJob};
use crate::web::{
    FailureFilter, GRAPH_GROUPS, MOST_FAILURES, PastAttempt, PastKind, StockAcls, StockAttempt, StockAttempts,
    StockCounter, StockCounterGroup, StockFailures, StockGraph, StockJob, StockPlace, StockTally, StockTask,
    StockTasks, TASKS_PER_PAGE, TaskFilter, TaskList,
};
use crate::wire::{Counter, CounterGroup, Counters};

use super::history::host_of_tracker;

/// Most tasks of a job that is not over of which the pictures show each one.
const MOST_PICTURED: u32 = 16_384;

/// A job with what pages show of it beside facts.
pub(super) struct StockSource {
    job: Arc<JobView>,
    /// Its state and when it ended, epoch ms, as they may be shown.
    shown_end: (RunState, Option<i64>),
    are_acls_on: bool,
    beside: Beside,
}

enum Beside {
    Watched(WatchedJob),
    /// It is over: its attempts, the trackers of these, the hosts that it avoided, and its counters, all and of its maps and reduces.
    Stored {
        attempts: Vec<StoredAttempt>,
        places: Vec<(AttemptId, StockPlace)>,
        flaky: Vec<(String, u32)>,
        counters: Counters,
        of_kind: PerKind<Counters>,
    },
}

impl StockSource {
    pub(super) fn watched(watched: WatchedJob, are_acls_on: bool) -> Self {
        let (job, shown_end) = (watched.job.clone(), watched.shown_end);
        Self { job, shown_end, are_acls_on, beside: Beside::Watched(watched) }
    }

    /// A job that is over; `shown_end`: as long as its end is not reported.
    pub(super) fn stored(
        head: FinishedJob,
        mut stored: StoredJob,
        shown_end: Option<(RunState, Option<i64>)>,
        are_acls_on: bool,
    ) -> Self {
        // Attempts that were live when the job ended were purged with it.
        for attempt in &mut stored.attempts {
            attempt.state = match attempt.state {
                AttemptState::FailedUnclean => AttemptState::Failed,
                AttemptState::KilledUnclean => AttemptState::Killed,
                state if state.is_over() => state,
                _ => AttemptState::Killed,
            };
        }
        let job = JobView::ended(&head, &stored);
        let sum = |kind| sum_of(stored.attempts.iter().filter(|attempt| attempt.id.task.kind == kind));
        let of_kind = PerKind::new(sum(Kind::Map), sum(Kind::Reduce));
        // No scheduler knows it.
        let counters = Job::from_finished(head, AppId::new(0)).counters(&Default::default()).unwrap_or_default();
        let (places, flaky) = (places_of(&stored), flaky_hosts(&stored));
        Self {
            shown_end: shown_end.unwrap_or((job.state(), job.finish_ms())),
            job: Arc::new(job),
            are_acls_on,
            beside: Beside::Stored { attempts: stored.attempts, places, flaky, counters, of_kind },
        }
    }

    fn is_stored(&self) -> bool {
        matches!(self.beside, Beside::Stored { .. })
    }

    /// Whether it has tasks to show.
    fn has_begun(&self) -> bool {
        match &self.beside {
            Beside::Watched(WatchedJob { state, .. }) => {
                self.job.has_begun() || state.as_ref().is_some_and(|state| state.has_begun)
            }
            Beside::Stored { .. } => true,
        }
    }

    fn id_of(&self, kind: Kind, task: u32) -> TaskId {
        self.job.id().task(kind, i32::try_from(task).unwrap_or(i32::MAX))
    }

    /// An attempt as its tracker reported it last; none: not yet, or its job is over.
    fn reported(&self, id: AttemptId) -> Option<&ReportedAttempt> {
        let Beside::Watched(WatchedJob { state: Some(state), .. }) = &self.beside else { return None };
        let found = state.attempts.binary_search_by_key(&id, |attempt| attempt.id).ok()?;
        state.attempts.get(found)
    }

    /// An attempt that runs, as its tracker reported it last.
    fn running(&self, kind: Kind, attempt: &AttemptView) -> Option<&ReportedAttempt> {
        self.reported(self.id_of(kind, attempt.task()).attempt(attempt.number())).filter(|_| attempt.is_live())
    }

    fn counters(&self) -> Vec<StockCounterGroup> {
        let (counters, of_kind) = match &self.beside {
            Beside::Watched(WatchedJob { state: Some(state), .. }) => (&state.counters, &state.counters_of_kind),
            Beside::Watched(_) => return Vec::new(),
            Beside::Stored { counters, of_kind, .. } => (counters, of_kind),
        };
        let sum = |kind: Kind, group: &CounterGroup, counter: &Counter| {
            let group = of_kind[kind].groups.iter().find(|known| known.name == group.name);
            let found = group.and_then(|group| group.counters.iter().find(|known| known.name == counter.name));
            found.map_or(0, |counter| counter.value)
        };
        counter_groups(counters, |group, counter| {
            PerKind::new(sum(Kind::Map, group, counter), sum(Kind::Reduce, group, counter))
        })
    }

    fn place(&self, attempt: AttemptId, tracker: &str) -> StockPlace {
        match &self.beside {
            Beside::Watched(watched) => {
                let name = tracker.to_owned();
                let Some(tracker) = watched.tracker(tracker) else {
                    return StockPlace::new(name, None, 0, String::new());
                };
                let host = Some(tracker.host.clone()).filter(|host| !host.is_empty());
                let http_port = u16::try_from(tracker.http_port).unwrap_or(0);
                StockPlace::new(name, host, http_port, format!("{}/{}", tracker.rack, tracker.host))
            }
            Beside::Stored { places, .. } => {
                let found = places.binary_search_by_key(&attempt, |(id, _)| *id).ok();
                found.and_then(|index| places.get(index)).map(|(_, place)| place.clone()).unwrap_or_default()
            }
        }
    }

    fn attempt(&self, kind: Kind, attempt: &AttemptView) -> StockAttempt {
        let id = self.id_of(kind, attempt.task()).attempt(attempt.number());
        let (reported, running) = (self.reported(id), self.running(kind, attempt));
        let texts = attempt.texts();
        let later = |known_ms: i64, reported_ms: fn(&ReportedAttempt) -> i64| match known_ms {
            0 => running.map_or(0, reported_ms),
            _ => known_ms,
        };
        let start_ms = later(attempt.start_ms(), |reported| reported.start_ms);
        StockAttempt {
            id,
            state: running.map(|reported| reported.state).filter(|state| !state.is_over()).unwrap_or(attempt.state()),
            progress: match attempt.state() {
                AttemptState::Succeeded => 1.0,
                _ => reported.map_or(0.0, |reported| reported.progress),
            },
            start_ms: if start_ms == 0 { attempt.launch_ms() } else { start_ms },
            shuffle_ms: later(texts.shuffle_finish_ms, |reported| reported.shuffle_finish_ms),
            sort_ms: later(texts.sort_finish_ms, |reported| reported.sort_finish_ms),
            finish_ms: attempt.finish_ms().unwrap_or(0),
            diagnostics: match reported {
                Some(reported) => reported.diagnostics.clone(),
                None => one_text(texts.diagnostics),
            },
            tracker: self.place(id, attempt.tracker()),
            cleanup_tracker: attempt.cleanup_tracker().map(|tracker| self.place(id, tracker)),
            counters: match running {
                Some(reported) => reported.counters.as_ref().map_or(0, |counters| counters.values().len()),
                None => attempt.counters() as usize,
            },
        }
    }

    pub(super) fn job(&self) -> StockJob {
        let (job, spec) = (&*self.job, self.job.spec());
        let (live, flaky) = match &self.beside {
            Beside::Watched(watched) => (watched.live.clone(), watched.state.as_ref().map(|state| &state.flaky_hosts)),
            Beside::Stored { flaky, .. } => (LiveJob::without_run(job.state()), Some(flaky)),
        };
        let (state, finish_ms) = self.shown_end;
        let list = |list: &Option<String>| list.clone().unwrap_or_default();
        StockJob {
            id: job.id(),
            name: spec.name.clone(),
            user: spec.user.clone(),
            queue: spec.queue.clone(),
            priority: job.priority(),
            state,
            job_file: spec.job_file.clone(),
            submit_host: spec.submit_host.clone(),
            submit_address: spec.submit_address.clone(),
            acls: self.are_acls_on.then(|| StockAcls { view: list(&spec.view_acl), modify: list(&spec.modify_acl) }),
            submit_ms: job.submit_ms(),
            finish_ms,
            failure_info: if job.failure_info().is_empty() { "NA" } else { job.failure_info() }.to_owned(),
            scheduling_info: live.scheduling_info,
            progress: live.progress,
            work: PerKind::new(self.work_tally(Kind::Map), self.work_tally(Kind::Reduce)),
            setup: self.tally_past_work(1),
            cleanup: self.tally_past_work(0),
            flaky: flaky.cloned().unwrap_or_default(),
            counters: self.counters(),
            graphs: PerKind::new(self.graph(Kind::Map), self.graph(Kind::Reduce)),
        }
    }

    /// Its maps or reduces by state (1.2.1 `jobdetails.jsp`); none of a job that has not begun.
    fn work_tally(&self, kind: Kind) -> StockTally {
        if !self.has_begun() {
            return StockTally::default();
        }
        let (total, counts) = (self.job.total()[kind], self.job.counts()[kind]);
        let finished = counts.finished.min(total);
        // The tasks of a job that ends are given up, but for those that still run.
        let (running, killed) = match (self.is_stored(), self.job.ending()) {
            (true, _) => (0, total - finished),
            (false, Some(_)) => {
                let running = counts.running.min(total - finished);
                (running, total - finished - running)
            }
            (false, None) => (counts.running, counts.failed),
        };
        StockTally {
            total,
            pending: total.saturating_sub(finished + running + killed),
            running,
            finished,
            killed,
            failed_attempts: counts.failed_attempts,
            killed_attempts: counts.killed_attempts,
        }
    }

    /// Both variants of its cleanup, or one past these, of its setup.
    fn tally_past_work(&self, past: u32) -> StockTally {
        let mut tally = StockTally::default();
        for kind in Kind::ALL.into_iter().filter(|_| self.has_begun()) {
            tally.total += 1;
            match self.job.listed_state(kind, self.job.total()[kind].saturating_add(past)) {
                ListedState::Complete => tally.finished += 1,
                ListedState::Running => tally.running += 1,
                ListedState::Killed => tally.killed += 1,
                ListedState::Pending => tally.pending += 1,
            }
        }
        tally
    }

    /// The progress of the tasks of a kind: of a job that is not over, with very many, the mean alone.
    fn graph(&self, kind: Kind) -> StockGraph {
        let total = self.job.total()[kind];
        if !self.has_begun() || total == 0 {
            return StockGraph::default();
        }
        let per_group = total.div_ceil(GRAPH_GROUPS);
        if let Beside::Watched(watched) = &self.beside
            && total > MOST_PICTURED
        {
            return StockGraph {
                tasks: total,
                per_group: total,
                groups: vec![phases(kind, watched.live.progress[kind])],
            };
        }
        let mean = |first: u32| {
            let numbers = first..first.saturating_add(per_group).min(total);
            let count = numbers.len().max(1) as f32;
            let mut sum = [0.0; 3];
            for number in numbers {
                let of_task = phases(kind, self.task_progress(kind, number));
                sum.iter_mut().zip(of_task).for_each(|(sum, part)| *sum += part / count);
            }
            sum
        };
        let groups = (0..total).step_by(per_group as usize).map(mean).collect();
        StockGraph { tasks: total, per_group, groups }
    }

    fn task_progress(&self, kind: Kind, task: u32) -> f32 {
        if self.job.listed_state(kind, task) == ListedState::Complete {
            return 1.0;
        }
        let mut running = self.job.tasks(kind).of(task).iter().filter_map(|attempt| self.running(kind, attempt));
        running.next().map_or(0.0, |reported| reported.task_progress)
    }

    /// The attempts that have ended of a task, by number.
    fn ended_attempts(&self, kind: Kind, task: u32) -> impl Iterator<Item = StockAttempt> {
        let ended = self.job.tasks(kind).of(task).iter().filter(|attempt| attempt.state().is_over());
        ended.map(move |attempt| self.attempt(kind, attempt))
    }

    /// All attempts that have ended: of setups, maps, reduces and cleanups.
    pub(super) fn past_attempts(&self) -> Vec<PastAttempt> {
        let total = self.job.total();
        let variants = |past: u32| Kind::ALL.map(|kind| (kind, total[kind].saturating_add(past)));
        let of_kind = |kind: Kind| (0..total[kind]).map(move |task| (kind, task));
        let tasks = (variants(1).into_iter().map(|task| (PastKind::Setup, task)))
            .chain(of_kind(Kind::Map).map(|task| (PastKind::Map, task)))
            .chain(of_kind(Kind::Reduce).map(|task| (PastKind::Reduce, task)))
            .chain(variants(0).map(|task| (PastKind::Cleanup, task)));
        tasks
            .flat_map(|(past, (kind, task))| {
                self.ended_attempts(kind, task).map(move |attempt| PastAttempt { kind: past, attempt })
            })
            .collect()
    }

    /// A page of the tasks of a list, from the `start` of those that the filter lists.
    pub(super) fn tasks(&self, list: TaskList, filter: TaskFilter, start: u32) -> StockTasks {
        if !self.has_begun() {
            return StockTasks::default();
        }
        let total = self.job.total();
        let wanted = match filter {
            TaskFilter::All => None,
            TaskFilter::Listed(state) => Some(state),
            TaskFilter::Nothing => return StockTasks::default(),
        };
        let is_complete = |(kind, task): &(Kind, u32)| self.job.listed_state(*kind, *task) == ListedState::Complete;
        let (found, total) = match (list, wanted) {
            (TaskList::Work(kind), Some(wanted)) => {
                let (found, listed) = self.job.tasks_listed(kind, wanted, start, TASKS_PER_PAGE);
                (found.into_iter().map(|task| (kind, task)).collect(), listed)
            }
            (TaskList::Work(kind), None) => {
                let until = start.saturating_add(TASKS_PER_PAGE).min(total[kind]);
                let mut found: Vec<_> = (start.min(until)..until).map(|task| (kind, task)).collect();
                // 1.2.1 lists what has succeeded first; of a job with more than a page of tasks that would need a walk over all.
                if total[kind] <= TASKS_PER_PAGE {
                    found.sort_by_key(|task| !is_complete(task));
                }
                (found, total[kind])
            }
            (TaskList::Setup | TaskList::Cleanup, wanted) => {
                let past = u32::from(list == TaskList::Setup);
                let mut found = Kind::ALL.map(|kind| (kind, total[kind].saturating_add(past))).to_vec();
                match wanted {
                    Some(wanted) => found.retain(|(kind, task)| self.job.listed_state(*kind, *task) == wanted),
                    None => found.sort_by_key(|task| !is_complete(task)),
                }
                let listed = found.len() as u32;
                (found.into_iter().skip(start as usize).collect(), listed)
            }
        };
        StockTasks { tasks: found.into_iter().map(|(kind, task)| self.task(kind, task)).collect(), total }
    }

    fn task(&self, kind: Kind, task: u32) -> StockTask {
        let attempts = self.job.tasks(kind).of(task);
        let best = self.best_attempt(kind, task);
        let running = best.and_then(|attempt| self.running(kind, attempt));
        StockTask {
            id: self.id_of(kind, task),
            progress: self.task_progress(kind, task),
            status: match running {
                Some(reported) => reported.status.clone(),
                None => best.map(|attempt| attempt.texts().status.into_string()).unwrap_or_default(),
            },
            start_ms: attempts.first().map_or(0, AttemptView::launch_ms),
            finish_ms: self.job.task_end_ms(kind, task),
            diagnostics: attempts.iter().flat_map(|attempt| one_text(attempt.texts().diagnostics)).collect(),
            counters: match running {
                Some(reported) => reported.counters.as_ref().map_or(0, |counters| counters.values().len()),
                None => best.map_or(0, |attempt| attempt.counters() as usize),
            },
        }
    }

    /// The attempt whose counters and text represent a task: the successful one, else the one at work with the most progress, and
    /// of equals the last (1.2.1 `TaskInProgress.recomputeProgress`).
    fn best_attempt(&self, kind: Kind, task: u32) -> Option<&AttemptView> {
        let attempts = self.job.tasks(kind).of(task);
        if let Some(done) = attempts.iter().find(|attempt| attempt.state() == AttemptState::Succeeded) {
            return Some(done);
        }
        let at_work = attempts.iter().filter_map(|attempt| Some((attempt, self.running(kind, attempt)?)));
        let at_work = at_work
            .filter(|(_, reported)| matches!(reported.state, AttemptState::Running | AttemptState::CommitPending));
        let best = at_work.max_by(|(_, left), (_, right)| left.progress.total_cmp(&right.progress));
        best.filter(|_| !self.job.gives_up(kind, task)).map(|(attempt, _)| attempt)
    }

    /// The index of a task among those of its kind; none if the job has no such task.
    fn index_of(&self, id: TaskId) -> Option<u32> {
        let task = u32::try_from(id.number).ok()?;
        let has = task <= self.job.total()[id.kind].saturating_add(1) && self.has_begun();
        has.then_some(task)
    }

    /// The attempts of a task; none if the job has no such task.
    pub(super) fn attempts(&self, id: TaskId) -> Option<StockAttempts> {
        let task = self.index_of(id)?;
        let is_housekeeping = task >= self.job.total()[id.kind];
        // By rack, as 1.2.1 `TaskInProgress.getSplitNodes`.
        let mut hosts = if id.kind == Kind::Map { self.job.split_hosts(task) } else { Vec::new() };
        hosts.sort_by_key(|(rack, _)| *rack);
        let attempts = self.job.tasks(id.kind).of(task).iter();
        Some(StockAttempts {
            is_housekeeping,
            attempts: attempts.map(|attempt| self.attempt(id.kind, attempt)).collect(),
            split_nodes: hosts.into_iter().map(|(rack, host)| format!("{rack}/{host}")).collect(),
        })
    }

    /// The counters of a task, or of one of its attempts; none if there is no such one.
    pub(super) fn task_counters(&self, id: TaskId, attempt: Option<i32>) -> Option<Vec<StockCounterGroup>> {
        let task = self.index_of(id)?;
        let attempt = match attempt {
            None => self.best_attempt(id.kind, task),
            Some(number) => Some(self.job.tasks(id.kind).of(task).iter().find(|attempt| attempt.number() == number)?),
        };
        let counters = attempt.and_then(|attempt| self.counters_of(id.attempt(attempt.number())));
        let counters = counters.map(CounterValues::to_counters).unwrap_or_default();
        Some(counter_groups(&counters, |_, _| PerKind::default()))
    }

    fn counters_of(&self, id: AttemptId) -> Option<&CounterValues> {
        match &self.beside {
            Beside::Watched(_) => self.reported(id)?.counters.as_ref(),
            Beside::Stored { attempts, .. } => {
                let found = attempts.binary_search_by_key(&id, |attempt| attempt.id).ok()?;
                attempts.get(found)?.counters.as_ref()
            }
        }
    }

    pub(super) fn failures(&self, filter: FailureFilter) -> StockFailures {
        let mut found = StockFailures::default();
        for kind in Kind::ALL.into_iter().filter(|kind| filter.kinds[*kind] && self.has_begun()) {
            let is_work = |attempt: &&AttemptView| attempt.task() < self.job.total()[kind];
            let attempts = self.job.tasks(kind).iter().take_while(is_work);
            for attempt in attempts.filter(|attempt| filter.lists(attempt.state())) {
                if found.attempts.len() >= MOST_FAILURES {
                    found.is_cut = true;
                    return found;
                }
                found.attempts.push(self.attempt(kind, attempt));
            }
        }
        found
    }
}

/// The sum over the maps or reduces that are done.
fn sum_of<'a>(attempts: impl Iterator<Item = &'a StoredAttempt>) -> Counters {
    let is_done =
        |attempt: &&StoredAttempt| attempt.role == AttemptRole::Work && attempt.state == AttemptState::Succeeded;
    let (mut sum, mut total) = (CounterSum::default(), CounterTotal::default());
    attempts.filter(is_done).filter_map(|attempt| attempt.counters.as_ref()).for_each(|counters| sum.add(counters));
    sum.add_to(&mut total);
    total.into_counters()
}

fn one_text(text: Box<str>) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { vec![text.into_string()] }
}

/// The progress of a task in its phases: a reduce copies, sorts and reduces, a third each.
fn phases(kind: Kind, progress: f32) -> [f32; 3] {
    match kind {
        Kind::Map => [progress, 0.0, 0.0],
        Kind::Reduce => [0.0, 1.0, 2.0].map(|before| (progress * 3.0 - before).clamp(0.0, 1.0)),
    }
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
            .map(|counter| {
                let PerKind { map: map_value, reduce: reduce_value } = of_kind(group, counter);
                let name = counter.display_name.as_ref().unwrap_or(&counter.name).0.clone();
                StockCounter { name, map_value, reduce_value, total_value: counter.value }
            })
            .collect(),
    });
    groups.collect()
}

/// The trackers of the attempts of a stored job, by attempt.
fn places_of(stored: &StoredJob) -> Vec<(AttemptId, StockPlace)> {
    // Of an attempt with several events the last one counts.
    let https: BTreeMap<AttemptId, &str> = stored.events.iter().map(|event| (event.attempt, &*event.http)).collect();
    let place = |attempt: &StoredAttempt| {
        let (host, http_port) = https.get(&attempt.id).map(|http| host_and_port(http)).unwrap_or_default();
        let node = format!("{DEFAULT_RACK}/{}", host_of_tracker(&attempt.tracker));
        (attempt.id, StockPlace::new(attempt.tracker.to_string(), host, http_port, node))
    };
    stored.attempts.iter().map(place).collect()
}

/// Hosts on which too many attempts failed, or whose trackers were lost, with how often.
fn flaky_hosts(stored: &StoredJob) -> Vec<(String, u32)> {
    let is_lost = |attempt: &&StoredAttempt| {
        !attempt.diagnostics.is_empty() && {
            let text = Attempt::lost_tracker_text(&attempt.tracker);
            attempt.diagnostics.lines().any(|line| line == text)
        }
    };
    let lost: BTreeSet<&str> = stored.attempts.iter().filter(is_lost).map(|attempt| &*attempt.tracker).collect();
    let failed = stored.attempts.iter().filter(|attempt| attempt.state == AttemptState::Failed);
    let mut failures: BTreeMap<String, u32> = BTreeMap::new();
    for tracker in lost.into_iter().chain(failed.map(|attempt| &*attempt.tracker)) {
        *failures.entry(host_of_tracker(tracker).to_owned()).or_default() += 1;
    }
    let limit = stored.accepted.spec.max_tracker_failures.max(1);
    failures.into_iter().filter(|(_, failures)| *failures >= limit).collect()
}

/// The parts of `http://HOST:PORT`.
fn host_and_port(http: &str) -> (Option<String>, u16) {
    let address = http.strip_prefix("http://").unwrap_or(http);
    match address.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => (Some(host.to_owned()), port.parse().unwrap_or(0)),
        _ => (None, 0),
    }
}

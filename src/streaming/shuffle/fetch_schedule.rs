//! Whom to ask next, and when to give up: the rules of 1.2.1 `ReduceTask.ReduceCopier` without clock, thread or socket.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::model::AttemptId;

/// First wait after a failure, ms; each further one makes it 1.3 times as long.
const FIRST_PENALTY_MS: u64 = 10_000;
/// No wait is longer, ms.
const LONGEST_PENALTY_MS: u64 = 3_600_000;
/// Failures of one output that end the attempt, at least.
const LEAST_FAILURES_TO_ABORT: u32 = 30;
/// Outputs at the limit of failures that may end the attempt.
const MOST_FAILED_OUTPUTS: usize = 5;

/// News of a map, in the order of the job's completion events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapEvent {
    /// Its output lies with the tracker at this URL.
    Succeeded {
        /// The attempt.
        attempt: AttemptId,
        /// Where, as `http://host:port`.
        tracker: String,
        /// How long it ran, ms.
        run_ms: u64,
    },
    /// The attempt's output is not to be used any more.
    Obsolete(AttemptId),
    /// The map has failed for good and the job goes on without it: it counts as done, without data.
    GivenUp(AttemptId),
}

/// One output to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchOrder {
    /// The map's attempt.
    pub attempt: AttemptId,
    /// `http://host:port`.
    pub tracker: String,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Fetch this; one of [`Schedule::fetched`] and [`Schedule::failed`] must follow.
    Fetch(FetchOrder),
    /// Nothing before this time, ms, unless an event or the end of a fetch comes.
    WaitUntil(u64),
    /// Nothing until an event or the end of a fetch comes.
    Wait,
    /// All is there.
    Complete,
}

/// How a fetch failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchFault {
    /// There was no connection.
    Connect,
    /// The connection stood, but no sound output came.
    Read,
    /// What came was sound, but an answer to something else: tried again without a report.
    Answer,
}

/// What follows from a failed fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The JobTracker is to be told.
    pub reports: bool,
    /// The attempt is to end, with these words.
    pub gives_up: Option<&'static str>,
}

/// The numbers that the rules depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleRules {
    /// Maps of the job.
    pub maps: u32,
    /// Failures of one output between two reports.
    pub max_fetch_failures: u32,
    /// Whether a failed read is reported at once.
    pub notifies_read_errors: bool,
    /// Which host comes first differs from reduce to reduce.
    pub seed: u32,
}

/// The state of one reduce's copying.
#[derive(Debug)]
pub struct Schedule {
    rules: ScheduleRules,
    /// By host name, what is to be fetched there; hosts whose lists are empty stay.
    hosts: BTreeMap<String, Host>,
    /// The host asked last: the next one after it comes first.
    last_host: Option<String>,
    /// Maps that are copied, or go without data.
    done: BTreeSet<i32>,
    copied: u32,
    obsolete: BTreeSet<AttemptId>,
    failures: BTreeMap<AttemptId, u32>,
    /// Outputs at the limit of failures.
    failed_maps: BTreeSet<i32>,
    total_failures: u32,
    started_ms: u64,
    last_copy_ms: u64,
    longest_map_ms: u64,
}

#[derive(Debug, Default)]
struct Host {
    orders: VecDeque<FetchOrder>,
    is_busy: bool,
    not_before_ms: u64,
}

// === impl Schedule ===

impl Schedule {
    /// Nothing known yet.
    #[must_use]
    pub fn new(rules: ScheduleRules, now_ms: u64) -> Self {
        Self {
            rules,
            hosts: BTreeMap::new(),
            last_host: None,
            done: BTreeSet::new(),
            copied: 0,
            obsolete: BTreeSet::new(),
            failures: BTreeMap::new(),
            failed_maps: BTreeSet::new(),
            total_failures: 0,
            started_ms: now_ms,
            last_copy_ms: now_ms,
            longest_map_ms: 0,
        }
    }

    /// Takes news of a map.
    pub fn take(&mut self, event: MapEvent) {
        match event {
            MapEvent::Succeeded { attempt, tracker, run_ms } => {
                self.longest_map_ms = self.longest_map_ms.max(run_ms);
                let host = host_of(&tracker).to_owned();
                if !self.done.contains(&attempt.task.number) && !self.obsolete.contains(&attempt) {
                    let orders = &mut self.hosts.entry(host).or_default().orders;
                    if orders.iter().all(|order| order.attempt != attempt) {
                        orders.push_back(FetchOrder { attempt, tracker });
                    }
                }
            }
            MapEvent::Obsolete(attempt) => {
                self.obsolete.insert(attempt);
                self.drop_orders(|order| order.attempt == attempt);
            }
            MapEvent::GivenUp(attempt) => {
                let map = attempt.task.number;
                self.done.insert(map);
                self.drop_orders(|order| order.attempt.task.number == map);
            }
        }
    }

    fn drop_orders(&mut self, dropped: impl Fn(&FetchOrder) -> bool) {
        for host in self.hosts.values_mut() {
            host.orders.retain(|order| !dropped(order));
        }
    }

    /// Whether all maps are in.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.done.len() >= self.rules.maps as usize
    }

    /// Maps that are in.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done.len()
    }

    /// What to do now. One fetch at a time from each host.
    pub fn next(&mut self, now_ms: u64) -> Next {
        if self.is_complete() {
            return Next::Complete;
        }
        let open = |host: &Host| !host.is_busy && !host.orders.is_empty();
        let ready: Vec<&String> = self
            .hosts
            .iter()
            .filter(|(_, host)| open(host) && host.not_before_ms <= now_ms)
            .map(|(name, _)| name)
            .collect();
        let name = match &self.last_host {
            // Spread over the hosts, so that not all reduces begin with the same.
            None => ready.get(self.rules.seed as usize % ready.len().max(1)),
            Some(last) => ready.iter().find(|name| **name > last).or_else(|| ready.first()),
        };
        let Some(name) = name.map(|name| (*name).clone()) else {
            let soonest = self.hosts.values().filter(|host| open(host)).map(|host| host.not_before_ms).min();
            return soonest.map_or(Next::Wait, Next::WaitUntil);
        };
        let order = self.hosts.get_mut(&name).and_then(|host| {
            let order = host.orders.pop_front()?;
            host.is_busy = true;
            Some(order)
        });
        self.last_host = Some(name);
        order.map_or(Next::Wait, Next::Fetch)
    }

    /// An output came; `false` when it is not wanted any more.
    pub fn fetched(&mut self, order: &FetchOrder, now_ms: u64) -> bool {
        self.free(order);
        let is_new = !self.obsolete.contains(&order.attempt) && self.done.insert(order.attempt.task.number);
        if is_new {
            self.copied += 1;
            self.last_copy_ms = now_ms;
            self.failed_maps.remove(&order.attempt.task.number);
        }
        is_new
    }

    fn free(&mut self, order: &FetchOrder) {
        if let Some(host) = self.hosts.get_mut(host_of(&order.tracker)) {
            host.is_busy = false;
        }
    }

    /// No output came. It is tried again, first of all from that host, after a wait.
    pub fn failed(&mut self, order: FetchOrder, fault: FetchFault, now_ms: u64) -> Verdict {
        self.free(&order);
        let map = order.attempt.task.number;
        if self.obsolete.contains(&order.attempt) || self.done.contains(&map) {
            return Verdict::default();
        }
        self.total_failures += 1;
        let count = self.failures.entry(order.attempt).or_default();
        *count += 1;
        let count = *count;
        let host = self.hosts.entry(host_of(&order.tracker).to_owned()).or_default();
        host.not_before_ms = now_ms + penalty_ms(count);
        host.orders.push_front(order);
        let limit = self.rules.max_fetch_failures.max(1);
        if count == limit {
            self.failed_maps.insert(map);
        }
        Verdict {
            reports: (fault == FetchFault::Read && self.rules.notifies_read_errors) || count.is_multiple_of(limit),
            gives_up: self.reason_to_give_up(count, limit, now_ms),
        }
    }

    fn reason_to_give_up(&self, count: u32, limit: u32, now_ms: u64) -> Option<&'static str> {
        let ScheduleRules { maps, .. } = self.rules;
        if count >= LEAST_FAILURES_TO_ABORT.max(maps / 10) {
            return Some("Exceeded the abort failure limit");
        }
        let failed = self.failed_maps.len();
        let many_failed = failed >= MOST_FAILED_OUTPUTS.min(maps as usize)
            || failed == (maps as usize).saturating_sub(self.done.len());
        let is_unhealthy = self.total_failures >= self.copied;
        let is_far = u64::from(self.copied) * 2 >= u64::from(maps);
        let progress_ms = (self.last_copy_ms - self.started_ms).max(self.longest_map_ms);
        let is_stalled = now_ms.saturating_sub(self.last_copy_ms) * 2 >= progress_ms;
        (count == limit && many_failed && is_unhealthy && (!is_far || is_stalled))
            .then_some("Exceeded MAX_FAILED_UNIQUE_FETCHES")
    }
}

/// The host name of a tracker's URL: two trackers of one host are not asked at the same time.
#[must_use]
pub fn host_of(tracker: &str) -> &str {
    let rest = tracker.split_once("://").map_or(tracker, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

fn penalty_ms(failures: u32) -> u64 {
    let mut penalty = FIRST_PENALTY_MS;
    for _ in 0..failures {
        penalty = (penalty * 13 / 10).min(LONGEST_PENALTY_MS);
    }
    penalty
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(map: i32, number: i32) -> AttemptId {
        format!("attempt_202611211027_0016_m_{map:06}_{number}").parse().unwrap()
    }

    fn event(map: i32, host: &str) -> MapEvent {
        MapEvent::Succeeded { attempt: attempt(map, 0), tracker: format!("http://{host}:50060"), run_ms: 1000 }
    }

    fn schedule(maps: u32) -> Schedule {
        Schedule::new(ScheduleRules { maps, max_fetch_failures: 10, notifies_read_errors: true, seed: 0 }, 0)
    }

    fn order(schedule: &mut Schedule, now_ms: u64) -> FetchOrder {
        match schedule.next(now_ms) {
            Next::Fetch(order) => order,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_fetch_at_a_time_from_each_host() {
        let mut schedule = schedule(3);
        assert_eq!(schedule.next(0), Next::Wait);
        for event in [event(0, "a"), event(1, "a"), event(2, "b"), event(2, "b")] {
            schedule.take(event);
        }
        let (first, second) = (order(&mut schedule, 0), order(&mut schedule, 0));
        assert_eq!((first.attempt, second.attempt), (attempt(0, 0), attempt(2, 0)));
        assert_eq!(schedule.next(0), Next::Wait);
        assert!(schedule.fetched(&first, 1));
        let third = order(&mut schedule, 1);
        assert_eq!(third.attempt, attempt(1, 0));
        assert!(schedule.fetched(&third, 2) && !schedule.is_complete() && schedule.fetched(&second, 3));
        assert_eq!((schedule.next(3), schedule.done()), (Next::Complete, 3));
    }

    #[test]
    fn a_host_waits_longer_after_each_failure() {
        let mut schedule = schedule(1);
        schedule.take(event(0, "a"));
        let mut now_ms = 0;
        for wait_ms in [13_000, 16_900, 21_970] {
            let order = order(&mut schedule, now_ms);
            assert_eq!(schedule.failed(order, FetchFault::Connect, now_ms), Verdict::default());
            assert_eq!(schedule.next(now_ms), Next::WaitUntil(now_ms + wait_ms));
            now_ms += wait_ms;
        }
        assert_eq!(penalty_ms(1000), LONGEST_PENALTY_MS);
    }

    #[test]
    fn obsolete_outputs_are_forgotten_and_new_ones_taken() {
        let mut schedule = schedule(2);
        schedule.take(event(0, "a"));
        let under_way = order(&mut schedule, 0);
        schedule.take(MapEvent::Obsolete(attempt(0, 0)));
        assert!(!schedule.fetched(&under_way, 1));
        schedule.take(event(0, "a"));
        assert_eq!(schedule.next(1), Next::Wait);
        schedule.take(MapEvent::Succeeded { attempt: attempt(0, 1), tracker: "http://b:1".to_owned(), run_ms: 0 });
        let again = order(&mut schedule, 1);
        assert!(schedule.fetched(&again, 2));
        // What is copied is kept.
        schedule.take(MapEvent::Obsolete(attempt(0, 1)));
        schedule.take(MapEvent::GivenUp(attempt(1, 3)));
        assert_eq!(schedule.next(2), Next::Complete);
    }

    #[test]
    fn reads_that_fail_are_reported_at_once_and_connections_at_every_tenth() {
        let reports = |fault, failures: u32| {
            let mut schedule = schedule(10);
            schedule.take(event(0, "a"));
            let mut reported = Vec::new();
            for count in 1..=failures {
                let order = order(&mut schedule, u64::MAX / 2);
                schedule.hosts.values_mut().for_each(|host| host.not_before_ms = 0);
                if schedule.failed(order, fault, 0).reports {
                    reported.push(count);
                }
            }
            reported
        };
        assert_eq!(reports(FetchFault::Read, 3), [1, 2, 3]);
        assert_eq!(reports(FetchFault::Connect, 20), [10, 20]);
        assert_eq!(reports(FetchFault::Answer, 20), [10, 20]);
    }

    #[test]
    fn too_many_failures_end_the_attempt() {
        let mut schedule = schedule(100);
        schedule.take(event(0, "a"));
        let verdicts = (1..=30).map(|_| {
            let order = order(&mut schedule, u64::MAX / 2);
            schedule.failed(order, FetchFault::Connect, 0).gives_up
        });
        let verdicts: Vec<_> = verdicts.collect();
        assert!(verdicts[..29].iter().all(Option::is_none));
        assert_eq!(verdicts[29], Some("Exceeded the abort failure limit"));
        // The only map that is missing, and nothing else came for a long time.
        let mut schedule = Schedule::new(ScheduleRules { maps: 2, ..schedule.rules }, 0);
        schedule.take(event(0, "a"));
        schedule.take(event(1, "b"));
        let first = order(&mut schedule, 0);
        assert!(schedule.fetched(&first, 1000));
        let mut now_ms = 1000;
        for count in 1..=10 {
            now_ms += 1_000_000;
            let order = order(&mut schedule, now_ms);
            let gives_up = schedule.failed(order, FetchFault::Connect, now_ms).gives_up;
            assert_eq!(gives_up.is_some(), count == 10, "{count}");
        }
    }

    #[test]
    fn hosts_are_read_off_urls() {
        assert_eq!(host_of("http://a.b:50060"), "a.b");
        assert_eq!(host_of("http://a.b:50060/x"), "a.b");
        assert_eq!(host_of("a"), "a");
    }
}

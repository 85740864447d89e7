//! Which output to fetch next, and when to give up: the rules of 1.2.1 `ReduceTask.ReduceCopier` without clock, thread or socket.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::AttemptId;

use super::host_queues::{FetchOrder, HostQueues};

/// First wait after a failure, ms; each further failure multiplies it by 1.3.
const FIRST_PENALTY_MS: u64 = 10_000;
const LONGEST_PENALTY_MS: u64 = 3_600_000;
/// Failures of one output that end the attempt, at least.
const LEAST_FAILURES_TO_ABORT: u32 = 30;
/// Outputs at the limit of failures that may end the attempt.
const MOST_FAILED_OUTPUTS: usize = 5;

/// A change of a map's output, in the order of the job's completion events.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum MapEvent {
    /// The tracker at this URL serves its output.
    Succeeded {
        attempt: AttemptId,
        /// Where, as `http://host:port`.
        tracker: String,
        run_ms: u64,
    },
    /// The attempt's output must no longer be used.
    Obsolete(AttemptId),
    /// The map has failed permanently and the job continues without it: it counts as done, without data.
    GivenUp(AttemptId),
}

/// The next step of a fetching thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FetchDecision {
    /// Fetch this; one of [`FetchSchedule::on_fetched`] and [`FetchSchedule::on_fetch_failed`] must follow.
    Fetch(FetchOrder),
    /// Nothing before this time, ms, unless an event or the end of a fetch comes.
    WaitUntil(u64),
    /// Nothing until an event or the end of a fetch comes.
    Wait,
    Complete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchFault {
    Connect,
    /// The connection was made, but no valid output arrived.
    Read,
    /// A valid answer to another request: retried without a report.
    Answer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FailureResponse {
    /// Whether the JobTracker gets a report.
    pub(crate) is_reported: bool,
    /// Why the attempt must give up, if so.
    pub(crate) give_up_reason: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScheduleRules {
    pub(crate) maps: u32,
    /// Failures of one output between two reports.
    pub(crate) max_fetch_failures: u32,
    /// Whether a failed read is reported at once.
    pub(crate) notifies_read_errors: bool,
    /// Which host comes first differs from reduce to reduce.
    pub(crate) seed: u32,
}

/// What one reduce still has to fetch.
#[derive(Debug)]
pub(crate) struct FetchSchedule {
    rules: ScheduleRules,
    queues: HostQueues,
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

impl FetchSchedule {
    pub(crate) fn new(rules: ScheduleRules, now_ms: u64) -> Self {
        Self {
            rules,
            queues: HostQueues::default(),
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

    pub(crate) fn apply_event(&mut self, event: MapEvent) {
        match event {
            MapEvent::Succeeded { attempt, tracker, run_ms } => {
                self.longest_map_ms = self.longest_map_ms.max(run_ms);
                if !self.done.contains(&attempt.task.number) && !self.obsolete.contains(&attempt) {
                    self.queues.push_back(FetchOrder { attempt, tracker });
                }
            }
            MapEvent::Obsolete(attempt) => {
                self.obsolete.insert(attempt);
                self.queues.remove_attempt(attempt);
            }
            MapEvent::GivenUp(attempt) => {
                let map = attempt.task.number;
                self.done.insert(map);
                self.queues.remove_map(map);
            }
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.done.len() >= self.rules.maps as usize
    }

    /// Maps that are in.
    pub(crate) fn done(&self) -> usize {
        self.done.len()
    }

    /// Chooses the next fetch. At most one at a time from each host.
    pub(crate) fn next_fetch(&mut self, now_ms: u64) -> FetchDecision {
        if self.is_complete() {
            return FetchDecision::Complete;
        }
        match self.queues.pop(now_ms, self.rules.seed) {
            Some(order) => FetchDecision::Fetch(order),
            None => self.queues.next_ready_ms().map_or(FetchDecision::Wait, FetchDecision::WaitUntil),
        }
    }

    /// Records a fetched output; `false` when it is no longer wanted.
    pub(crate) fn on_fetched(&mut self, order: &FetchOrder, now_ms: u64) -> bool {
        self.queues.release(&order.tracker);
        let is_new = !self.obsolete.contains(&order.attempt) && self.done.insert(order.attempt.task.number);
        if is_new {
            self.copied += 1;
            self.last_copy_ms = now_ms;
            self.failed_maps.remove(&order.attempt.task.number);
        }
        is_new
    }

    /// Records a failed fetch. It is retried after a wait, before all others of its host.
    pub(crate) fn on_fetch_failed(&mut self, order: FetchOrder, fault: FetchFault, now_ms: u64) -> FailureResponse {
        self.queues.release(&order.tracker);
        let map = order.attempt.task.number;
        if self.obsolete.contains(&order.attempt) || self.done.contains(&map) {
            return FailureResponse::default();
        }
        self.total_failures += 1;
        let count = self.failures.entry(order.attempt).or_default();
        *count += 1;
        let count = *count;
        self.queues.push_front(order, now_ms + penalty_ms(count));
        let limit = self.rules.max_fetch_failures.max(1);
        if count == limit {
            self.failed_maps.insert(map);
        }
        FailureResponse {
            is_reported: (fault == FetchFault::Read && self.rules.notifies_read_errors) || count.is_multiple_of(limit),
            give_up_reason: self.reason_to_give_up(count, limit, now_ms),
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

    fn schedule(maps: u32) -> FetchSchedule {
        FetchSchedule::new(ScheduleRules { maps, max_fetch_failures: 10, notifies_read_errors: true, seed: 0 }, 0)
    }

    fn order(schedule: &mut FetchSchedule, now_ms: u64) -> FetchOrder {
        match schedule.next_fetch(now_ms) {
            FetchDecision::Fetch(order) => order,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_fetch_at_a_time_from_each_host() {
        let mut schedule = schedule(3);
        assert_eq!(schedule.next_fetch(0), FetchDecision::Wait);
        for event in [event(0, "a"), event(1, "a"), event(2, "b"), event(2, "b")] {
            schedule.apply_event(event);
        }
        let (first, second) = (order(&mut schedule, 0), order(&mut schedule, 0));
        assert_eq!((first.attempt, second.attempt), (attempt(0, 0), attempt(2, 0)));
        assert_eq!(schedule.next_fetch(0), FetchDecision::Wait);
        assert!(schedule.on_fetched(&first, 1));
        let third = order(&mut schedule, 1);
        assert_eq!(third.attempt, attempt(1, 0));
        assert!(schedule.on_fetched(&third, 2) && !schedule.is_complete() && schedule.on_fetched(&second, 3));
        assert_eq!((schedule.next_fetch(3), schedule.done()), (FetchDecision::Complete, 3));
    }

    #[test]
    fn a_host_waits_longer_after_each_failure() {
        let mut schedule = schedule(1);
        schedule.apply_event(event(0, "a"));
        let mut now_ms = 0;
        for wait_ms in [13_000, 16_900, 21_970] {
            let order = order(&mut schedule, now_ms);
            assert_eq!(schedule.on_fetch_failed(order, FetchFault::Connect, now_ms), FailureResponse::default());
            assert_eq!(schedule.next_fetch(now_ms), FetchDecision::WaitUntil(now_ms + wait_ms));
            now_ms += wait_ms;
        }
        assert_eq!(penalty_ms(1000), LONGEST_PENALTY_MS);
    }

    #[test]
    fn obsolete_outputs_are_forgotten_and_new_ones_taken() {
        let mut schedule = schedule(2);
        schedule.apply_event(event(0, "a"));
        let under_way = order(&mut schedule, 0);
        schedule.apply_event(MapEvent::Obsolete(attempt(0, 0)));
        assert!(!schedule.on_fetched(&under_way, 1));
        schedule.apply_event(event(0, "a"));
        assert_eq!(schedule.next_fetch(1), FetchDecision::Wait);
        schedule.apply_event(MapEvent::Succeeded {
            attempt: attempt(0, 1),
            tracker: "http://b:1".to_owned(),
            run_ms: 0,
        });
        let again = order(&mut schedule, 1);
        assert!(schedule.on_fetched(&again, 2));
        // What is copied is kept.
        schedule.apply_event(MapEvent::Obsolete(attempt(0, 1)));
        schedule.apply_event(MapEvent::GivenUp(attempt(1, 3)));
        assert_eq!(schedule.next_fetch(2), FetchDecision::Complete);
    }

    #[test]
    fn reads_that_fail_are_reported_at_once_and_connections_at_every_tenth() {
        let reports = |fault, failures: u32| {
            let mut schedule = schedule(10);
            schedule.apply_event(event(0, "a"));
            let mut reported = Vec::new();
            for count in 1..=failures {
                let order = order(&mut schedule, u64::MAX / 2);
                if schedule.on_fetch_failed(order, fault, 0).is_reported {
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
        schedule.apply_event(event(0, "a"));
        let responses = (1..=30).map(|_| {
            let order = order(&mut schedule, u64::MAX / 2);
            schedule.on_fetch_failed(order, FetchFault::Connect, 0).give_up_reason
        });
        let responses: Vec<_> = responses.collect();
        assert!(responses[..29].iter().all(Option::is_none));
        assert_eq!(responses[29], Some("Exceeded the abort failure limit"));
        // The only map that is missing, and nothing else came for a long time.
        let mut schedule = FetchSchedule::new(ScheduleRules { maps: 2, ..schedule.rules }, 0);
        schedule.apply_event(event(0, "a"));
        schedule.apply_event(event(1, "b"));
        let first = order(&mut schedule, 0);
        assert!(schedule.on_fetched(&first, 1000));
        let mut now_ms = 1000;
        for count in 1..=10 {
            now_ms += 1_000_000;
            let order = order(&mut schedule, now_ms);
            let give_up_reason = schedule.on_fetch_failed(order, FetchFault::Connect, now_ms).give_up_reason;
            assert_eq!(give_up_reason.is_some(), count == 10, "{count}");
        }
    }
}

//! Samples of what is no fact, one each ten seconds for a day: slots by queue, and why jobs wait; and the last ticks of the market.
//! They end with the process.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use crate::api::{PendingReason, ReportedJob};
use crate::engine::QueueSnapshot;
use crate::model::{JobId, Kind, PerKind};

use super::market_view::MarketView;
use super::reason_log::{ReasonLog, SAMPLE_MS};
use super::shared_map::SharedMap;
use super::tick_shares::{TickLog, TickShares};
use super::volatile::Volatile;

/// A delta that comes so much early is a sample too: deltas come at their own pace.
const EARLY_MS: u64 = 500;
/// A day of them.
const KEPT: usize = 8_640;
/// Queues of a sample, those that use and wait most.
const QUEUES: usize = 50;

/// What is sampled. Cloning it shares all parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    slots: Arc<VecDeque<Arc<Sample>>>,
    reasons: SharedMap<JobId, Arc<ReasonLog>>,
    ticks: TickLog,
    /// When the last sample of slots was taken, ms of the monotonic clock, and that of reasons.
    slots_mono_ms: u64,
    reasons_mono_ms: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Sample {
    /// Epoch ms.
    pub(crate) time_ms: i64,
    /// Slots of all workers in service.
    pub(crate) slots: PerKind<u32>,
    pub(crate) used: PerKind<u32>,
    pub(crate) waiting: PerKind<u64>,
    /// Slots that containers hold.
    pub(crate) containers: u64,
    /// By name.
    pub(crate) queues: Vec<QueueSample>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct QueueSample {
    pub(crate) queue: Arc<str>,
    /// Slots, those of containers too.
    pub(crate) used: u64,
    /// Tasks and containers.
    pub(crate) waiting: u64,
}

impl Samples {
    /// Takes a sample of what was said last, if one is due. `jobs`: as the policy has them, where they came with it; of jobs that
    /// are not `known` nothing is kept.
    pub(super) fn take(&mut self, said: &Volatile, jobs: bool, is_known: impl Fn(JobId) -> bool) {
        let now_ms = said.at.mono_ms;
        let is_due = |last_ms: u64| last_ms == 0 || now_ms.saturating_sub(last_ms) + EARLY_MS >= SAMPLE_MS;
        if is_due(self.slots_mono_ms) {
            self.slots_mono_ms = now_ms;
            let slots = Arc::make_mut(&mut self.slots);
            if slots.len() >= KEPT {
                slots.pop_front();
            }
            slots.push_back(Arc::new(sample(said)));
        }
        if jobs && is_due(self.reasons_mono_ms) {
            self.reasons_mono_ms = now_ms;
            self.sample_reasons(said, is_known);
        }
    }

    /// Takes the last tick of the market, if it is new.
    pub(super) fn take_tick(&mut self, market: &MarketView) {
        self.ticks.take(market);
    }

    #[cfg(test)]
    pub(crate) fn of(slots: Vec<Sample>, ticks: Vec<TickShares>) -> Self {
        let slots = Arc::new(slots.into_iter().map(Arc::new).collect());
        Self { slots, ticks: TickLog::of(ticks), ..Self::default() }
    }

    fn sample_reasons(&mut self, said: &Volatile, is_known: impl Fn(JobId) -> bool) {
        let gone: Vec<JobId> = self.reasons.iter().map(|(id, _)| *id).filter(|id| !is_known(*id)).collect();
        for id in gone {
            self.reasons.remove(&id);
        }
        for job in said.jobs.iter().filter(|job| is_known(job.job)) {
            let reason = first_reason(said, job);
            let name: Arc<str> =
                reason.as_ref().and_then(PendingReason::name).map_or_else(|| "unknown".into(), Arc::from);
            let is_market = reason.as_ref().is_some_and(PendingReason::is_of_market);
            if self.reasons.get(&job.job).is_none() {
                self.reasons.insert(job.job, Arc::default());
            }
            if let Some(log) = self.reasons.get_mut(&job.job) {
                Arc::make_mut(log).add(said.at.wall_ms, name, is_market);
            }
        }
    }

    /// The slots over time, the oldest first.
    pub(crate) fn slots(&self) -> impl DoubleEndedIterator<Item = &Sample> {
        self.slots.iter().map(|sample| &**sample)
    }

    /// What queues were sold at the last ticks, the oldest first.
    pub(crate) fn ticks(&self) -> impl DoubleEndedIterator<Item = &TickShares> {
        self.ticks.iter()
    }

    /// Why a job waited.
    pub(crate) fn reasons(&self, job: JobId) -> Option<&ReasonLog> {
        self.reasons.get(&job).map(|log| &**log)
    }
}

fn sample(said: &Volatile) -> Sample {
    let (head, mut queues) = (&said.head, said.queues.iter().map(|queue| queue_sample(queue)).collect::<Vec<_>>());
    queues.retain(|queue| queue.used > 0 || queue.waiting > 0);
    if queues.len() > QUEUES {
        queues.sort_by_key(|queue| std::cmp::Reverse(queue.used.saturating_add(queue.waiting)));
        queues.truncate(QUEUES);
    }
    queues.sort_by(|left, right| left.queue.cmp(&right.queue));
    Sample {
        time_ms: said.at.wall_ms,
        slots: head.slots,
        used: head.running,
        waiting: head.waiting,
        containers: head.containers.map_or(0, |containers| containers.held_slots),
        queues,
    }
}

fn queue_sample(queue: &QueueSnapshot) -> QueueSample {
    let QueueSnapshot { running, waiting, containers, .. } = queue;
    QueueSample {
        queue: queue.name.as_str().into(),
        used: u64::from(running.map) + u64::from(running.reduce) + u64::from(containers.held),
        waiting: waiting.map.saturating_add(waiting.reduce).saturating_add(containers.wanted),
    }
}

/// The first reason why a job has no more slots: what holds it back, else what its queue has bought, its place, or that no slot is
/// free. None: nothing is known.
fn first_reason(said: &Volatile, job: &ReportedJob) -> Option<PendingReason> {
    if let Some(first) = job.held_back_by.first() {
        return Some(first.clone());
    }
    let kind = Kind::ALL.into_iter().find(|kind| job.waiting[*kind] > 0)?;
    let bought = said.groups.iter().find(|group| group.name == job.group).and_then(|group| {
        let (bought, held) = (group.bought.as_ref()?, group.held[kind]);
        let quota = bought.quota.slots()[kind];
        Some(match bought.rate.units() {
            0 => PendingReason::NoBid,
            _ if held >= quota => PendingReason::QuotaFull { kind, quota, held },
            _ => PendingReason::BelowQuota { kind, quota, held },
        })
    });
    let groups_before = job.place[kind].map_or(0, |place| place.groups_before);
    let place = (groups_before > 0).then_some(PendingReason::EarlierGroups { kind, groups: groups_before });
    let (used, slots) = (said.head.running[kind], said.head.slots[kind]);
    bought.or(place).or_else(|| (used >= slots && slots > 0).then_some(PendingReason::NoneFree { kind }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{ChangedList, ClusterSnapshot, VolatileDelta};
    use crate::model::{Identifier, Now, Priority};

    fn said(mono_ms: u64, used: u32) -> Volatile {
        let queue = |name: &str, map| QueueSnapshot {
            name: name.to_owned(),
            running: PerKind::new(map, 0),
            ..QueueSnapshot::default()
        };
        let queues = vec![(0, queue("idle", 0)), (1, queue("alice", used))];
        let mut said = Volatile::default();
        said.apply(VolatileDelta {
            at: Now { mono_ms, wall_ms: 1_000_000 + i64::try_from(mono_ms).unwrap() },
            head: ClusterSnapshot { running: PerKind::new(used, 0), slots: PerKind::new(4, 2), ..Default::default() },
            queues: ChangedList { len: queues.len(), set: queues },
            ..VolatileDelta::default()
        });
        said
    }

    #[test]
    fn a_sample_is_taken_each_ten_seconds_for_a_day_and_idle_queues_are_left_out() {
        let mut samples = Samples::default();
        for mono_ms in [5_000, 6_000, 14_499, 14_500, 25_000] {
            samples.take(&said(mono_ms, 3), false, |_| true);
        }
        let times: Vec<i64> = samples.slots().map(|sample| sample.time_ms - 1_000_000).collect();
        assert_eq!(times, [5_000, 14_500, 25_000]);
        let expected = QueueSample { queue: "alice".into(), used: 3, waiting: 0 };
        assert_eq!(samples.slots().next().unwrap().queues, [expected]);
        for number in 3..=KEPT as u64 + 5 {
            samples.take(&said(number * 20_000, 1), false, |_| true);
        }
        assert_eq!((samples.slots().count(), samples.slots().next().unwrap().used.map), (KEPT, 1));
    }

    #[test]
    fn why_a_job_waits_is_kept_while_the_job_is_known() {
        let id = |number| JobId::new(Identifier::from_number(1), number);
        let job = |number, reasons| ReportedJob {
            job: id(number),
            name: "n".to_owned(),
            user: "alice".to_owned(),
            queue: "alice".to_owned(),
            group: "alice".to_owned(),
            priority: Priority::Normal,
            state: "RUNNING".to_owned(),
            has_begun: true,
            submit_ms: 0,
            tasks: PerKind::new(2, 0),
            finished: PerKind::default(),
            running: PerKind::default(),
            held: PerKind::default(),
            waiting: PerKind::new(2, 0),
            place: PerKind::default(),
            held_back_by: reasons,
            capacity: None,
            pool: None,
            deadline: None,
        };
        let mut samples = Samples::default();
        let mut said = said(1_000, 4);
        said.jobs = Arc::new(vec![job(1, vec![PendingReason::NoBid]), job(2, Vec::new())]);
        samples.take(&said, true, |_| true);
        let names = |number| samples.reasons(id(number)).unwrap().spans().map(|span| span.reason.to_string()).collect();
        let (first, second): (Vec<String>, Vec<String>) = (names(1), names(2));
        assert_eq!((first, second), (vec!["no_bid".to_owned()], vec!["none_free".to_owned()]));
        said.at.mono_ms += SAMPLE_MS;
        samples.take(&said, true, |job| job == id(2));
        assert!(samples.reasons(id(1)).is_none() && samples.reasons(id(2)).is_some());
    }
}

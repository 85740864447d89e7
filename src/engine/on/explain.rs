//! Builds the explanation of a job's slots from the code that assigns them: the order of waiting jobs, the market's
//! allocation, the job's check of a tracker, a round of preemption. Read-only.

use std::sync::Arc;

use crate::api::applications::UnlaunchedHold;
use crate::api::{
    Buyer, Explanation, Holders, LastRound, PendingReason, Preempted, PreemptedFor, QueueHolds, SufficientRate,
    TaskCounts,
};
use crate::engine::core::{Engine, Read};
use crate::mapreduce::{Job, JobState, NodeUse};
use crate::market::{Bidding, Interval, Quote};
use crate::model::{AttemptId, JobId, Kind, Now, PerKind, PerPool, QueueName};
use crate::scheduler::{Allocation, GroupId, QueuePosition};

use super::assignment::{is_hold_on, is_limit_on};

/// With more running attempts and containers an explanation does not compute a round of preemption: the round visits all of them, and
/// heartbeats wait meanwhile.
const RUNNING_IN_A_ROUND: u64 = 10_000;

/// A job with its position among the others.
struct Case<'a> {
    job: &'a Job,
    sees_names: bool,
    now: Now,
    /// Its positions in the order of waiting jobs.
    places: PerKind<Option<QueuePosition>>,
    /// The allocation of its queue; none unless a market rules.
    bought: Option<Allocation>,
    group: Option<GroupId>,
    /// Slots that its queue or pool holds.
    held: PerKind<u32>,
    /// What the policy holds it back by.
    held_back_by: Vec<PendingReason>,
}

impl Case<'_> {
    /// Whether its queue holds more slots of a kind than its quota.
    fn may_lose(&self) -> bool {
        let Some(Allocation { quota, rate_units }) = self.bought else { return false };
        Kind::ALL.into_iter().any(|kind| rate_units == 0 || self.held[kind] > quota[kind])
    }

    /// Whether its queue holds fewer slots of a kind than its quota.
    fn may_gain(&self) -> bool {
        let Some(Allocation { quota, rate_units }) = self.bought else { return false };
        Kind::ALL.into_iter().any(|kind| rate_units > 0 && self.held[kind] < quota[kind])
    }
}

impl Engine {
    /// Explains the slots of a job; none for an unknown job. `sees_names`: whether the answer may name other queues.
    pub(crate) fn explain(&self, id: JobId, sees_names: bool, now: Now) -> Read<Option<Explained>> {
        let value = self.jobs.get(id).map(|job| self.explain_job(job, sees_names, now));
        Read { value, wait_for: self.outbox.last_fact() }
    }

    fn explain_job(&self, job: &Job, sees_names: bool, now: Now) -> Explained {
        let place = |kind| self.cluster.scheduler.queue_position(job.app, kind);
        let group = self.cluster.scheduler.group_of(job.app).or_else(|| self.cluster.scheduler.group(&job.spec.queue));
        let bought = self.ruling_market().and(group).map(|group| self.cluster.scheduler.allocation(group));
        let case = Case {
            job,
            sees_names,
            now,
            places: per_kind(place),
            bought,
            group,
            held: group.map(|group| self.cluster.scheduler.usage(group)).unwrap_or_default(),
            held_back_by: self.held_back_by(job, &self.free_slots(now), now),
        };
        let payer = job.spec.payer().and_then(|payer| QueueName::new(payer).ok());
        let bidding = payer.and_then(|queue| self.bidding(&queue));
        let explanation = Explanation {
            job: job.id.to_string(),
            name: job.spec.name.clone(),
            user: job.spec.user.clone(),
            queue: job.spec.queue.clone(),
            state: job.reported_state().name().to_owned(),
            tasks: per_kind(|kind| TaskCounts {
                total: job.total()[kind],
                finished: job.finished()[kind],
                running: job.running()[kind],
                pending: job.pending()[kind],
            }),
            cost: self.cost_of(job).map(|cost| cost.cost),
            order: self.order_status(job),
            why: self.why(&case, bidding.as_ref()),
            slots: per_kind(|kind| self.holders(&case, kind)),
            market: self.buyer(&case),
            preemption: self.preempted(&case),
        };
        let waits =
            |kind: &Kind| if job.state() == JobState::Running { job.runnable(*kind) } else { job.pending()[*kind] };
        // What no worker can run, or is held, buys nothing at any rate.
        let is_out = explanation.why.iter().any(PendingReason::is_out_of_the_market);
        let kinds = Kind::ALL.into_iter().filter(|kind| !is_out && waits(kind) > 0).collect();
        Explained { explanation, bidding: bidding.map(|bidding| (bidding, kinds)) }
    }

    fn why(&self, case: &Case<'_>, bidding: Option<&Bidding>) -> Vec<PendingReason> {
        let job = case.job;
        if job.is_end_reported() {
            return vec![PendingReason::Over { state: job.reported_state().name().to_owned() }];
        }
        if job.is_over_or_ending() {
            return vec![PendingReason::Ending];
        }
        let mut why = Vec::new();
        if self.is_in_safe_mode() {
            why.push(PendingReason::SafeMode);
        }
        if let Some(paused) = self.why_paused(job) {
            why.push(paused);
            return why;
        }
        why.extend(self.why_workers(case.now));
        why.extend(self.why_drained());
        if let Some(reason) = self.why_no_worker_can_run(job) {
            why.push(reason);
            return why;
        }
        let beyond =
            self.trackers.iter().filter(|tracker| job.is_unsupported_on(tracker.id, &self.cluster.nodes)).count();
        if let Some(because) = job.spec.only_stock.as_ref().filter(|_| beyond > 0) {
            why.push(PendingReason::OnlyStock { trackers: narrow(beyond), because: because.clone() });
        }
        if job.state() == JobState::Accepted {
            why.push(PendingReason::WaitsToBegin);
            why.extend(case.held_back_by.iter().cloned());
            let kinds = Kind::ALL.into_iter().filter(|kind| job.total()[*kind] > 0);
            why.extend(kinds.filter_map(|kind| earlier_jobs(kind, case.places[kind])));
            return why;
        }
        if job.state() == JobState::Prep {
            let waits = self.cluster.housekeeping.setup.contains(&job.id);
            why.push(if waits { PendingReason::SetupWaits } else { PendingReason::SetupRuns });
            why.extend(self.why_unpaid(case, bidding));
            return why;
        }
        let pending = job.pending();
        if pending == PerKind::default() {
            why.push(PendingReason::NothingWaits);
            return why;
        }
        if Kind::ALL.iter().any(|kind| job.runnable(*kind) > 0) {
            why.extend(self.why_unpaid(case, bidding));
        }
        for kind in Kind::ALL.into_iter().filter(|kind| pending[*kind] > 0) {
            match job.maps_before_reduces().filter(|_| kind == Kind::Reduce) {
                Some(maps_needed) => {
                    why.push(PendingReason::ReducesWait { maps_done: job.finished().map, maps_needed })
                }
                None => self.why_no_more(case, kind, &mut why),
            }
        }
        why
    }

    /// What is wrong with the workers as a whole.
    fn why_workers(&self, now: Now) -> Option<PendingReason> {
        if self.trackers.len() == 0 {
            return Some(PendingReason::NoWorker);
        }
        let silent = self.trackers.iter().filter(|tracker| self.is_silent(tracker, now));
        let silences_ms: Vec<u64> =
            silent.map(|tracker| now.mono_ms.saturating_sub(tracker.last_seen_mono_ms)).collect();
        Some(PendingReason::SilentWorkers {
            longest_s: silences_ms.iter().max()? / 1_000,
            silent: narrow(silences_ms.len()),
            workers: narrow(self.trackers.len()),
            lost_after_s: self.config.tracker_expiry_ms / 1_000,
        })
    }

    /// How many workers get no new tasks; none if all do.
    fn why_drained(&self) -> Option<PendingReason> {
        let draining = self.trackers.iter().filter(|tracker| tracker.is_drained).count();
        let workers = narrow(self.trackers.len());
        (draining > 0).then(|| PendingReason::DrainingWorkers { draining: narrow(draining), workers })
    }

    /// Why the queue has no allocation; none if it has one.
    fn why_unpaid(&self, case: &Case<'_>, bidding: Option<&Bidding>) -> Option<PendingReason> {
        let account = self.ruling_market()?.account(case.job.spec.payer()?)?;
        let (bid, bidding) = (account.bid(), bidding?);
        if bid.units() == 0 {
            Some(PendingReason::NoBid)
        } else if !bidding.is_funded(bid) {
            Some(PendingReason::NotFunded { budget: bidding.balance(), bid })
        } else {
            (case.bought?.rate_units == 0).then_some(PendingReason::NotBoughtYet)
        }
    }

    /// Why its waiting tasks of a kind get no more slots.
    fn why_no_more(&self, case: &Case<'_>, kind: Kind, why: &mut Vec<PendingReason>) {
        if let Some(Allocation { quota, .. }) = case.bought.filter(|bought| bought.rate_units > 0) {
            let (quota, held) = (quota[kind], case.held[kind]);
            why.push(if held < quota {
                PendingReason::BelowQuota { kind, quota, held }
            } else {
                PendingReason::QuotaFull { kind, quota, held }
            });
        }
        why.extend(case.held_back_by.iter().filter(|reason| is_hold_on(reason, kind)).cloned());
        let place = case.places[kind];
        // A buyer's are in its own part of the explanation.
        if let Some(place) = place.filter(|place| place.class.is_none() && place.groups_before > 0) {
            why.push(PendingReason::EarlierGroups { kind, groups: narrow(place.groups_before) });
        }
        why.extend(earlier_jobs(kind, place));
        if case.held_back_by.iter().any(|reason| is_limit_on(reason, kind)) {
            // It could use no free slot.
            return;
        }
        let (mut useful, mut avoided, mut no_room, mut failed_there, mut out_of_service) = (0, 0, 0, 0, 0);
        for tracker in self.trackers.iter() {
            let scheduler = &self.cluster.scheduler;
            let slots = scheduler.incoming(tracker.id)[kind];
            // Containers may hold what a free slot needs.
            let room = scheduler.incoming_room(tracker.id).map(|room| room.whole_slots(scheduler.slot_size()));
            let slots = room.map_or(slots, |room| room.min(slots));
            *match case.job.node_use(kind, tracker.id, &self.cluster.nodes) {
                _ if !self.can_take_work(tracker, case.now) => &mut out_of_service,
                // Reported once for the whole job.
                NodeUse::Unsupported => continue,
                NodeUse::Useful => &mut useful,
                NodeUse::Avoided => &mut avoided,
                NodeUse::NoRoom => &mut no_room,
                NodeUse::FailedThere => &mut failed_there,
            } += slots;
        }
        let far_wait = case.held_back_by.iter().find(|reason| matches!(reason, PendingReason::Locality { .. }));
        if let Some(wait) = far_wait.filter(|_| kind == Kind::Map && useful > 0) {
            why.push(wait.clone());
        } else if useful > 0 {
            why.push(PendingReason::FreeForIt { kind, slots: useful });
        } else if avoided + no_room + failed_there + out_of_service > 0 {
            why.push(PendingReason::Unusable { kind, avoided, no_room, failed_there, out_of_service });
        } else {
            why.push(PendingReason::NoneFree { kind });
        }
        if useful == 0
            && let Some(held) = self.applications.unlaunched_of_others(None, case.now)
        {
            let UnlaunchedHold { applications, slots, until, .. } = held;
            let left_s = until.saturating_sub(case.now.wall_ms).max(0).cast_unsigned().div_ceil(1_000);
            let held = PendingReason::HeldUnlaunched { applications, slots, left_s };
            // Of both kinds the same.
            if !why.contains(&held) {
                why.push(held);
            }
        }
    }

    fn holders(&self, case: &Case<'_>, kind: Kind) -> Holders {
        let totals = self.cluster.scheduler.totals();
        let this_job = self.cluster.scheduler.app_usage(case.job.app)[kind];
        let own_queue = case.held[kind].saturating_sub(this_job);
        let mut holders = Holders {
            total: totals.slots.narrow()[kind],
            this_job,
            own_queue,
            setup_and_cleanup: totals.occupied.narrow()[kind],
            free: narrow(totals.slots[kind].saturating_sub(totals.held[kind] + totals.occupied[kind]) as usize),
            ..Holders::default()
        };
        for other in self.cluster.scheduler.group_usages().filter(|other| Some(other.id) != case.group) {
            let held = other.held[kind];
            let bought = self.cluster.scheduler.allocation(other.id);
            let quota = bought.paid()[kind];
            holders.other_queues += held;
            if bought.rate_units > 0 {
                holders.others_within_quota += held.min(quota);
                holders.others_above_quota += held.saturating_sub(quota);
            } else if self.ruling_market().is_some() {
                holders.others_unpaid += held;
            }
            if case.sees_names && held > 0 {
                holders.by_queue.push(QueueHolds { queue: other.name.to_owned(), held, quota });
            }
        }
        holders
    }

    fn buyer(&self, case: &Case<'_>) -> Option<Buyer> {
        let market = self.ruling_market()?;
        let account = market.account(case.job.spec.payer()?)?;
        let Interval { share, quota, .. } = account.interval().copied().unwrap_or_default();
        Some(Buyer {
            budget: account.balance(),
            bid: account.bid(),
            rate: share.rate(),
            price: market.price(),
            share: share.to_string(),
            quota: quota.slots(),
            held: case.held,
            class: per_kind(|kind| case.places[kind].and_then(|place| place.class)),
            queues_before: per_kind(|kind| case.places[kind].map_or(0, |place| narrow(place.groups_before))),
            moving: None,
        })
    }

    fn preempted(&self, case: &Case<'_>) -> Option<Preempted> {
        let interval_ms = self.config.policy.preemption_interval_ms()?;
        let id = case.job.id;
        let running = self.cluster.scheduler.totals().running;
        let is_in_safe_mode = self.is_in_safe_mode();
        let concerns_it = !is_in_safe_mode && (case.may_lose() || case.may_gain());
        let in_all = running.map.saturating_add(running.reduce).saturating_add(running.container);
        let round = (concerns_it && in_all <= RUNNING_IN_A_ROUND).then(|| self.choose_victims(case.now));
        let is_own = |(attempt, _): &&(AttemptId, Arc<str>)| attempt.task.job == id;
        let own = round.as_ref().map(|round| narrow(round.victims.iter().filter(is_own).count()));
        let at_risk = if is_in_safe_mode || !case.may_lose() { Some(0) } else { own };
        let for_queue = round.and_then(|round| {
            let short = *round.short.get(self.cluster.scheduler.group_name(case.group?)?)?;
            let victims = narrow(round.victims.len() + round.containers.len()) - own.unwrap_or(0);
            (victims > 0).then_some(PreemptedFor { short, victims })
        });
        let last = self.rounds.preemptions.last_of(id);
        let so_far = last.map_or(0, |last| last.so_far);
        let last = last.map(|last| LastRound {
            at_ms: last.at_ms,
            attempts: last.attempts,
            for_slots: last.short.values().sum(),
            for_queues: narrow(last.short.len()),
            by_queue: match case.sees_names {
                true => last.short.iter().map(|(queue, slots)| (queue.clone(), *slots)).collect(),
                false => Vec::new(),
            },
        });
        Some(Preempted { interval_ms, so_far, at_risk, for_queue, last })
    }
}

fn per_kind<T>(of: impl Fn(Kind) -> T) -> PerKind<T> {
    PerKind::new(of(Kind::Map), of(Kind::Reduce))
}

/// The jobs that come first in line for slots of a kind; none where none does.
fn earlier_jobs(kind: Kind, place: Option<QueuePosition>) -> Option<PendingReason> {
    let jobs = narrow(place?.apps_before);
    (jobs > 0).then_some(PendingReason::EarlierJobs { kind, jobs })
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// An explanation without [`SufficientRate`], which takes too long for the owner thread.
#[derive(Clone, Debug)]
pub struct Explained {
    pub(super) explanation: Explanation,
    /// The bids that its queue competes with, and the kinds of slots that the job waits for.
    pub(super) bidding: Option<(Bidding, Vec<Kind>)>,
}

impl Explained {
    /// The whole explanation. Takes as long as about eighty allocations: call it on another thread than the owner's.
    pub(crate) fn finish(self) -> Explanation {
        let Explained { mut explanation, bidding } = self;
        if let (Some(buyer), Some((bidding, kinds))) = (&mut explanation.market, bidding) {
            // A bid that its balance does not pay buys nothing, not even what is held.
            let held = if bidding.is_funded(buyer.bid) { buyer.held } else { PerKind::default() };
            let is_more = |quota: PerPool<u32>| kinds.iter().any(|kind| quota[*kind] > held[*kind]);
            buyer.moving = bidding.least_rate(is_more).map(SufficientRate::from);
        }
        explanation
    }
}

impl From<Explanation> for Explained {
    fn from(explanation: Explanation) -> Self {
        Explained { explanation, bidding: None }
    }
}

impl From<Quote> for SufficientRate {
    fn from(quote: Quote) -> Self {
        SufficientRate {
            rate: quote.rate,
            price: quote.price,
            share: quote.share.to_string(),
            quota: quote.quota.slots(),
        }
    }
}

//! Laws 3 and 4: a round of preemption orders the kills that short queues need, and no others.
//!
//! A choice is visible from the round to the next heartbeat of the attempt's tracker; then the kill is a fact, or the
//! preemption was cancelled since the attempt is done or waits for its commit.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{Engine, Fact};
use crate::mapreduce::{Job, JobFact, KillRequest};
use crate::model::{AttemptId, Kind, Now, PerKind, TrackerId};
use crate::scheduler::AppId;

use super::law::Law;

#[derive(Clone, Debug)]
struct AttemptCandidate {
    queue: String,
    id: AttemptId,
    job_start_ms: i64,
    app: AppId,
    launch_mono_ms: u64,
    tracker: TrackerId,
    slots: u32,
    is_chosen: bool,
}

#[derive(Clone, Copy, Debug)]
struct QueueUsage {
    quota: PerKind<u32>,
    retained: PerKind<u32>,
}

/// Checks each round, and the kills that follow.
#[derive(Clone, Debug, Default)]
pub(super) struct PreemptionChecker {
    /// The attempts that the current round could choose; none when none is due.
    candidates: Option<Vec<AttemptCandidate>>,
    /// Registered trackers before it.
    registered: usize,
    /// Whether containers run or are wanted: then attempts may leave for them, and stay where they would leave too little.
    shares_room: bool,
    /// Those that accepted tasks then, with their slots: one whose answer was delayed counts as served right after.
    at_work: BTreeMap<TrackerId, PerKind<u32>>,
    /// Chosen attempts whose tracker has not received the kill yet, with that tracker.
    marked: BTreeMap<AttemptId, TrackerId>,
}

impl PreemptionChecker {
    pub(super) fn before_round(&mut self, engine: &Engine, now: Now) -> bool {
        self.candidates = None;
        let inspection = engine.inspect();
        if engine.is_in_safe_mode() || !inspection.is_preemption_due(now) {
            return false;
        }
        let totals = inspection.scheduler().totals();
        self.shares_room = totals.running.container > 0 || totals.waiting.container > 0;
        self.registered = inspection.nodes().len();
        self.at_work = inspection.trackers_at_work(now).collect();
        let jobs = inspection.live_jobs().values().flatten().filter_map(|id| inspection.jobs().get(*id));
        let candidates = |job: &Job| {
            let of = |kind: Kind| {
                job.preemptible_attempts(kind).map(|(id, attempt)| AttemptCandidate {
                    queue: job.spec.queue.clone(),
                    id,
                    job_start_ms: job.submit_ms,
                    app: job.app,
                    launch_mono_ms: attempt.launch_mono_ms,
                    tracker: attempt.tracker,
                    slots: attempt.slots,
                    is_chosen: false,
                })
            };
            Kind::ALL.into_iter().flat_map(of).collect::<Vec<_>>()
        };
        self.candidates = Some(jobs.flat_map(candidates).collect());
        true
    }

    /// Whether the step of a round has lost nodes or attempts as well: these were there when the round looked.
    pub(super) fn has_lost(&self, facts: &[Fact], engine: &Engine) -> bool {
        engine.inspect().nodes().len() < self.registered || facts.iter().any(|fact| matches!(fact, Fact::Job(_)))
    }

    /// Checks a round. Returns whether an attempt must be preempted.
    pub(super) fn after_round(&mut self, facts: &[Fact], engine: &Engine) -> Result<bool, (Law, String)> {
        let Some(mut candidates) = self.candidates.take() else { return Ok(false) };
        let inspection = engine.inspect();
        let jobs = inspection.jobs();
        let is_marked =
            |id: &AttemptId| jobs.get(id.task.job).is_some_and(|job| job.undelivered_preemption(*id).is_some());
        // Preemptions on unhealthy trackers were cancelled. They count again for the order of queues, unseen here.
        let marked_before = self.marked.len();
        self.marked.retain(|id, _| is_marked(id));
        let is_order_known = self.marked.len() == marked_before;
        for candidate in &mut candidates {
            candidate.is_chosen = is_marked(&candidate.id);
            if candidate.is_chosen {
                self.marked.insert(candidate.id, candidate.tracker);
            }
        }
        // What was lost with a tracker in the same step was there when the round looked: attempts, and free slots.
        if self.has_lost(facts, engine) {
            return Ok(false);
        }
        let scheduler = inspection.scheduler();
        let usage = |queue: &String| {
            let group = scheduler.group(queue)?;
            let allocation = scheduler.allocation(group);
            let quota = allocation.paid().slots();
            Some((queue.clone(), QueueUsage { quota, retained: scheduler.retained(group) }))
        };
        let queue_usage: BTreeMap<String, QueueUsage> = inspection.live_jobs().keys().filter_map(usage).collect();
        let (at_work, shares_room) = (std::mem::take(&mut self.at_work), self.shares_room);
        let round = RoundCheck { engine, at_work, queue_usage, is_order_known, shares_room };
        for kind in Kind::ALL {
            let of_kind: Vec<&AttemptCandidate> = candidates.iter().filter(|one| one.id.task.kind == kind).collect();
            round.check(kind, &of_kind)?;
        }
        Ok(candidates.iter().any(|candidate| candidate.is_chosen))
    }

    /// Checks a heartbeat: each attempt chosen on the tracker got its kill or was cancelled; no other one got a kill.
    pub(super) fn after_heartbeat(
        &mut self,
        tracker: &str,
        facts: &[Fact],
        engine: &Engine,
    ) -> Result<(), (Law, String)> {
        for fact in facts {
            if let Fact::Job(JobFact::AttemptKillRequested { attempt, request: KillRequest::Preempt }) = fact
                && self.marked.remove(attempt).is_none()
            {
                return Err((Law::Preemption, format!("{attempt} is preempted, and no round chose it")));
            }
        }
        if self.marked.is_empty() {
            return Ok(());
        }
        let inspection = engine.inspect();
        let tracker_id = inspection.tracker_id_of(tracker);
        let is_waiting = |id: &AttemptId| {
            inspection
                .jobs()
                .get(id.task.job)
                .is_some_and(|job| job.undelivered_preemption(*id) == tracker_id && tracker_id.is_some())
        };
        if let Some((id, _)) = self.marked.iter().find(|(id, _)| is_waiting(id)) {
            return Err((
                Law::Guarantee,
                format!("{id} must be preempted, and its tracker has called without receiving the kill"),
            ));
        }
        self.marked.retain(|_, at| Some(*at) != tracker_id);
        Ok(())
    }
}

struct RoundCheck<'a> {
    engine: &'a Engine,
    at_work: BTreeMap<TrackerId, PerKind<u32>>,
    queue_usage: BTreeMap<String, QueueUsage>,
    is_order_known: bool,
    shares_room: bool,
}

impl RoundCheck<'_> {
    fn check(&self, kind: Kind, candidates: &[&AttemptCandidate]) -> Result<(), (Law, String)> {
        let inspection = self.engine.inspect();
        let chosen: Vec<&AttemptCandidate> = candidates.iter().copied().filter(|one| one.is_chosen).collect();
        self.check_quotas_kept(kind, &chosen)?;
        if self.shares_room {
            // What a place is worth depends on the room of its node: of equal attempts there the one launched last leaves.
            return self.check_order(kind, candidates, &chosen, |one, other| {
                (one.tracker, one.slots, &one.queue) == (other.tracker, other.slots, &other.queue)
            });
        }
        let at_work: BTreeSet<TrackerId> =
            self.at_work.iter().filter(|(_, slots)| slots[kind] > 0).map(|(tracker, _)| *tracker).collect();
        let is_constrained = self
            .queue_usage
            .keys()
            .flat_map(|queue| self.jobs_of(queue))
            .any(|job| (job.runnable(kind) > 0 || self.sets_up(job)) && job.is_constrained(kind));
        self.check_order(kind, candidates, &chosen, |one, other| {
            let (one, other) = (one.tracker, other.tracker);
            one == other || (!is_constrained && at_work.contains(&one) && at_work.contains(&other))
        })?;

        let need = |counts: &dyn Fn(&Job) -> bool| -> u32 {
            let of = |(queue, usage): (&String, &QueueUsage)| {
                let tasks: u32 = self.jobs_of(queue).filter(|job| counts(job)).map(|job| job.runnable(kind)).sum();
                tasks.min(usage.quota[kind].saturating_sub(usage.retained[kind]))
            };
            self.queue_usage.iter().map(of).sum()
        };
        let waiting = self.queue_usage.keys().flat_map(|queue| self.jobs_of(queue));
        let setups = waiting.filter(|job| self.sets_up(job)).count() as u32;
        let coming: u32 = at_work.iter().map(|tracker| inspection.scheduler().incoming(*tracker)[kind]).sum();
        let (victims, needed) = (chosen.len() as u32, need(&|_| true) + setups);
        if victims > needed {
            return Err((
                Law::Preemption,
                format!("{victims} {kind:?} attempts must leave for {needed} tasks that wait"),
            ));
        }
        if victims > 0 && !is_constrained && coming > needed {
            let text = format!("{victims} {kind:?} attempts must leave: {coming} slots come free for {needed} tasks");
            return Err((Law::Preemption, text));
        }
        let missing = need(&|job| !job.is_constrained(kind));
        let may_lose = |one: &AttemptCandidate| {
            let usage = self.queue_usage.get(&one.queue);
            usage.is_some_and(|usage| usage.retained[kind] >= usage.quota[kind].saturating_add(one.slots))
        };
        let left = candidates.iter().find(|one| {
            !one.is_chosen && at_work.contains(&one.tracker) && may_lose(one) && is_live(inspection.jobs(), one)
        });
        match left.filter(|_| missing > coming) {
            Some(left) => {
                let text = format!("{missing} {kind:?} slots are missing, {coming} come free, and {} stays", left.id);
                Err((Law::Guarantee, text))
            }
            None => Ok(()),
        }
    }

    fn check_quotas_kept(&self, kind: Kind, chosen: &[&AttemptCandidate]) -> Result<(), (Law, String)> {
        for victim in chosen {
            let usage = self.queue_usage.get(&victim.queue);
            if usage.is_none_or(|usage| usage.retained[kind] < usage.quota[kind]) {
                let text = format!("{} drops below its quota: {usage:?} without {}", victim.queue, victim.id);
                return Err((Law::Preemption, text));
            }
        }
        Ok(())
    }

    fn jobs_of(&self, queue: &str) -> impl Iterator<Item = &Job> {
        let inspection = self.engine.inspect();
        let ids = inspection.live_jobs().get(queue).into_iter().flatten();
        ids.filter_map(move |id| inspection.jobs().get(*id))
    }

    fn sets_up(&self, job: &Job) -> bool {
        self.engine.inspect().housekeeping().setup.contains(&job.id)
    }

    /// The order of victims: of the queues over quota the one with the latest job first, of its
    /// attempts the one launched last. `equal`: whether the slots of two attempts are of the same use.
    fn check_order(
        &self,
        kind: Kind,
        candidates: &[&AttemptCandidate],
        chosen: &[&AttemptCandidate],
        equal: impl Fn(&AttemptCandidate, &AttemptCandidate) -> bool,
    ) -> Result<(), (Law, String)> {
        let mut latest: BTreeMap<&str, (i64, AppId)> = BTreeMap::new();
        for one in candidates {
            let key = (one.job_start_ms, one.app);
            let latest = latest.entry(&one.queue).or_insert(key);
            *latest = key.max(*latest);
        }
        let has_excess: BTreeSet<&str> = self
            .queue_usage
            .iter()
            .filter(|(_, usage)| usage.retained[kind] > usage.quota[kind])
            .map(|(queue, _)| queue.as_str())
            .collect();
        let age = |one: &AttemptCandidate| (one.launch_mono_ms, one.job_start_ms, one.app, one.id);
        for victim in chosen.iter().filter(|_| self.is_order_known) {
            let before = |other: &&&AttemptCandidate| {
                let goes_first = match other.queue == victim.queue {
                    true => age(other) > age(victim),
                    false => {
                        has_excess.contains(other.queue.as_str())
                            && latest.get(other.queue.as_str()) > latest.get(victim.queue.as_str())
                    }
                };
                // A larger one may be more than the queue still had to lose.
                let is_no_larger = other.slots <= victim.slots;
                goes_first && is_no_larger && !other.is_chosen && equal(other, victim)
            };
            if let Some(other) = candidates.iter().find(before) {
                let text =
                    format!("{} of {} must leave, and {} of {} stays", victim.id, victim.queue, other.id, other.queue);
                return Err((Law::Preemption, text));
            }
        }
        Ok(())
    }
}

/// Whether it could still be chosen: nothing later in the same step ended it.
fn is_live(jobs: &crate::mapreduce::Jobs, one: &AttemptCandidate) -> bool {
    let Some(job) = jobs.get(one.id.task.job) else { return false };
    job.preemptible_attempts(one.id.task.kind).any(|(id, _)| id == one.id)
}

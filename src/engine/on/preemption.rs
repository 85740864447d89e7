//! Preemption: queues below what is due to them get slots back from queues that hold more (Dynamic Priority Scheduler
//! document, section Preemption).
//!
//! A round compares the policy's claims with running attempts and marks victims; each is killed at the next heartbeat
//! of its tracker.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::Claimant;
use crate::engine::core::Engine;
use crate::engine::state::{Decided, Decision, LogLevel, Preempted, Victim};
use crate::mapreduce::Job;
use crate::model::{AttemptId, AttemptState, Credits, Kind, Now, PerKind, TrackerId};
use crate::scheduler::fair::event_log::LogEvent;
use crate::scheduler::fair::starvation::{PoolClaim, PoolClaims};
use crate::scheduler::fair::victims::{FairPreemptionRound, PoolSlots, VictimCandidate};
use crate::scheduler::{AppId, GroupId, OverQuotaGroup, PreemptionRound, RunningAttempt, UnderQuotaGroup};
use crate::wire::{Phase, TaskStatus};

use super::preemption_round::{ChosenVictims, IncomingSlots, QueueInRound};
use super::registration::holds_slot;

impl Engine {
    /// Runs a round: marks as many attempts as queues with room need slots.
    pub(super) fn preempt(&mut self, now: Now) {
        self.cancel_undelivered_preemptions(now);
        let ChosenVictims { victims, containers, short, earmarks } = match self.config.policy.has_pools() {
            true => self.choose_fair_victims(now),
            false => self.choose_victims(now),
        };
        self.cluster.scheduler.set_earmarks(&earmarks);
        if victims.is_empty() && containers.is_empty() {
            return;
        }
        if let Some(market) = &mut self.market {
            market.note_preempted_for(short.keys());
        }
        let claimants = self.claimants(&short);
        self.rounds.preemptions.record_round(victims.iter().map(|(id, _)| *id), short, now.wall_ms);
        let receivers =
            if self.fair_config().is_some() { "pools below their shares" } else { "queues below their quota" };
        let text = match containers.len() {
            0 => format!("{} attempts are preempted for {receivers}", victims.len()),
            of_containers => {
                format!("{} attempts and {of_containers} containers are preempted for {receivers}", victims.len())
            }
        };
        self.outbox.log_line(LogLevel::Info, text);
        let most_ms = self.inspect().preemption_grace_ms();
        for (id, reason) in containers {
            let decision = self.decide_preemption(Victim::Container(id), &claimants, now);
            self.outbox.decide(decision);
            self.applications.preempt_container(id, &reason, most_ms, now);
        }
        self.tallies.preempted += victims.len() as u64;
        for (id, reason) in victims {
            let decision = self.decide_preemption(Victim::Attempt(id), &claimants, now);
            if let Some(job) = self.jobs.get_mut(id.task.job) {
                job.preempt(id, &reason, &mut self.cluster.scheduler);
                self.rounds.preemptions.victims.extend(decision.map(|decision| (id, decision)));
                let tracker = job.undelivered_preemption(id).and_then(|tracker| self.trackers.get(tracker));
                let tracker = tracker.map_or("", |tracker| &tracker.name);
                self.outbox.event_lines.append(&LogEvent::Preempt { attempt: id, tracker });
            }
        }
    }

    /// Cancels preemptions not yet delivered whose tracker is no longer healthy; this round picks other victims.
    fn cancel_undelivered_preemptions(&mut self, now: Now) {
        let mut victims = std::mem::take(&mut self.rounds.preemptions.victims);
        victims.retain(|id, _| {
            let tracker = self.jobs.get(id.task.job).and_then(|job| job.undelivered_preemption(*id));
            let Some(tracker) = tracker else { return false };
            let is_reachable = self.trackers.get(tracker).is_some_and(|tracker| self.can_take_work(tracker, now));
            if let Some(job) = self.jobs.get_mut(id.task.job).filter(|_| !is_reachable) {
                job.cancel_preemption(*id, &mut self.cluster.scheduler);
            }
            is_reachable
        });
        self.rounds.preemptions.victims = victims;
    }

    /// What the queues that lack slots pay.
    fn claimants(&self, short: &BTreeMap<String, u32>) -> Arc<[Claimant]> {
        let queues = short.iter().map(|(queue, missing)| {
            let rate = self.rate_in_force(queue);
            Claimant { queue: queue.clone(), missing: *missing, rate }
        });
        Preempted::most_lacking(queues.collect())
    }

    /// The decision that these slots go to others, with what both sides pay now; none: nothing holds them any more.
    fn decide_preemption(&self, victim: Victim, claimants: &Arc<[Claimant]>, now: Now) -> Option<Decision> {
        let (app, worker, slots, age_ms, lost_ms) = match victim {
            Victim::Attempt(id) => {
                let job = self.jobs.get(id.task.job)?;
                let attempt = job.attempt(job.key_of(id.task)?, id.number)?;
                let worker = self.trackers.get(attempt.tracker)?.name.clone();
                let age_ms = now.mono_ms.saturating_sub(attempt.launch_mono_ms);
                (job.app, worker, attempt.slots, age_ms, age_ms)
            }
            Victim::Container(id) => {
                let container = self.applications.container(id).filter(|container| container.is_live())?;
                let since = |from_ms: i64| u64::try_from(now.wall_ms.saturating_sub(from_ms)).unwrap_or(0);
                let slots = container.request.capability.slots(self.cluster.scheduler.slot_size());
                let lost_ms = container.started_ms.map_or(0, since);
                let worker = container.node.tracker.clone();
                (self.applications.app(id.application)?, worker, slots, since(container.granted_ms), lost_ms)
            }
        };
        let scheduler = &self.cluster.scheduler;
        let queue: Arc<str> = scheduler.group_name(scheduler.home_of(app)?)?.into();
        let (rate, claimants) = (self.rate_in_force(&queue), claimants.clone());
        let preempted = Preempted { victim, queue, worker, slots, rate, age_ms, lost_ms, claimants };
        Some(Decision { at_ms: now.wall_ms, what: Decided::Preempted(preempted) })
    }

    /// What a queue pays for a slot over the open interval; none: no market rules.
    fn rate_in_force(&self, queue: &str) -> Option<Credits> {
        let account = self.ruling_market()?.account(queue);
        Some(account.and_then(|account| account.interval()).map_or(Credits::ZERO, |interval| interval.share.rate()))
    }

    /// Chooses victims by the current state, without marking them.
    pub(super) fn choose_victims(&self, now: Now) -> ChosenVictims {
        if self.shares_room() {
            return self.choose_room_victims(now);
        }
        let mut queues = self.queues_in_a_round();
        let any = |of: fn(&QueueInRound<'_>, Kind) -> u32| {
            queues.iter().any(|queue| Kind::ALL.iter().any(|kind| of(queue, *kind) > 0))
        };
        if !any(|queue, kind| queue.room(kind)) || !any(|queue, kind| queue.excess(kind)) {
            return ChosenVictims::default();
        }
        self.keep_live_queues(&mut queues);
        let mut incoming = self.incoming_slots(now);
        self.place_setups(&mut queues, &mut incoming);
        let mut chosen = ChosenVictims::default();
        for kind in Kind::ALL {
            let IncomingSlots { trackers, slots } = std::mem::take(&mut incoming[kind]);
            let short = queues.iter().filter_map(|queue| Some((queue.name, self.short_group(queue, kind)?)));
            let (names, short): (Vec<&str>, Vec<UnderQuotaGroup>) = short.unzip();
            if short.is_empty() {
                continue;
            }
            for (name, group) in names.iter().zip(&short) {
                *chosen.short.entry((*name).to_owned()).or_default() += group.slots();
            }
            let over: Vec<_> = queues.iter().filter(|queue| queue.excess(kind) > 0).collect();
            let round = PreemptionRound {
                under_quota: short,
                incoming: slots.into_iter().collect(),
                over_quota: over.iter().enumerate().map(|(index, over)| self.over_group(over, index, kind)).collect(),
            };
            let can_use = |app: AppId, tracker: TrackerId| {
                let job = self.jobs.by_app(app).filter(|_| trackers.contains(&tracker));
                job.is_some_and(|job| job.can_use(kind, tracker, &self.cluster.nodes))
            };
            let reasons: Vec<Arc<str>> = over.iter().map(|queue| queue.reason(kind).into()).collect();
            let victims = round.select_victims(can_use).into_iter();
            chosen.victims.extend(victims.filter_map(|(index, attempt)| Some((attempt, reasons.get(index)?.clone()))));
        }
        chosen
    }

    /// Adds the unfinished jobs of each queue and drops queues without any: these are not short of slots, and release
    /// what they hold.
    fn keep_live_queues(&self, queues: &mut Vec<QueueInRound<'_>>) {
        self.add_jobs(queues);
        queues.retain(|queue| !queue.jobs.is_empty());
    }

    /// The queue as one above its quota, with all preemptible attempts; `index` identifies it in them.
    fn over_group(&self, queue: &QueueInRound<'_>, index: usize, kind: Kind) -> OverQuotaGroup<(usize, AttemptId)> {
        let attempts_of = |job: &Job| {
            let (job_start_ms, app) = (job.submit_ms, job.app);
            let attempts = job.preemptible_attempts(kind).map(move |(id, attempt)| RunningAttempt {
                job_start_ms,
                app,
                launch_mono_ms: attempt.launch_mono_ms,
                node: attempt.tracker,
                slots: attempt.slots,
                attempt: (index, id),
            });
            attempts.collect::<Vec<_>>()
        };
        let jobs = queue.jobs.iter().filter_map(|id| self.jobs.get(*id));
        OverQuotaGroup { excess: queue.excess(kind), attempts: jobs.flat_map(attempts_of).collect() }
    }

    /// Counts the slots of attempts that a stock tracker had at its last report and that were killed since, whether it
    /// reports them so or, after a KILL_JOB, no more; of so many attempts at most. Nothing is left out where the original's
    /// grants are to be given.
    ///
    /// Such a slot counts as free while its JVM still ends: a launch in the answer may find that JVM in it, a state that a stock
    /// tracker takes for impossible and exits by (1.2.1 `JvmManager.JvmManagerForType.reapJvm`: "Currently busy? … Aborting").
    pub(super) fn count_killed_slots(&mut self, id: TrackerId, reports: &[TaskStatus], most: usize) {
        let is_builtin = self.cluster.nodes.get(id).is_some_and(|info| info.streaming_only);
        let is_compatible = self.config.policy.is_compatible();
        let Some(tracker) = self.trackers.get_mut(id).filter(|_| !is_builtin) else { return };
        let mut killed = std::mem::take(&mut tracker.at_work);
        let mut at_work: BTreeMap<AttemptId, u32> = BTreeMap::new();
        for report in reports {
            let is_work = holds_slot(report) && !cleans_up(report);
            if is_work && at_work.len() < most {
                at_work.insert(report.attempt, u32::try_from(report.num_slots).unwrap_or(0));
            }
            if is_work || !matches!(report.state, AttemptState::Killed | AttemptState::KilledUnclean) {
                killed.remove(&report.attempt);
            }
        }
        let mut slots: PerKind<u32> = PerKind::default();
        for (attempt, of_attempt) in killed {
            let slots = &mut slots[attempt.task.kind];
            *slots = slots.saturating_add(of_attempt);
        }
        // Another policy may rule at its next report.
        (tracker.at_work, tracker.killed_slots) = (at_work, if is_compatible { PerKind::default() } else { slots });
    }

    /// Chooses victims under the Fair scheduler by the current state, without marking them (1.2.1 contrib
    /// `FairScheduler.preemptTasks`): the newest attempts of pools above their fair shares, for pools that have starved longer
    /// than their timeouts. None where preemption is only logged.
    pub(super) fn choose_fair_victims(&mut self, now: Now) -> ChosenVictims {
        let only_logs = self.fair_config().is_none_or(|fair| fair.only_logs_preemption);
        let mut chosen = ChosenVictims::default();
        for kind in Kind::ALL {
            let claims = self.cluster.scheduler.pool_claims(kind, now);
            if claims.wanted == 0 {
                continue;
            }
            self.log_claims(&claims, kind);
            if only_logs {
                continue;
            }
            for claim in claims.pools.iter().filter(|claim| claim.wanted.slots() > 0) {
                *chosen.short.entry(claim.name.clone()).or_default() += claim.wanted.slots();
            }
            chosen.victims.extend(self.fair_victims(&claims, kind));
        }
        chosen
    }

    fn log_claims(&mut self, claims: &PoolClaims, kind: Kind) {
        for claim in claims.pools.iter().filter(|claim| claim.wanted.slots() > 0) {
            // The text of 1.2.1.
            let text = format!(
                "Should preempt {} {} tasks for pool {}: tasksDueToMinShare = {}, tasksDueToFairShare = {}",
                claim.wanted.slots(),
                match kind {
                    Kind::Map => "MAP",
                    Kind::Reduce => "REDUCE",
                },
                claim.name,
                claim.wanted.to_min,
                claim.wanted.to_share
            );
            self.outbox.event_lines.append(&LogEvent::Info(&text));
            self.outbox.log_line(LogLevel::Info, text);
        }
        self.outbox.event_lines.append(&LogEvent::ShouldPreempt { kind, count: claims.wanted });
    }

    fn fair_victims(&self, claims: &PoolClaims, kind: Kind) -> Vec<(AttemptId, Arc<str>)> {
        let scheduler = &self.cluster.scheduler;
        let index: BTreeMap<GroupId, usize> = claims.pools.iter().map(|claim| claim.group).zip(0..).collect();
        let pool = |claim: &PoolClaim| PoolSlots {
            retained: scheduler.retained(claim.group)[kind],
            share: claim.share,
            parent: claim.parent.and_then(|parent| index.get(&parent).copied()),
        };
        let mut attempts = Vec::new();
        for job in self.jobs.live.by_queue().values().flatten().filter_map(|id| self.jobs.get(*id)) {
            let Some(&pool) = scheduler.home_of(job.app).and_then(|home| index.get(&home)) else { continue };
            for (id, attempt) in job.preemptible_attempts(kind).filter(|(_, attempt)| attempt.reported) {
                let (start_wall_ms, slots) = (attempt.start_ms, attempt.slots);
                attempts.push(VictimCandidate { pool, start_wall_ms, slots, attempt: (id, pool) });
            }
        }
        let releasing = claims.pools.iter().filter(|claim| claim.parent.is_none()).map(|claim| {
            let (used, retained) = (scheduler.usage(claim.group)[kind], scheduler.retained(claim.group)[kind]);
            used.saturating_sub(retained)
        });
        let round = FairPreemptionRound {
            wanted: claims.wanted,
            releasing: releasing.fold(0, u32::saturating_add),
            pools: claims.pools.iter().map(pool).collect(),
            attempts,
        };
        let reasons: Vec<Arc<str>> = claims.pools.iter().map(|claim| reason(claim).into()).collect();
        let victims = round.select_victims().into_iter();
        victims.filter_map(|(attempt, pool)| Some((attempt, reasons.get(pool)?.clone()))).collect()
    }
}

/// Whether it is a task-cleanup, which ends in the state of the attempt that it cleans up after.
fn cleans_up(report: &TaskStatus) -> bool {
    matches!(report.state, AttemptState::FailedUnclean | AttemptState::KilledUnclean) && report.phase == Phase::Cleanup
}

/// Diagnostics of attempts that a pool loses.
fn reason(claim: &PoolClaim) -> String {
    format!(
        "Preempted: pool {} is over its fair share of {} slots, and others are below theirs",
        claim.name,
        claim.share.to_tenths()
    )
}

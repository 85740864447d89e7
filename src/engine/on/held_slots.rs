//! What the market charges by time: the engine reports to its meter what each step has changed of the slots that jobs and
//! applications hold.

use crate::engine::core::Engine;
use crate::engine::state::{Applications, Fact, JobTable, MarketState};
use crate::market::{GivenBack, Grace, GraceStep, Holding, MarketFact, SlotHolder};
use crate::model::{Now, PerPool, Pool, QueueName};
use crate::scheduler::{AppId, UsageChange};

impl Engine {
    /// Records what this step has changed of held slots so far, all of it at this time: at the end of each step, and before
    /// a tick. Costs O(changes).
    pub(super) fn meter_held_slots(&mut self, now: Now) {
        let mut given_back = self.applications.take_given_back();
        let graces = self.applications.take_grace_steps();
        let Some(market) = &mut self.market else { return };
        given_back.retain(|given_back| market.may_be_free(given_back));
        let has_changes =
            self.cluster.scheduler.has_usage_changes() || !graces.is_empty() || !market.ended_jobs.is_empty();
        if !has_changes && !market.housekeeping.is_due(now.mono_ms) {
            return;
        }
        self.count_long_housekeeping(now);
        if has_changes {
            self.meter_changes(&given_back, &graces, now);
            self.prove_slots_of_ended_jobs(now);
        }
    }

    /// Records what jobs that have ended in this step still hold: a restart would not know it from their rows.
    fn prove_slots_of_ended_jobs(&mut self, now: Now) {
        let Some(market) = &mut self.market else { return };
        let ended = std::mem::take(&mut market.ended_jobs);
        if let Some(proof) = market.accounts.proof_of_ended(ended.into_iter(), now.mono_ms) {
            self.outbox.record(Fact::Market(proof));
        }
    }

    /// Records that what is held was held until now: a later run charges what facts prove of the open interval.
    pub(super) fn prove_held_slots(&mut self, now: Now) {
        self.meter_held_slots(now);
        if let Some(held) = self.hold(&[], &[], &[], now.mono_ms) {
            self.outbox.record(Fact::Market(held));
        }
    }

    /// Setups and cleanups that have run for long count from the time when they had.
    fn count_long_housekeeping(&mut self, now: Now) {
        while let Some(market) = &mut self.market
            && let Some((due_mono_ms, app)) = market.housekeeping.pop_due(now.mono_ms)
        {
            let held = self.hold(&[(app, PerPool::new(1, 0, 0))], &[], &[], due_mono_ms);
            // Of a time that has passed: without a change it proves nothing.
            if let Some(MarketFact::Metered(metered)) = held
                && !metered.changes.is_empty()
            {
                self.outbox.record(Fact::Market(MarketFact::Metered(metered)));
            }
        }
    }

    fn meter_changes(&mut self, given_back: &[GivenBack], graces: &[GraceStep], now: Now) {
        let Some(market) = &mut self.market else { return };
        let mut changes = std::mem::take(&mut market.usage_changes);
        self.cluster.scheduler.take_usage_changes(&mut changes);
        let (mut by_app, mut has_changed): (Vec<(AppId, PerPool<i64>)>, bool) = (Vec::new(), !graces.is_empty());
        let mut add = |app: AppId, pool: Pool, slots: i64| match by_app.last_mut() {
            Some((last, sum)) if *last == app => sum[pool] += slots,
            _ => {
                let mut sum = PerPool::default();
                sum[pool] = slots;
                by_app.push((app, sum));
            }
        };
        for change in changes.drain(..) {
            match change {
                UsageChange::Held { app, pool, slots } => {
                    add(app, pool, slots);
                    has_changed = true;
                }
                UsageChange::HousekeepingBegun { app, launch_mono_ms } => {
                    market.housekeeping.begin(app, launch_mono_ms);
                }
                UsageChange::TooLittleLeft { group } => {
                    if let Some(queue) = self.cluster.scheduler.group_name(group) {
                        market.accounts.note_too_little(queue);
                    }
                }
                UsageChange::HousekeepingEnded { app, launch_mono_ms } => {
                    if market.housekeeping.end(app, launch_mono_ms) {
                        add(app, Pool::Map, -1);
                        has_changed = true;
                    }
                }
            }
        }
        market.usage_changes = changes;
        if has_changed && let Some(held) = self.hold(&summed(by_app), given_back, graces, now.mono_ms) {
            self.outbox.record(Fact::Market(held));
        }
    }

    /// Counts that apps hold so many slots more or fewer from a time on; the fact of it.
    fn hold(
        &mut self,
        changes: &[(AppId, PerPool<i64>)],
        given_back: &[GivenBack],
        graces: &[GraceStep],
        mono_ms: u64,
    ) -> Option<MarketFact> {
        let Self { market: Some(market), jobs, applications, .. } = self else { return None };
        if !market.accounts.meter().has_started() {
            return None;
        }
        let changes: Vec<(SlotHolder, PerPool<i64>)> = changes
            .iter()
            .filter_map(|(app, slots)| Some((holder_of(market, jobs, applications, *app)?, *slots)))
            .collect();
        market.accounts.hold(&changes, given_back, graces, mono_ms, |holder| payer_of(jobs, applications, holder))
    }

    /// After a restart, the market continues to count if it rules.
    pub(super) fn restore_meter(&mut self, now: Now) {
        if self.ruling_market().is_some() {
            self.start_meter(now);
            let meter = self.market.as_ref().map(|market| market.accounts.meter());
            self.rounds.resumed_end_mono_ms = meter.map(|meter| meter.end_mono_ms(now.mono_ms));
            self.rounds.close_resumed_interval(&self.trackers.presences);
        }
    }

    /// The meter counts what is held from now on; after a restart it takes over what facts prove of the open interval.
    pub(super) fn start_meter(&mut self, now: Now) {
        // Of housekeeping; what is held is counted below.
        self.applications.take_grace_steps();
        self.meter_changes(&[], &[], now);
        let interval_ms = self.alloc_interval_ms();
        let Some(market) = &mut self.market else { return };
        while market.housekeeping.pop_due(now.mono_ms).is_some() {}
        let scheduler = &self.cluster.scheduler;
        let held = scheduler.apps_by_submission().into_iter().map(|app| (app, scheduler.app_held(app)));
        let long = market.housekeeping.counting().map(|(app, count)| (app, PerPool::new(count, 0, 0)));
        let mut held: Vec<(AppId, PerPool<u32>)> = held.chain(long).collect();
        held.sort_by_key(|(app, _)| *app);
        held.dedup_by(|(app, more), (before, sum)| {
            let is_same = app == before;
            if is_same {
                sum.map = sum.map.saturating_add(more.map);
            }
            is_same
        });
        held.retain(|(_, held)| *held != PerPool::default());
        let mut holdings = Vec::with_capacity(held.len());
        for (app, held) in held {
            let Some(holder) = holder_of(market, &self.jobs, &self.applications, app) else { continue };
            let Some((queue, order)) = payer_of(&self.jobs, &self.applications, holder) else { continue };
            let mut held = held;
            for step in self.applications.graces_of(holder) {
                let GraceStep { container, slots, rate, .. } = step;
                held.container = held.container.saturating_sub(slots);
                // Where facts say how much of it was left, that counts.
                let grace = Some(Grace { container, rate, left_ms: interval_ms });
                let (queue, held) = (queue.clone(), PerPool::new(0, 0, slots));
                holdings.push(Holding { holder, queue, order, grace, held });
            }
            holdings.push(Holding { holder, queue, order, grace: None, held });
        }
        if let Some(let_go) = market.accounts.start_meter(holdings, interval_ms, now) {
            self.outbox.record(Fact::Market(let_go));
        }
    }
}

/// The sum of each app.
fn summed(mut by_app: Vec<(AppId, PerPool<i64>)>) -> Vec<(AppId, PerPool<i64>)> {
    if by_app.len() > 1 {
        by_app.sort_by_key(|(app, _)| *app);
        by_app.dedup_by(|(app, more), (before, sum)| {
            let is_same = app == before;
            if is_same {
                Pool::ALL.into_iter().for_each(|pool| sum[pool] += more[pool]);
            }
            is_same
        });
    }
    by_app
}

/// What an app is to the meter; none: its job was forgotten before it held anything.
fn holder_of(market: &mut MarketState, jobs: &JobTable, applications: &Applications, app: AppId) -> Option<SlotHolder> {
    if let Some(holder) = market.holders.get(&app) {
        return Some(*holder);
    }
    let application = applications.of_app(app).map(SlotHolder::Application);
    let holder = application.or_else(|| jobs.by_app(app).map(|job| SlotHolder::Job(job.id)))?;
    market.holders.insert(app, holder);
    Some(holder)
}

/// The queue that pays for a job or application, and its place among submissions.
fn payer_of(jobs: &JobTable, applications: &Applications, holder: SlotHolder) -> Option<(QueueName, u64)> {
    let (payer, order) = match holder {
        SlotHolder::Job(id) => {
            let job = jobs.get(id)?;
            (job.spec.payer()?, job.order)
        }
        SlotHolder::Application(id) => {
            let submitted = &applications.get(id)?.submitted;
            (&*submitted.queue, submitted.order)
        }
    };
    Some((QueueName::new(payer).ok()?, order))
}

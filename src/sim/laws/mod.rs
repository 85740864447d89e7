//! The law checker: what must hold after every step. It trusts only the facts, the replies and, where these do not
//! suffice, [`crate::engine::Inspection`].
//!
//! The laws are those of docs/testing.md; each has a file here. Checking a step costs as much as its changes: what is held
//! is added up again only after steps that change it, what could be used only where a tick may come. The engine's counts
//! are compared at every [`COMPARISON_EVENTS`]th step, at each restart and at the end.

mod allowances;
mod attempts;
mod containers;
mod holdings;
mod laid_charges;
mod law;
mod limits;
mod money;
mod nodes;
mod preemption;
mod share;
mod slot_time;
mod stamps;
mod tally;
mod wants;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use attempts::AttemptModel;
pub(super) use containers::{ApplicationIntent, OfferedNode};
use containers::{ContainerBooks, ContainerRound};
use holdings::{Holdings, Moment};
use money::Auditor;
use tally::Digest;

use crate::engine::{Effect, Engine, Fact, PolicyConfig, SchedulerChoice, Step};
use crate::mapreduce::JobFact;
use crate::market::MarketFact;
use crate::model::{ApplicationId, AttemptId, ContainerId, FactNumber, JobId, Kind, Now, PerKind, PerPool};

use super::plan::{Plan, tick_interval_ms};
use super::user_plan::Scheme;
pub use law::{Law, Violation};
pub(super) use nodes::HeartbeatOutcome;

pub(super) use money::{Intent, MoneyChange};
use preemption::PreemptionChecker;
use share::ShareChecker;
use slot_time::SlotTime;
pub use tally::Tally;

use wants::WantChecker;
use work::WorkChecker;

#[derive(Clone, Debug)]
pub(super) struct LawChecker {
    start: Now,
    /// The daemon's monotonic clock less the world's, ms; wraps.
    clock_offset_ms: u64,
    last_fact: FactNumber,
    digest: Digest,
    attempts: AttemptModel,
    containers: ContainerBooks,
    money: Option<Auditor>,
    /// Slot-time by books of its own, where tenants play against the market.
    slot_time: Option<SlotTime>,
    wants: Option<WantChecker>,
    /// What is held after the last step, and the changes that it knows.
    held: (Moment, (u64, u64)),
    share: Option<ShareChecker>,
    /// The tick of this step, and what the steady bidder held in the interval before.
    ticked: Option<(Box<crate::market::Tick>, (u128, u128))>,
    work: WorkChecker,
    preemption: Option<PreemptionChecker>,
    /// Containers before a round of preemption that is due.
    container_round: Option<ContainerRound>,
    was_market: bool,
    /// Schedulers that were wished for, by class.
    offered: BTreeMap<String, PolicyConfig>,
    choice: SchedulerChoice,
    tally: Tally,
}

/// Steps between two comparisons of the sums by the facts with the engine's counts.
const COMPARISON_EVENTS: u64 = 1_000;

impl LawChecker {
    pub(super) fn new(plan: &Plan, events: u64) -> Self {
        let Plan { start, engine, .. } = plan;
        let interval_ms = tick_interval_ms(&engine.policy);
        let money = engine.market.map(|market| Auditor::new(start.mono_ms, interval_ms, market));
        Self {
            start: *start,
            clock_offset_ms: 0,
            last_fact: FactNumber(0),
            digest: Digest::of_a_run(events),
            attempts: AttemptModel::default(),
            containers: ContainerBooks::new(engine.containers.minimum, engine.containers.slot),
            money,
            slot_time: engine.market.map(|_| SlotTime::new(start.mono_ms, interval_ms, engine.containers.slot)),
            wants: engine.market.filter(|_| plan.has_players()).map(|_| WantChecker::new(plan)),
            held: (Moment::default(), (0, 0)),
            share: share_checker(plan, interval_ms),
            ticked: None,
            work: WorkChecker::new(engine.policy.clone()),
            preemption: plan.kill_interval_ms().map(|_| PreemptionChecker::default()),
            container_round: None,
            was_market: false,
            offered: BTreeMap::new(),
            choice: engine.choice.clone(),
            tally: Tally::default(),
        }
    }

    /// A scheduler is about to be wished for.
    pub(super) fn offer_scheduler(&mut self, class: &str, policy: PolicyConfig) {
        self.offered.insert(class.to_owned(), policy);
    }

    /// The scheduler that rules, by the facts.
    pub(super) fn scheduler(&self) -> (PolicyConfig, SchedulerChoice) {
        (self.work.policy().clone(), self.choice.clone())
    }

    pub(super) fn begin(&mut self, first: FactNumber, facts: &[Fact], engine: &Engine) -> Result<(), Violation> {
        self.apply_facts(first, facts, &Intent::Start, self.start, engine)
    }

    /// Rolls back to the checker at the last durable fact, after a crash.
    pub(super) fn roll_back(&mut self, before: LawChecker) {
        let Tally { events, time_ms, crashes, .. } = self.tally;
        let tally = Tally { events, time_ms, crashes: crashes + 1, ..before.tally };
        *self = Self { digest: std::mem::take(&mut self.digest), tally, ..before };
    }

    /// Checks the restart of the daemon, with these facts, from the durable ones (law 5).
    pub(super) fn restart(
        &mut self,
        first: FactNumber,
        facts: &[Fact],
        acknowledged: &mut BTreeSet<JobId>,
        engine: &Engine,
        now: Now,
        clock_offset_ms: u64,
    ) -> Result<(), Violation> {
        self.clock_offset_ms = clock_offset_ms;
        self.work = WorkChecker::new(self.work.policy().clone());
        if let Some(preemption) = &mut self.preemption {
            // Choices whose kill was not delivered are dropped.
            *preemption = PreemptionChecker::default();
        }
        let survived = self.attempts.restart(acknowledged, engine);
        survived.map_err(|text| self.violation(Law::End, text))?;
        if let Some(slot_time) = &mut self.slot_time {
            slot_time.restart(now.mono_ms);
        }
        let left_ms = self.slot_time.as_ref().map_or(0, SlotTime::left_ms);
        self.forget_the_interval();
        self.attempts.settle(acknowledged);
        self.book_jobs(engine);
        let money = self.money.as_mut().map_or(Ok(()), |auditor| auditor.restart(engine, left_ms, now));
        money.map_err(|text| self.violation(Law::Money, text))?;
        self.apply_facts(first, facts, &Intent::Restart, now, engine)?;
        self.compare(engine)
    }

    /// Says why the next step happens, as far as applications are concerned.
    pub(super) fn expect_of_applications(&mut self, intent: ApplicationIntent) {
        self.containers.note_intent(intent);
    }

    pub(super) fn is_application_live(&self, id: ApplicationId) -> bool {
        self.containers.is_live(id)
    }

    pub(super) fn knows_container(&self, id: ContainerId) -> bool {
        self.containers.knows(id)
    }

    pub(super) fn cannot_launch(&self, id: ContainerId, tracker: &str, incarnation: u64) -> Option<String> {
        self.containers.cannot_launch(id, tracker, incarnation)
    }

    pub(super) fn held_on(&self, tracker: &str, incarnation: u64) -> (u64, u64) {
        self.containers.held_on(tracker, incarnation)
    }

    /// Checks that containers which wait use the room of a node at its heartbeat.
    pub(super) fn containers_use_room(
        &self,
        node: OfferedNode<'_>,
        plan: &Plan,
        engine: &Engine,
    ) -> Result<(), Violation> {
        let most = plan.engine.containers.max_per_application;
        let is_constrained = self.work.policy().constraint().is_some();
        self.containers.uses_room(node, most, is_constrained, engine).map_err(|text| self.violation(Law::Work, text))
    }

    pub(super) fn earmarked_on(&self, tracker: &str, engine: &Engine) -> (u64, u64) {
        let node = engine.inspect().tracker_id_of(tracker).filter(|_| self.work.policy().is_market());
        node.map_or((0, 0), |node| self.containers.earmarked_on(node))
    }

    /// Checks that under the market queues within their quotas have containers before those beyond theirs. In the step in
    /// which it takes over it is not known what was kept, and for what.
    pub(super) fn containers_are_in_order(&self, plan: &Plan, engine: &Engine) -> Result<(), Violation> {
        if !self.work.policy().is_market() || !self.was_market {
            return Ok(());
        }
        let ordered = self.containers.short_queues_first(plan.engine.containers.max_per_application, engine);
        ordered.map_err(|text| self.violation(Law::Guarantee, text))
    }

    pub(super) fn applications_left(&self) -> (usize, usize) {
        self.containers.left()
    }

    pub(super) fn oldest_application(&self) -> Option<String> {
        self.containers.oldest()
    }

    pub(super) fn needs(&self, id: AttemptId, tracker: &str) -> bool {
        self.attempts.needs(id, tracker)
    }

    pub(super) fn lost_attempts(&self) -> &[AttemptId] {
        self.attempts.lost_attempts()
    }

    /// When the next tick is due, by the daemon's clock; none without a market.
    pub(super) fn next_tick_mono_ms(&self) -> Option<u64> {
        self.money.as_ref().and_then(Auditor::next_tick_mono_ms)
    }

    /// Attempts launched and containers ended.
    pub(super) fn work_done(&self) -> u64 {
        self.tally.attempts + self.tally.containers
    }

    pub(super) fn events(&self) -> u64 {
        self.tally.events
    }

    pub(super) fn tally(&self) -> Tally {
        Tally { hash: self.digest.value(), ..self.tally.clone() }
    }

    pub(super) fn live_jobs(&self) -> usize {
        self.attempts.live_jobs()
    }

    pub(super) fn is_live(&self, id: JobId) -> bool {
        self.attempts.is_live(id)
    }

    /// The job that has waited longest for its end, if any.
    pub(super) fn oldest_live_job(&self) -> Option<crate::model::JobId> {
        self.attempts.oldest_live_job()
    }

    pub(super) fn before_step(&mut self, is_timer: bool, engine: &Engine, now: Now) {
        if let Some(auditor) = &mut self.money {
            auditor.before_tick(engine);
        }
        let may_tick = is_timer && self.money.as_ref().is_some_and(|auditor| auditor.may_tick(now));
        if let Some(wants) = self.wants.as_mut().filter(|_| may_tick && self.work.policy().is_market()) {
            let holdings = Holdings { attempts: &self.attempts, containers: &self.containers };
            wants.before_tick(&holdings, engine);
        }
        self.was_market = self.work.policy().is_market();
        if self.was_market {
            self.containers.note_kept_room(engine);
        }
        if !is_timer {
            return;
        }
        if let Some(preemption) = &mut self.preemption {
            let is_due = preemption.before_round(engine, now);
            self.container_round = is_due.then(|| self.containers.before_round(engine, now));
        }
    }

    pub(super) fn after_step(
        &mut self,
        step: &Step,
        intent: &Intent,
        engine: &Engine,
        now: Now,
    ) -> Result<(), Violation> {
        self.tally.events += 1;
        self.digest.begin_step(self.tally.events);
        self.tally.time_ms = now.mono_ms.wrapping_sub(self.clock_offset_ms) - self.start.mono_ms;
        let Step { reply, wait_for, effects, effects_wait_for, .. } = step;
        self.digest.add(&(reply, wait_for, effects, effects_wait_for));
        self.apply_facts(step.first_fact, &step.facts, intent, now, engine)?;
        if step.wait_for > self.last_fact || step.effects_wait_for > self.last_fact {
            let text = format!("an answer waits for fact {}, the last is {}", step.wait_for.0, self.last_fact.0);
            return Err(self.violation(Law::Order, text));
        }
        if let Some(Effect::ReportBrokenInvariant(broken)) =
            step.effects.iter().find(|effect| matches!(effect, Effect::ReportBrokenInvariant(_)))
        {
            return Err(self.violation(Law::Order, format!("{}: {}", broken.place, broken.text)));
        }
        self.check_sales(engine, now)?;
        let round = self.container_round.take();
        if round.is_none() && self.preemption.is_some() && self.containers.has_preempted() {
            return Err(self.violation(Law::Preemption, "containers are preempted without a round".to_owned()));
        }
        if let Some(round) =
            round.filter(|_| !self.preemption.as_ref().is_some_and(|one| one.has_lost(&step.facts, engine)))
        {
            let judged = self.containers.after_round(&round, engine);
            judged.map_err(|(law, text)| self.violation(law, text))?;
        }
        if *intent == Intent::Timer {
            let rounds = self.preemption.as_mut().map_or(Ok(false), |checker| checker.after_round(&step.facts, engine));
            let rounds = rounds.map_err(|(law, text)| self.violation(law, text))?;
            self.tally.rounds += u64::from(rounds);
        }
        if self.tally.events.is_multiple_of(COMPARISON_EVENTS) {
            self.compare(engine)?;
        }
        Ok(())
    }

    pub(super) fn after_heartbeat(
        &mut self,
        outcome: HeartbeatOutcome<'_>,
        step: &Step,
        engine: &Engine,
        now: Now,
    ) -> Result<(), Violation> {
        let mut outcome = outcome;
        if !self.work.policy().is_compatible() {
            let has_launched = |of: Kind| work::launched(&step.facts).any(|(kind, _)| kind == of);
            let has_launched = PerKind::new(has_launched(Kind::Map), has_launched(Kind::Reduce));
            outcome = outcome.without_killed(has_launched).map_err(|text| self.violation(Law::Order, text))?;
        }
        if let Some(wants) = &mut self.wants {
            wants.note_heartbeat(outcome);
        }
        self.work.set_applications(self.containers.left().0 > 0);
        let limited = self.work.limits_hold(&step.facts, engine).map_err(|text| (Law::Limit, text));
        let worked = limited.and_then(|()| {
            self.work.after_heartbeat(outcome, &step.facts, engine, now).map_err(|text| (Law::Work, text))
        });
        let checked = worked.and_then(|()| {
            let preemption = self.preemption.as_mut();
            preemption.map_or(Ok(()), |checker| checker.after_heartbeat(outcome.tracker, &step.facts, engine))
        });
        checked.map_err(|(law, text)| self.violation(law, text))?;
        if self.work.policy().is_market() {
            let served = work::short_queues_first(outcome.tracker, &step.facts, engine);
            served.map_err(|text| self.violation(Law::Guarantee, text))?;
        }
        Ok(())
    }

    /// Checks the end of the run: no work is left and every KILL_JOB is acknowledged.
    pub(super) fn finish(&mut self, engine: &Engine) -> Result<(), Violation> {
        self.compare(engine)?;
        let inspection = engine.inspect();
        let totals = inspection.scheduler().totals();
        let (none, no_slots) = (PerPool::default(), PerKind::default());
        if (totals.running, totals.waiting, totals.occupied) != (none, none, no_slots) {
            return Err(self.violation(Law::End, format!("nothing is left to do, but {totals:?}")));
        }
        if inspection.pending_kill_jobs() > 0 {
            return Err(self.violation(Law::End, "a tracker has not received a job's end".to_owned()));
        }
        Ok(())
    }

    pub(super) fn violation(&self, law: Law, culprit: String) -> Violation {
        Violation { law, at_ms: self.tally.time_ms, event: self.tally.events, culprit }
    }

    fn apply_facts(
        &mut self,
        first: FactNumber,
        facts: &[Fact],
        intent: &Intent,
        now: Now,
        engine: &Engine,
    ) -> Result<(), Violation> {
        if first.0 != self.last_fact.0 + 1 {
            let text = format!("fact {} follows fact {}", first.0, self.last_fact.0);
            return Err(self.violation(Law::Order, text));
        }
        self.last_fact.0 += facts.len() as u64;
        self.attempts.begin_step();
        self.follow_holdings();
        if let Some(slot_time) = &mut self.slot_time {
            slot_time.advance(now.mono_ms, !facts.is_empty(), &self.held.0, &self.attempts);
            self.attempts.note_charged_housekeeping(slot_time.jobs_with_housekeeping());
        }
        for fact in facts {
            self.digest.add(fact);
            self.count(fact);
            let checked = match (fact, &mut self.money) {
                (Fact::Market(fact), Some(auditor)) => {
                    let holdings = Holdings { attempts: &self.attempts, containers: &self.containers };
                    let applied = auditor.apply(fact, &holdings, intent, now);
                    if let MarketFact::Account { queue, .. } = fact
                        && self.work.policy().is_market()
                    {
                        let jobs = engine.inspect().jobs();
                        self.attempts.book_on(queue.as_str(), |job| jobs.get(job).is_some());
                    }
                    applied.map_err(|text| (Law::Money, text))
                }
                (Fact::JobsCharged { jobs, .. }, Some(auditor)) => {
                    auditor.record_job_costs(jobs, &self.attempts).map_err(|text| (Law::Money, text))
                }
                (Fact::Applications(changes), Some(auditor)) => {
                    auditor.record_application_costs(changes).map_err(|text| (Law::Money, text))
                }
                (Fact::SchedulerChosen { choice, .. }, _) => {
                    self.choice = choice.clone();
                    self.follow_choice(engine, now);
                    Ok(())
                }
                (Fact::Market(_), None) => Err((Law::Money, "money moves without a market".to_owned())),
                (fact, _) => self.attempts.apply(fact).map_err(|text| (Law::Order, text)),
            };
            checked.map_err(|(law, text)| self.violation(law, text))?;
            let followed = self.follow_slot_time(fact);
            followed.map_err(|(law, text)| self.violation(law, text))?;
        }
        // A tick charges for what there was before: grants and ends of its step come after it.
        let booked = self.containers.apply_step(facts);
        booked.map_err(|(law, text)| self.violation(law, text))?;
        let Some(auditor) = &mut self.money else { return Ok(()) };
        let checked = auditor.end_step(intent, engine, now);
        (self.tally.issued, self.tally.charged) = auditor.totals();
        checked.map_err(|text| self.violation(Law::Money, text))
    }

    /// Follows what is held, where books of it are kept.
    fn follow_holdings(&mut self) {
        let holdings = Holdings { attempts: &self.attempts, containers: &self.containers };
        let changes = holdings.changes();
        if self.slot_time.is_some() && changes != self.held.1 {
            self.held = (holdings.moment(), changes);
        }
    }

    /// Another scheduler rules, or the same with other settings.
    fn follow_choice(&mut self, engine: &Engine, now: Now) {
        let Some(policy) = self.offered.get(&self.choice.class).cloned() else { return };
        if let Some(auditor) = &mut self.money {
            auditor.rule(tick_interval_ms(&policy), now);
        }
        if let Some(slot_time) = &mut self.slot_time {
            slot_time.rule(tick_interval_ms(&policy));
        }
        self.forget_the_interval();
        self.work = WorkChecker::new(policy);
        self.book_jobs(engine);
    }

    /// Laws 8 and 11: what a tick charges is the time that slots were held.
    fn follow_slot_time(&mut self, fact: &Fact) -> Result<(), (Law, String)> {
        let Some(slot_time) = &mut self.slot_time else { return Ok(()) };
        match fact {
            Fact::Market(MarketFact::Tick(tick)) => {
                let held = self.share.as_ref().map_or((0, 0), |share| slot_time.maps_held(share.queue()));
                self.ticked = Some((Box::clone(tick), held));
                slot_time.tick(tick, |queue| self.money.as_ref()?.balance(queue))
            }
            fact => {
                let checked = slot_time.apply(fact);
                if let Some(wants) = &mut self.wants {
                    wants.apply(fact, &Holdings { attempts: &self.attempts, containers: &self.containers });
                }
                checked
            }
        }
    }

    /// Laws 9 and 10, after a step: what was sold could be used, and the steady bidder has its part.
    fn check_sales(&mut self, engine: &Engine, now: Now) -> Result<(), Violation> {
        let ticked = self.ticked.take();
        let housekeeping: Vec<(JobId, u32)> = self.slot_time.iter().flat_map(SlotTime::counted_housekeeping).collect();
        self.follow_holdings();
        let Some(wants) = &mut self.wants else { return Ok(()) };
        let holdings = Holdings { attempts: &self.attempts, containers: &self.containers };
        wants.note_holdings(&self.held.0, &self.attempts, &housekeeping);
        let mut judged = Ok(());
        if let Some((tick, held)) = ticked.filter(|_| self.work.policy().is_market()) {
            judged = match wants.after_tick(&tick, &holdings, &housekeeping, engine) {
                Err(text) => Err((Law::Wants, text)),
                Ok(wants) => {
                    let shared = self.share.as_mut().map_or(Ok(()), |share| {
                        let maps = WantChecker::maps_for_all(share.queue(), &holdings, engine);
                        share.after_tick(&tick, held, &wants, maps)
                    });
                    shared.map_err(|text| (Law::Share, text))
                }
            };
        }
        if let Some(share) = &mut self.share {
            share.after_step(engine, now);
        }
        judged.map_err(|(law, text)| self.violation(law, text))
    }

    /// A restart, or another scheduler: laws 9 and 10 begin again.
    fn forget_the_interval(&mut self) {
        if let Some(wants) = &mut self.wants {
            wants.forget();
        }
        if let Some(share) = &mut self.share {
            share.disturb();
        }
    }

    /// Under the market: each job is paid for by its payer's account, if there is one and the job is known.
    fn book_jobs(&mut self, engine: &Engine) {
        let Some(auditor) = self.money.as_ref().filter(|_| self.work.policy().is_market()) else { return };
        let jobs = engine.inspect().jobs();
        self.attempts.book(|job, payer| auditor.has_account(payer) && jobs.get(job).is_some());
    }

    fn count(&mut self, fact: &Fact) {
        match fact {
            Fact::Applications(changes) => self.tally.containers += containers::ends_in(changes),
            Fact::Job(JobFact::Accepted(_)) => self.tally.jobs += 1,
            Fact::Job(JobFact::AttemptLaunched { .. }) => self.tally.attempts += 1,
            Fact::Job(JobFact::AttemptKillRequested { request: crate::mapreduce::KillRequest::Preempt, .. }) => {
                self.tally.preempted += 1;
            }
            Fact::Market(MarketFact::Tick(_)) => self.tally.ticks += 1,
            _ => {}
        }
    }

    fn compare(&self, engine: &Engine) -> Result<(), Violation> {
        self.attempts.compare(engine, self.work.policy()).map_err(|text| self.violation(Law::Order, text))?;
        let (kept, counted) = (engine.inspect().scheduler().totals(), engine.inspect().scheduler().recount());
        if kept != counted {
            let text = format!("the sums over the cluster are kept as {kept:?}, and a recount gives {counted:?}");
            return Err(self.violation(Law::Order, text));
        }
        self.containers.compare(engine).map_err(|text| self.violation(Law::Order, text))?;
        let Some(auditor) = &self.money else { return Ok(()) };
        auditor.compare(engine).map_err(|text| self.violation(Law::Money, text))
    }
}

/// That of the steady bidder, where there is one and the market rules always.
fn share_checker(plan: &Plan, interval_ms: Option<u64>) -> Option<ShareChecker> {
    let interval_ms = interval_ms.filter(|_| plan.switch_pause_ms.is_none())?;
    let steady = plan.users.iter().find(|user| user.scheme == Some(Scheme::Steady))?;
    Some(ShareChecker::new(steady.name.clone(), interval_ms, plan.kill_interval_ms()))
}

//! Another scheduler takes over, or the ruling one with its files read again: in one step, between two heartbeats.

use std::sync::Arc;

use crate::api::{MovedJob, SwitchPlan};
use crate::engine::core::{Engine, PolicyConfig, Reply, SchedulerWish, SwitchReply, Wait};
use crate::engine::state::{AuditEntry, Decided, Decision, Effect, Fact, LogLevel, Round, SchedulerChoice};
use crate::model::Now;
use crate::scheduler::{FifoOptions, GroupId, PolicyOptions};

impl Engine {
    /// Does what is wished, keeps the wish until the market's next tick, or refuses it.
    pub(super) fn on_scheduler_wished(&mut self, wish: Box<SchedulerWish>, now: Now) -> (Reply, Wait) {
        let plan = self.plan_switch(&wish, now);
        if !plan.is_permitted() {
            return (Reply::Switch(SwitchReply::Refused(Box::new(plan))), Wait::Nothing);
        }
        if plan.waits_until_ms.is_some() {
            let text = format!("{} wants {} to rule from the market's next tick on", wish.by, wish.class);
            self.outbox.log_line(LogLevel::Info, text);
            self.administration.wish = Some(wish);
            return (Reply::Switch(SwitchReply::Waits(Box::new(plan))), Wait::Nothing);
        }
        self.switch_scheduler(*wish, &plan, now);
        (Reply::Switch(SwitchReply::Done(Box::new(plan))), Wait::All)
    }

    pub(super) fn on_wish_withdrawn(&mut self) -> (Reply, Wait) {
        if let Some(wish) = self.administration.wish.take() {
            let text = format!("{} no longer wants {} to rule", wish.by, wish.class);
            self.outbox.log_line(LogLevel::Info, text);
        }
        (Reply::Done, Wait::Nothing)
    }

    /// Does what waited for the tick that has just charged the open interval, if that is still permitted.
    pub(super) fn grant_wish(&mut self, now: Now) {
        let Some(wish) = self.administration.wish.take() else { return };
        let plan = SwitchPlan { waits_until_ms: None, ..self.plan_switch(&wish, now) };
        if plan.is_permitted() {
            self.switch_scheduler(*wish, &plan, now);
        }
        self.outbox.request(Effect::EndWait(Box::new(plan)));
    }
}

impl Engine {
    fn switch_scheduler(&mut self, wish: SchedulerWish, plan: &SwitchPlan, now: Now) {
        let SchedulerWish { class, configured, by, policy, queues, .. } = wish;
        self.outbox.log_line(LogLevel::Warning, log_line(plan, &by));
        let entry = AuditEntry::new("use-scheduler", &*by).with("scheduler", &plan.to).with("instead-of", &plan.from);
        self.outbox.audit(entry.with("moved", plan.moves.len()));
        let decided = Decided::Policy { from: plan.from.clone(), to: plan.to.clone(), by: by.as_str().into() };
        self.outbox.decide(Some(Decision { at_ms: now.wall_ms, what: decided }));
        self.config.queues = queues;
        let is_other = std::mem::discriminant(&policy) != std::mem::discriminant(&self.config.policy);
        let before = &self.administration.choice;
        let (since_ms, by) = match is_other {
            true => (now.wall_ms, Some(by)),
            false => (before.since_ms, before.by.clone()),
        };
        let choice = SchedulerChoice { class, since_ms, by, configured };
        self.choose_scheduler(choice, &plan.moves);
        if is_other {
            self.replace_scheduler(policy, now);
            self.follow_event_log(now);
        } else {
            self.reload_policy(policy, now);
            self.regroup_jobs();
        }
    }

    /// Records the choice with all that follows from it for jobs: a restart finds all of it or nothing.
    fn choose_scheduler(&mut self, choice: SchedulerChoice, moves: &[MovedJob]) {
        let moved = moves.iter().map(|moved| (moved.job, Arc::from(&*moved.to))).collect();
        let number = self.outbox.record(Fact::SchedulerChosen { choice: choice.clone(), moved });
        for MovedJob { job, to, .. } in moves {
            self.jobs.move_to_queue(*job, to, number, &mut self.outbox.violations);
        }
        self.apply_pauses();
        self.administration.choice = choice;
        self.outbox.request(Effect::ShowScheduler);
    }

    fn replace_scheduler(&mut self, policy: PolicyConfig, now: Now) {
        // Groups change under a policy that knows none.
        self.cluster.scheduler.replace_policy(PolicyOptions::Fifo(FifoOptions::default()));
        self.rounds.update = Round::every(policy.update_interval_ms(), now);
        self.rounds.preemption = policy.preemption_round(now);
        self.config.policy = policy;
        if let Some(market) = &mut self.market {
            if self.config.policy.is_market() {
                market.accounts.resume();
                self.start_meter(now);
            } else {
                market.costs.forget_leaving();
                if let Some(fact) = market.accounts.suspend(now) {
                    self.outbox.record(Fact::Market(fact));
                }
            }
        }
        self.regroup_jobs();
        self.size_tasks();
        self.renew_deadlines();
        self.cluster.scheduler.replace_policy(self.config.policy.options());
        self.count_hosts();
        self.tick_policy(now);
        self.open_queues();
        self.tick_market(now);
    }

    /// Puts every job in its group under the policy, completed ones that still hold slots too, and closes the groups
    /// that are not needed.
    fn regroup_jobs(&mut self) {
        for app in self.cluster.scheduler.apps_by_submission() {
            let group = self.group_of_app(app);
            // The app is known and the group open.
            let _: Result<_, _> = self.cluster.scheduler.move_app(app, group);
        }
        let groups: Vec<GroupId> = self.cluster.scheduler.group_usages().map(|usage| usage.id).collect();
        for group in groups.into_iter().filter(|group| !self.cluster.scheduler.has_apps(*group)).collect::<Vec<_>>() {
            // One with a group in it that has apps stays.
            let _: Result<_, _> = self.cluster.scheduler.close_group(group);
        }
        self.open_queues();
    }
}

fn log_line(plan: &SwitchPlan, by: &str) -> String {
    match plan.is_reread() {
        true => format!("{by} had the settings of {} read again", plan.to),
        false => format!(
            "{by} replaced {} by {}: {} jobs begin, {} wait, {} get another queue, {} have no account that pays",
            plan.from,
            plan.to,
            plan.begins.len(),
            plan.waits.len(),
            plan.moves.len(),
            plan.without_claim.len()
        ),
    }
}

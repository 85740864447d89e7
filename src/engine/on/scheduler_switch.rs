//! Another scheduler takes over, or the ruling one with its files read again: in one step, between two heartbeats.

use std::sync::Arc;

use crate::api::{MovedJob, SwitchPlan};
use crate::engine::core::{Engine, FairConfig, PolicyChange, PolicyConfig, Reply, SchedulerWish, SwitchReply, Wait};
use crate::engine::state::{AuditEntry, Decided, Decision, Effect, Fact, LogLevel, Refusal, Round, SchedulerChoice};
use crate::model::{Now, PerKind, TrackerId};
use crate::scheduler::{FifoOptions, GroupId, PolicyOptions};

use super::pools::PoolReload;
use super::switch_plan::undeclared_pools;

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

    /// The ruling policy with its settings.
    pub(crate) fn policy(&self) -> &PolicyConfig {
        &self.config.policy
    }

    /// What is in force after [`Self::reload_policy`], once the settings of the ruling policy were read again: by an operator's
    /// switch to what rules, by `refreshQueues`, at SIGHUP. Changes nothing.
    ///
    /// # Errors
    /// The ruling policy refuses the settings.
    pub(super) fn check_reload(&self, read: PolicyConfig) -> Result<PolicyConfig, Refusal> {
        let reads_pools = read.has_pools();
        let reread = self.config.policy.reread(read);
        let policy = reread.map_err(|error| Refusal::IllegalArgument(error.to_string()))?;
        if let Some(fair) = policy.fair().filter(|_| reads_pools) {
            self.check_pools_of_jobs(fair)?;
        }
        Ok(policy)
    }

    /// Puts settings of the ruling policy in force. Running attempts, sold intervals and what the policy counts stay;
    /// under the Fair scheduler clocks begin again where the settings order jobs otherwise.
    pub(super) fn reload_policy(&mut self, policy: PolicyConfig, now: Now) {
        self.restart_changed_rounds(&policy, now);
        let before = std::mem::replace(&mut self.config.policy, policy);
        let options = self.config.policy.options();
        match self.config.policy.change_from(before) {
            PolicyChange::Nothing => return,
            PolicyChange::Reload => self.cluster.scheduler.reload_policy(options),
            PolicyChange::Pools { before, orders_alike } => {
                let reload = if orders_alike { PoolReload::KeepClocks } else { PoolReload::Replace };
                self.reload_pools(&before, reload);
            }
            PolicyChange::Replace => self.cluster.scheduler.replace_policy(options),
        }
        self.count_hosts();
        self.tick_policy(now);
        self.follow_event_log(now);
    }

    /// Counts hosts for failed tasks as the policy demands.
    pub(super) fn count_hosts(&mut self) {
        let counts_all_hosts = self.cluster.scheduler.launch_rules().counts_all_hosts;
        let slots: Vec<(TrackerId, PerKind<u32>)> =
            self.trackers.iter().map(|tracker| (tracker.id, tracker.slots)).collect();
        self.cluster.nodes.set_counting_all_hosts(counts_all_hosts, slots);
    }

    /// Sizes the tasks of all jobs as the policy does that takes over. Attempts that run keep their slots.
    pub(super) fn size_tasks(&mut self) {
        for app in self.cluster.scheduler.apps_by_submission() {
            if let Some(job) = self.jobs.by_app_mut(app) {
                let slots = self.config.policy.slots_per_task(&job.spec);
                job.set_slots_per_task(slots, &mut self.cluster.scheduler);
            }
        }
    }

    fn restart_changed_rounds(&mut self, policy: &PolicyConfig, now: Now) {
        let intervals = |policy: &PolicyConfig| (policy.update_interval_ms(), policy.preemption_interval_ms());
        let (before, after) = (intervals(&self.config.policy), intervals(policy));
        if before.0 != after.0 {
            self.rounds.update = Round::every(after.0, now);
        }
        if before.1 != after.1 {
            self.rounds.preemption = Round::every(after.1, now);
        }
    }

    /// Refuses settings that would leave jobs in pools that are not allowed.
    fn check_pools_of_jobs(&self, fair: &FairConfig) -> Result<(), Refusal> {
        let jobs = self.jobs.iter().filter(|job| !job.is_over());
        let pools = jobs.map(|job| (job.spec.pool(job.pool.as_deref(), &fair.pool_name_property), job.id));
        match undeclared_pools(fair, pools).next() {
            Some(refusal) => Err(Refusal::IllegalArgument(refusal.to_string())),
            None => Ok(()),
        }
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

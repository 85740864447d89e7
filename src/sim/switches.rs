//! Switches of the scheduler while jobs run, each to other settings.

use crate::engine::{Event, Reply, SchedulerWish, SwitchReply};

use super::ADMINISTRATOR;
use super::cuts::Part;
use super::event_queue::SimEvent;
use super::laws::{Intent, Law, Violation};
use super::plan_policy::policy_config;
use super::policy_choice::PolicyChoice;
use super::random::Random;
use super::world::World;

impl World<'_> {
    /// An operator wants another scheduler, or the same with other settings.
    pub(super) fn switch_scheduler(&mut self) -> Result<(), Violation> {
        let Some(pause_ms) = self.plan.switch_pause_ms else { return Ok(()) };
        let mut random = Random::stream(self.switches.number(), 0);
        self.schedule_in(random.between(pause_ms / 4, pause_ms * 2), SimEvent::Switch);
        if !self.may_act() || !self.has(Part::Switches) {
            return Ok(());
        }
        let users: Vec<&str> = self.plan.users.iter().map(|user| user.name.as_str()).collect();
        let policy = policy_config(&mut random, PolicyChoice::Mixed, &users, self.options.seed % 2 == 1);
        // Names the settings, which a restart has to find again.
        let class = format!("scheduler-{}", self.checker.events());
        self.checker.offer_scheduler(&class, policy.clone());
        let wish = SchedulerWish {
            class,
            configured: String::new(),
            by: ADMINISTRATOR.to_owned(),
            policy,
            queues: self.plan.engine.queues.clone(),
            move_to: None,
            first_budgets: None,
        };
        // Another wish may wait for the market's next tick.
        let is_refused =
            self.engine.is_in_safe_mode() || self.engine.scheduler_status(self.daemon_now()).waiting.is_some();
        let step = self.step(Event::SchedulerWished(Box::new(wish)), &Intent::Other)?;
        match step.reply {
            Reply::Switch(SwitchReply::Done(_) | SwitchReply::Waits(_)) => Ok(()),
            _ if is_refused => Ok(()),
            reply => Err(self.violation(Law::Order, format!("a scheduler that has all queues is refused: {reply:?}"))),
        }
    }
}

//! Performs the engine's effects. Nothing in the engine waits for them.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::engine::{Effect, Event, LogLevel};
use crate::store::BudgetPublisher;

use super::broken_invariants::BrokenInvariants;
use super::end_notification::Notifier;
use super::event_log::EventLog;
use super::owner::Owner;
use super::rack_resolver::RackResolver;
use super::shared_presence::{SharedPresence, presence_of};
use super::submission::Submissions;
use super::switch_waiter::SwitchWaiter;

/// What performs effects.
pub(crate) struct EffectHandler {
    pub(crate) owner: Rc<Owner>,
    pub(crate) resolver: Arc<RackResolver>,
    pub(crate) submissions: Rc<Submissions>,
    pub(crate) notifier: Rc<Notifier>,
    pub(crate) broken_invariants: BrokenInvariants,
    /// What other threads know of the market.
    pub(crate) market_presence: SharedPresence,
    pub(crate) switch_waiter: Rc<SwitchWaiter>,
    pub(crate) event_log: EventLog,
    /// Writes the budget file; `None` without a market.
    pub(crate) budget_image: Option<Rc<BudgetPublisher>>,
}

// === impl EffectHandler ===

impl EffectHandler {
    /// Performs effects as they arrive, concurrently. Completes when the source closes.
    pub(crate) async fn perform(mut self, mut effects: mpsc::UnboundedReceiver<Effect>) {
        while let Some(effect) = effects.recv().await {
            match effect {
                Effect::ReportBrokenInvariant(broken) => self.broken_invariants.add(&broken),
                Effect::Log { level: LogLevel::Info, text } => tracing::info!("{text}"),
                Effect::Log { level: LogLevel::Warning, text } => tracing::warn!("{text}"),
                Effect::AppendToEventLog { directory, wall_ms, lines } => {
                    self.event_log.append(directory, wall_ms, lines);
                }
                Effect::RemoveJobFiles { job, submit_dir } => {
                    let submissions = self.submissions.clone();
                    tokio::task::spawn_local(async move { submissions.remove_files(job, submit_dir).await });
                }
                Effect::RemoveJobInfo { job } => {
                    let submissions = self.submissions.clone();
                    tokio::task::spawn_local(async move { submissions.remove_job_info(job).await });
                }
                Effect::ResolveRack { host } => {
                    let (owner, resolver) = (self.owner.clone(), self.resolver.clone());
                    tokio::task::spawn_local(async move {
                        let rack = resolver.rack_of_tracker(&host).await;
                        owner.step(Event::RackResolved { host, rack });
                    });
                }
                Effect::NotifyEnd { job, notification } => {
                    let profile = self.owner.with_engine(|engine| engine.job_profile(job)).value;
                    let user = profile.map_or_else(|| Arc::from(""), |profile| Arc::from(&*profile.user));
                    self.notifier.clone().notify(job, user, notification);
                }
                Effect::ShowScheduler => self.market_presence.set(self.owner.with_engine(presence_of)),
                Effect::EndWait(plan) => self.switch_waiter.end_wait(*plan),
                Effect::WriteBudgetImage => {
                    if let Some((image, (accounts, tick))) = self.budget_image.as_ref().zip(self.owner.budgets()) {
                        image.publish(accounts, tick);
                    }
                }
            }
        }
    }
}

//! Performs the engine's effects. Nothing in the engine waits for them.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::engine::{Effect, Event, LogLevel};
use crate::store::BudgetPublisher;

use super::application_waits::ApplicationWaits;
use super::audit_log::{AuditLog, write_audit_line};
use super::broken_invariants::BrokenInvariants;
use super::dispatch::Dispatcher;
use super::end_notification::Notifier;
use super::event_log::EventLog;
use super::history::UserCopies;
use super::owner::Owner;
use super::rack_resolver::RackResolver;
use super::shared_presence::{SharedPresence, presence_of};
use super::submission::Submissions;
use super::switch_plans::SwitchWaiter;

pub(crate) struct EffectHandler {
    pub(crate) owner: Rc<Owner>,
    pub(crate) dispatcher: Rc<Dispatcher>,
    pub(crate) application_waits: Rc<ApplicationWaits>,
    pub(crate) resolver: Arc<RackResolver>,
    pub(crate) submissions: Rc<Submissions>,
    pub(crate) notifier: Rc<Notifier>,
    pub(crate) user_copies: Rc<UserCopies>,
    pub(crate) broken_invariants: BrokenInvariants,
    /// What other threads know of the market.
    pub(crate) market_presence: SharedPresence,
    pub(crate) switch_waiter: Rc<SwitchWaiter>,
    pub(crate) event_log: EventLog,
    /// Writes the budget file; `None` without a market.
    pub(crate) budget_image: Option<Rc<BudgetPublisher>>,
}

/// Effects as they arrive, those for the audit log written to it: all of them, however the handler ends.
struct AuditedEffects {
    effects: mpsc::UnboundedReceiver<Effect>,
    log: AuditLog,
    clock: Clock,
}

impl AuditedEffects {
    /// The next effect; none when the source is closed.
    async fn next(&mut self) -> Option<Effect> {
        loop {
            let due_ms = self.log.next_due_ms();
            let until_due = async {
                match due_ms {
                    Some(due_ms) => tokio::time::sleep_until(self.clock.instant(due_ms)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                effect = self.effects.recv() => {
                    effect.iter().for_each(|effect| self.write(effect));
                    return effect;
                }
                () = until_due => self.log.take_repeated(Some(self.clock.mono_ms())).iter().for_each(write_audit_line),
            }
        }
    }

    fn write(&mut self, effect: &Effect) {
        if let Effect::Audit(entry) = effect {
            self.log.line_of(entry, self.clock.mono_ms()).iter().for_each(write_audit_line);
        }
    }
}

impl Drop for AuditedEffects {
    fn drop(&mut self) {
        while let Ok(effect) = self.effects.try_recv() {
            self.write(&effect);
        }
        self.log.take_repeated(None).iter().for_each(write_audit_line);
    }
}

impl EffectHandler {
    /// Performs effects as they arrive, concurrently. Completes when the source closes.
    pub(crate) async fn perform(mut self, effects: mpsc::UnboundedReceiver<Effect>) {
        let clock = self.owner.clock();
        let mut audited = AuditedEffects { effects, log: AuditLog::default(), clock };
        while let Some(effect) = audited.next().await {
            match effect {
                Effect::Audit(_) => {}
                Effect::ApplicationHasNews(application) => self.application_waits.notify(application),
                Effect::WorkerHasNews { tracker } => self.dispatcher.worker_has_news(&tracker),
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
                Effect::WriteHistory { job } => {
                    tokio::task::spawn_local(self.user_copies.clone().settle(job));
                }
                Effect::SummarizeJob(summary) => {
                    tracing::info!(target: "jobtracker::job_summary", "{summary}");
                }
                Effect::NotifyEnd { job, notification } => {
                    let profile = self.owner.with_engine(|engine| engine.job_profile(job)).value;
                    let user = profile.map_or_else(|| Arc::from(""), |profile| Arc::from(&*profile.user));
                    let notified = self.notifier.clone().notify(job, user, notification);
                    let owner = self.owner.clone();
                    tokio::task::spawn_local(async move {
                        notified.await;
                        owner.step(Event::EndNotified { id: job });
                    });
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

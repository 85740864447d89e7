//! Answers operators who ask about the scheduler, switch it, or reload the configuration.

use std::rc::Rc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::api::SwitchPlan;
use crate::config::settings::{LoadOptions, MarketSettings};
use crate::engine::{Event, Reply, SwitchReply};
use crate::server::{Owner, ReadWish, SwitchWaiter, plan_switch, read_wish, store_refusal};
use crate::store::FaultPoint;

use super::handover::{SchedulerAnswer, SchedulerCall, SchedulerRequest, name_of};
use super::reload::{Reload, Reloaded};

/// Answers requests of operators while a session serves.
#[derive(Clone)]
pub(super) struct SchedulerControl {
    pub(super) sources: LoadOptions,
    pub(super) owner: Rc<Owner>,
    pub(super) waiter: Rc<SwitchWaiter>,
    pub(super) reload: Rc<Reload>,
    /// Where switches go that need a market first.
    pub(super) openings: mpsc::UnboundedSender<MarketOpening>,
}

impl SchedulerControl {
    /// Answers each request on its own: one may wait for a tick of the market.
    pub(super) async fn answer_calls(self, mut calls: mpsc::UnboundedReceiver<SchedulerCall>) {
        let mut tasks = JoinSet::new();
        loop {
            tokio::select! {
                call = calls.recv() => match call {
                    Some(call) => {
                        let this = self.clone();
                        tasks.spawn_local(async move { this.answer(call).await });
                    }
                    None => return,
                },
                Some(_) = tasks.join_next() => {}
            }
        }
    }

    async fn answer(&self, mut call: SchedulerCall) {
        let user = name_of(call.user);
        let answer = match call.request.clone() {
            SchedulerRequest::Show => Ok(self.show().await),
            SchedulerRequest::Reload => {
                let reloaded = self.reload.reload_by(&user).await;
                reloaded.map(|Reloaded { summary, changes, warnings }| SchedulerAnswer::Reloaded {
                    summary,
                    changes,
                    warnings,
                })
            }
            SchedulerRequest::Plan { class, move_to } => {
                self.read(class, user, move_to).await.map(|read| SchedulerAnswer::Plan(plan_switch(&self.owner, &read)))
            }
            SchedulerRequest::Use { class, move_to } => match self.read(class, user, move_to).await {
                Ok(read) if read.market.is_some() => match self.open_market(read, call).await {
                    Ok(()) => return,
                    Err((back, answer)) => {
                        call = back;
                        answer
                    }
                },
                Ok(read) => self.switch(read, &mut call).await,
                Err(why) => Err(why),
            },
        };
        let answer = answer.unwrap_or_else(|why| SchedulerAnswer::Refused { why });
        if let Err(error) = call.answer(&answer).await {
            tracing::debug!("cannot answer an operator: {error}");
        }
    }

    async fn show(&self) -> SchedulerAnswer {
        let now = self.owner.clock().now();
        let status = self.owner.with_engine(|engine| engine.scheduler_status(now));
        // Nothing is shown that a crash could undo.
        match self.owner.wait_durable(self.owner.last_fact()).await {
            Ok(()) => SchedulerAnswer::Status(status),
            Err(gone) => SchedulerAnswer::Refused { why: gone.to_string() },
        }
    }

    async fn read(&self, class: String, by: String, move_to: Option<String>) -> Result<ReadWish, String> {
        let sources = self.sources.clone();
        let has_market = self.owner.with_engine(|engine| engine.market().is_some());
        let read = move || read_wish(&sources, &class, by, move_to, has_market);
        tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?
    }

    /// Has the next session, which begins with a market, do what is permitted; else the answer.
    async fn open_market(
        &self,
        read: ReadWish,
        call: SchedulerCall,
    ) -> Result<(), (SchedulerCall, Result<SchedulerAnswer, String>)> {
        let plan = plan_switch(&self.owner, &read);
        let Some(market) = read.market.filter(|_| plan.is_permitted()) else {
            return Err((call, Ok(SchedulerAnswer::Plan(plan))));
        };
        let sent = self.openings.send(MarketOpening { market, call });
        sent.map_err(|unsent| (unsent.0.call, Err("the daemon is stopping".to_owned())))
    }

    async fn switch(&self, read: ReadWish, call: &mut SchedulerCall) -> Result<SchedulerAnswer, String> {
        FaultPoint::SwitchRead.pass();
        if store_refusal(&self.owner).is_some() {
            return Ok(SchedulerAnswer::Plan(plan_switch(&self.owner, &read)));
        }
        let ReadWish { wish, keys, warnings, .. } = read;
        let with_files = |plan: SwitchPlan| plan.with_files(keys.clone(), warnings.clone());
        let (reply, wait_for) = self.owner.step(Event::SchedulerWished(Box::new(wish)));
        let Reply::Switch(reply) = reply else { return Err("the switch was not answered".to_owned()) };
        match reply {
            SwitchReply::Refused(plan) => Ok(SchedulerAnswer::Plan(with_files(*plan))),
            SwitchReply::Done(plan) => {
                FaultPoint::SwitchDecided.pass();
                self.owner.wait_durable(wait_for).await.map_err(|gone| gone.to_string())?;
                FaultPoint::SwitchDurable.pass();
                Ok(SchedulerAnswer::Done(with_files(*plan)))
            }
            SwitchReply::Waits(plan) => {
                let ended = self.waiter.wait();
                if call.answer(&SchedulerAnswer::Waits(with_files(*plan))).await.is_err() {
                    return Ok(self.withdraw());
                }
                let plan = tokio::select! {
                    plan = ended => plan.map_err(|error| error.to_string())?,
                    () = call.closed() => return Ok(self.withdraw()),
                };
                FaultPoint::SwitchDurable.pass();
                Ok(match plan.is_permitted() {
                    true => SchedulerAnswer::Done(with_files(plan)),
                    false => SchedulerAnswer::Plan(with_files(plan)),
                })
            }
        }
    }

    fn withdraw(&self) -> SchedulerAnswer {
        self.owner.step(Event::WishWithdrawn);
        SchedulerAnswer::Refused { why: "withdrawn".to_owned() }
    }
}

/// A switch to the market that needs one first.
pub(super) struct MarketOpening {
    pub(super) market: MarketSettings,
    /// The switch, which the next session does.
    pub(super) call: SchedulerCall,
}

impl MarketOpening {
    /// Answers that there is no market after all.
    pub(super) async fn refuse(mut self, why: &str) {
        let why = format!("no market can begin: {why}");
        tracing::error!("{why}");
        // The operator may have disconnected.
        let _: Result<_, _> = self.call.answer(&SchedulerAnswer::Refused { why }).await;
    }
}

//! Plans of a switch of the scheduler: by the files as they are now, against the live state.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;

use crate::api::{SwitchPlan, SwitchRefusal};
use crate::config::blanked::shown_value;
use crate::config::settings::{DYNAMIC_CLASS, LoadOptions, SchedulerName, UnknownScheduler};
use crate::store::Health;
use crate::web::{OwnerGone, PlanQuestion, PlanRefusal};

use super::owner::Owner;
use super::scheduler_files::{ReadWish, read_wish};

/// Reads the files for plans of pages, one at a time.
#[derive(Clone, Debug)]
pub(super) struct PlannedSwitches {
    sources: LoadOptions,
    permit: Arc<Semaphore>,
}

impl PlannedSwitches {
    pub(super) fn new(sources: LoadOptions) -> Self {
        Self { sources, permit: Arc::new(Semaphore::new(1)) }
    }

    /// Reads the files on the pool.
    pub(super) async fn read(&self, question: PlanQuestion, has_market: bool) -> Result<ReadWish, PlanRefusal> {
        let unknown = |error: UnknownScheduler| PlanRefusal::UnknownScheduler(error.to_string());
        let scheduler: SchedulerName = question.to.parse().map_err(unknown)?;
        if scheduler.class == DYNAMIC_CLASS && !question.sees_money {
            return Err(PlanRefusal::Private);
        }
        let permit = self.permit.clone().try_acquire_owned().map_err(|_| PlanRefusal::Busy)?;
        let sources = self.sources.clone();
        let read = move || {
            // Held until the read ends, even if no caller waits any more.
            let _permit = permit;
            read_wish(&sources, scheduler.class, question.by, question.move_to, has_market)
        };
        let read = tokio::task::spawn_blocking(read).await.map_err(|_| PlanRefusal::Gone(OwnerGone))?;
        let mut read = read.map_err(PlanRefusal::Files)?;
        for key in &mut read.keys {
            key.value = shown_value(&key.key, &key.value).into_owned();
        }
        Ok(read)
    }
}

/// Answers once what the plan shows is durable.
pub(super) fn answer_plan(
    owner: &Rc<Owner>,
    read: &ReadWish,
    reply: oneshot::Sender<SwitchPlan>,
    in_hand: &mut JoinSet<()>,
) {
    let (plan, owner) = (plan_switch(owner, read), owner.clone());
    in_hand.spawn_local(async move {
        if owner.wait_durable(owner.last_fact()).await.is_ok() {
            // The requester may have left.
            let _ = reply.send(plan);
        }
    });
}

/// What a switch would do now.
pub(crate) fn plan_switch(owner: &Owner, read: &ReadWish) -> SwitchPlan {
    let now = owner.clock().now();
    let mut plan = owner.with_engine(|engine| engine.plan_switch(&read.wish, now));
    plan.refusals.extend(store_refusal(owner));
    plan.with_files(read.keys.clone(), read.warnings.clone())
}

/// A switch must become durable soon: a full disk would leave the operator in doubt.
pub(crate) fn store_refusal(owner: &Owner) -> Option<SwitchRefusal> {
    let why = match owner.store_health() {
        Health::Good if owner.is_overloaded() => "too many changes wait for state.db".to_owned(),
        Health::Good => return None,
        Health::Failing { text, .. } => format!("state.db cannot be written: {text}"),
        Health::Broken { text } => format!("state.db is broken: {text}"),
    };
    Some(SwitchRefusal::Store(why))
}

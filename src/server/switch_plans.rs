//! Plans of a switch of the scheduler: by the files as they are now, against the live state.

use std::cell::RefCell;
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

use crate::api::{SetKey, SwitchPlan, SwitchRefusal};
use crate::config::blanked::shown_value;
use crate::config::settings::{
    BudgetStoreKind, DYNAMIC_CLASS, LoadOptions, MarketSettings, SchedulerName, UnknownScheduler, scheduler_keys,
};
use crate::config::{Settings, keys};
use crate::engine::{Read, SchedulerWish};
use crate::market::BudgetLine;
use crate::store::{BudgetBackEnd as _, CommandBackEnd, Health, PostgresBackEnd, read_budgets};
use crate::web::{OwnerGone, PlanQuestion, PlanRefusal};

use super::acl_file::AclFile;
use super::engine_config::policy;
use super::owner::Owner;
use super::owner_requests::OwnerThread;

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

/// The plan once what it shows is durable.
pub(super) fn answer_plan(
    OwnerThread { owner, .. }: OwnerThread,
    read: &ReadWish,
) -> impl Future<Output = Option<SwitchPlan>> + use<> {
    let shown = Read { value: plan_switch(&owner, read), wait_for: owner.last_fact() };
    async move { owner.when_durable(shown).await }
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

#[derive(Debug, Default)]
pub(crate) struct SwitchWaiter(RefCell<Option<oneshot::Sender<SwitchPlan>>>);

impl SwitchWaiter {
    /// Completes with what the switch did, or with why it was refused.
    pub(crate) fn wait(&self) -> oneshot::Receiver<SwitchPlan> {
        let (sender, receiver) = oneshot::channel();
        self.0.replace(Some(sender));
        receiver
    }

    /// Notifies the operator.
    pub(crate) fn end_wait(&self, plan: SwitchPlan) {
        if let Some(waiting) = self.0.take() {
            // The operator may have left.
            let _ = waiting.send(plan);
        }
    }
}

/// A wish with what its files say.
#[derive(Debug)]
pub(crate) struct ReadWish {
    pub(crate) wish: SchedulerWish,
    /// Keys that count and are set.
    pub(crate) keys: Vec<SetKey>,
    /// Warnings about values.
    pub(crate) warnings: Vec<String>,
    /// The market that would begin, if the scheduler needs one and there is none.
    pub(crate) market: Option<MarketSettings>,
}

/// Reads the configuration as it is now, with the files of the scheduler of this class and no other's; without a market,
/// those of the market that it needs as well. Blocking.
pub(crate) fn read_wish(
    sources: &LoadOptions,
    class: &str,
    by: String,
    move_to: Option<String>,
    has_market: bool,
) -> Result<ReadWish, String> {
    let configuration = sources.configuration().map_err(|error| error.to_string())?;
    let configured = configuration.required(&keys::TASK_SCHEDULER).map_err(|error| error.to_string())?;
    let (settings, warnings) = Settings::load(&sources.under(class)).map_err(|error| error.to_string())?;
    let keys = scheduler_keys(&settings).map_err(|error| error.to_string())?;
    let keys = keys.into_iter().map(|(key, value, place)| SetKey { key, value, place }).collect();
    let policy = policy(&settings.scheduler, settings.heartbeat.min_interval_ms);
    let market = settings.market.clone().filter(|_| policy.is_market() && !has_market);
    let first_budgets = market.as_ref().map(read_market_files).transpose()?;
    let wish = SchedulerWish {
        class: class.to_owned(),
        configured: configured.value.trim().to_owned(),
        by,
        policy,
        queues: settings.queues.queues.clone(),
        move_to,
        first_budgets,
    };
    Ok(ReadWish { wish, keys, warnings: warnings.iter().map(ToString::to_string).collect(), market })
}

/// Reads what a market begins with: users who may sign, and the returned budgets.
fn read_market_files(market: &MarketSettings) -> Result<Vec<BudgetLine>, String> {
    let no_market = |error: String| format!("there is no market yet, and none can begin: {error}");
    AclFile::open(market.acl_file.clone()).map_err(|error| no_market(error.to_string()))?;
    let budgets = match &market.budget_store {
        BudgetStoreKind::File(path) => read_budgets(path),
        BudgetStoreKind::Command(words) => CommandBackEnd::new(words.clone()).load(),
        BudgetStoreKind::Postgres(postgres) => PostgresBackEnd::look(postgres.clone(), None),
    };
    budgets.map_err(|error| no_market(error.to_string()))
}

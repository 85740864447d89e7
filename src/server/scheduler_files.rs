//! Reads the files of a scheduler that is not the configured one, and makes a wish of them.

use crate::api::SetKey;
use crate::config::settings::{BudgetStoreKind, LoadOptions, MarketSettings, scheduler_keys};
use crate::config::{Settings, keys};
use crate::engine::SchedulerWish;
use crate::market::BudgetLine;
use crate::store::{BudgetBackEnd as _, CommandBackEnd, PostgresBackEnd, read_budgets};

use super::acl_file::AclFile;
use super::engine_config::{policy, queue_configs};

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
///
/// # Errors
/// A text that names the file, line, key and value.
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
        queues: queue_configs(&settings.queues),
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

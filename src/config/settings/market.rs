//! The market: its files, its signatures and who sees its money.

use std::path::{Path, PathBuf};

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::config::keys::Key;

use super::budget_store::BudgetStoreKind;
use super::scheduler::DYNAMIC_CLASS;
use super::{JobChangeSettings, SchedulerKind};

/// Settings of the market, which rules under the Dynamic Priority Scheduler and keeps accounts under every other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarketSettings {
    /// Back-end for budgets outside of the state database.
    pub(crate) budget_store: BudgetStoreKind,
    pub(crate) acl_file: PathBuf,
    /// Maximum difference between a request's timestamp and the server's clock, ms.
    pub(crate) signature_window_ms: u64,
    /// Maximum difference between a job signature's timestamp and the server's clock, ms.
    pub(crate) job_signature_window_ms: u64,
    /// Number of jobs that one signature may submit.
    pub(crate) job_signature_uses: u32,
    /// Whether unsigned requests see shares of queues and costs of jobs.
    pub(crate) is_public: bool,
}

impl MarketSettings {
    /// The market of a cluster with this scheduler: the Dynamic Priority Scheduler needs one, and so does every other
    /// where changes must be signed; else there is one where the ACL file is.
    pub(super) fn find(
        configuration: &Configuration,
        scheduler: &SchedulerKind,
        are_changes_signed: bool,
    ) -> Result<Option<Self>, ConfigError> {
        let is_needed = are_changes_signed || matches!(scheduler, SchedulerKind::Dynamic(_));
        let is_there = is_needed || Self::has_acl_file(configuration);
        if is_there { Self::from_configuration(configuration).map(Some) } else { Ok(None) }
    }

    /// Whether a configuration needs a market, whatever files there are.
    ///
    /// # Errors
    /// A value that expands without end.
    pub(super) fn is_needed(configuration: &Configuration) -> Result<bool, ConfigError> {
        let is_dynamic = configuration.required(&keys::TASK_SCHEDULER)?.value.trim() == DYNAMIC_CLASS;
        Ok(is_dynamic || JobChangeSettings::from_configuration(configuration)?.are_signed)
    }

    /// Whether the file of the market's users is there.
    pub(super) fn has_acl_file(configuration: &Configuration) -> bool {
        let path = configuration.local_path(&keys::ACL_FILE).ok().flatten();
        // A file that cannot be looked at is there: reading it names the reason.
        path.is_some_and(|path| path.try_exists().unwrap_or(true))
    }

    /// The budget file, where it is the image of the budgets.
    #[must_use]
    pub(crate) fn image_file(&self) -> Option<&Path> {
        match &self.budget_store {
            BudgetStoreKind::File(path) => Some(path),
            BudgetStoreKind::Command(_) | BudgetStoreKind::Postgres(_) => None,
        }
    }

    fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        // The key table limits the seconds, so this cannot overflow.
        let milliseconds = |key: &Key| configuration.number::<u64>(key).map(|seconds| seconds.saturating_mul(1000));
        Ok(MarketSettings {
            budget_store: BudgetStoreKind::from_configuration(configuration)?,
            acl_file: configuration.required_local_path(&keys::ACL_FILE)?,
            signature_window_ms: milliseconds(&keys::SIGNATURE_WINDOW)?,
            job_signature_window_ms: milliseconds(&keys::JOB_SIGNATURE_WINDOW)?,
            job_signature_uses: configuration.number(&keys::JOB_SIGNATURE_USES)?,
            is_public: configuration.required(&keys::MARKET_VISIBILITY)?.value.trim() == "public",
        })
    }
}

//! What the web server needs of the owner of all state. The server implements it; tests have one of their own.

use std::sync::Arc;

use crate::engine::ClusterSnapshot;
use crate::engine::explanation::Explained;
use crate::market::{
    Acl, Answer, HistoryPage, MarketError, PriceHistory, QueueName, ServletRequest, SpendingHistory, Statement,
    StatementPage,
};
use crate::model::JobId;

/// The way to the owner of all state.
pub trait Owner: Send + Sync + 'static {
    /// Carries a `/scheduler` request to the engine. Completes when what the answer shows is durable.
    ///
    /// # Errors
    ///
    /// [`OwnerGone`] when no answer will come. The operation may have been done all the same.
    fn market(&self, request: ServletRequest) -> impl Future<Output = Result<MarketReply, OwnerGone>> + Send;

    /// Reads a part of a queue's history, what of it is durable; none if there never was such a queue. The owner's
    /// thread has nothing to do with it.
    ///
    /// # Errors
    ///
    /// [`LedgerUnreadable`] when the ledger cannot be read.
    fn statement(
        &self,
        queue: QueueName,
        page: StatementPage,
    ) -> impl Future<Output = Result<Option<Statement>, LedgerUnreadable>> + Send;

    /// Reads the price over time, what of it is durable. The owner's thread has nothing to do with it.
    ///
    /// # Errors
    ///
    /// [`LedgerUnreadable`] when the history cannot be read.
    fn price_history(&self, page: HistoryPage) -> impl Future<Output = Result<PriceHistory, LedgerUnreadable>> + Send;

    /// Reads what a queue has paid over time; none if there never was such a queue. The owner's thread has nothing to do
    /// with it.
    ///
    /// # Errors
    ///
    /// [`LedgerUnreadable`] when the history cannot be read.
    fn spending_history(
        &self,
        queue: QueueName,
        page: HistoryPage,
    ) -> impl Future<Output = Result<Option<SpendingHistory>, LedgerUnreadable>> + Send;

    /// Why a job has the slots it has; none for one that is not known. `sees_names`: whether other queues may be named.
    ///
    /// # Errors
    ///
    /// [`OwnerGone`] when no answer will come.
    fn explain(
        &self,
        job: JobId,
        sees_names: bool,
    ) -> impl Future<Output = Result<Option<Box<Explained>>, OwnerGone>> + Send;

    /// A snapshot of the cluster.
    ///
    /// # Errors
    ///
    /// [`OwnerGone`] when no answer will come.
    fn overview(&self) -> impl Future<Output = Result<Arc<ClusterSnapshot>, OwnerGone>> + Send;

    /// Who may sign: the content of the file at this moment, or the last one that could be read. Blocks nobody.
    fn acl(&self) -> impl Future<Output = Arc<Acl>> + Send;

    /// How the daemon fares. Answers at once, also when the owner does not.
    fn health(&self) -> Health;
}

/// What the engine made of a `/scheduler` request: the answer, or why there is none.
pub type MarketReply = Result<Answer, MarketError>;

/// The owner has stopped, or takes no more requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the JobTracker does not take requests now")]
pub struct OwnerGone;

/// The ledger cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger cannot be read: {0}")]
pub struct LedgerUnreadable(pub String);

/// How the daemon fares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The owner's thread runs. When it does not, the daemon should be restarted.
    pub is_alive: bool,
    /// Jobs can be submitted and run: the store takes facts and the RPC port is open.
    pub is_ready: bool,
    /// One line for people: `ok`, or what is wrong.
    pub text: String,
    /// What is wrong with the ACL file; the last good list is in force.
    pub acl_error: Option<String>,
    /// Why the budget file cannot show the ledger at present.
    pub budget_error: Option<String>,
    /// What the store has taken and cannot give back after a restart.
    pub store_error: Option<String>,
    /// Updates of the store that have found no row: 0, but for a defect.
    pub rowless_updates: u64,
}

// === impl Health ===

impl Health {
    /// What is wrong and does not keep jobs from running.
    pub fn complaints(&self) -> impl Iterator<Item = &str> {
        [&self.store_error, &self.acl_error, &self.budget_error].into_iter().flatten().map(String::as_str)
    }
}

//! The market, in two parts. Pure.
//!
//! `money`: [`Market`] is the state. [`Market::tick`] charges and allocates. Every method that changes the state
//! returns the [`MarketFact`]s that rebuild it.
//!
//! `requests`: [`Market::handle_request`] answers `/scheduler`, [`Market::authorize_job`] authorizes submissions.
//! [`Acl`], [`signature::verify`] and [`ParsedQuery::parse`] serve the web server before the request reaches the
//! market.

mod money;
mod requests;
#[cfg(test)]
mod tests;

pub use money::{
    Account, AppliedBudgetFile, Bidding, BudgetFileError, BudgetLine, Charge, Consumer, Interval, KeyId, LedgerAccount,
    LedgerEntry, LedgerTotals, MAX_ORDERS_OF_QUEUE, MAX_QUEUES, Market, MarketConfig, MarketFact, OpenBids, Order,
    OrderEnd, Published, QueueChange, QueueTick, QueueUse, Quote, Reason, ReplayGuard, ReplayRefusal,
    RoundingRemainder, Share, Stamp, Tick, budget_file,
};
pub use requests::{
    Acl, AclEntry, AclError, AclProblem, Answer, Denial, ErrorClass, HandledRequest, HistoryPage, JobDenied,
    JobSignature, JobUpload, Key, MarketError, Operation, OperationKind, OrderError, ParseQuery, ParsedQuery,
    QueryError, QueueInfo, Role, ServletRequest, SignatureError, Spans, StatementPage, VerifiedUser, answer,
    job_signature, signature,
};

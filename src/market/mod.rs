//! The market, in two parts. Pure.
//!
//! `money`: [`Market`] is the state. [`Market::tick`] charges and allocates. Every method that changes the state
//! returns the [`MarketFact`]s that rebuild it.
//!
//! `requests`: [`Market::handle_request`] answers `/scheduler`, [`Market::authorize_job`] authorizes submissions. [`Acl`],
//! [`signature::verify`] and [`ParsedQuery::parse`] serve the web server before the request reaches the market.

mod money;
mod requests;
#[cfg(test)]
mod tests;

pub use money::{
    Account, Allowance, BudgetLine, Charge, Consumer, ContainerUse, ForgottenStamps, Holding, KeyId, LedgerAccount,
    LedgerEntry, Market, MarketConfig, MarketFact, QueueUse, Reason, SignedTextId, SlotHolder, Stamp, TakenTopUp, Tick,
    TopUp, TopUpAnswer, budget_file,
};
pub(crate) use money::{
    AllowanceTerms, Bidding, BudgetFileError, EVERYONE, GivenBack, Grace, GraceStep, HeldChange, Interval, LaidCharge,
    LedgerTotals, MAX_ORDERS_OF_QUEUE, MOST_MISSED_PERIODS, Meter, Metered, OpenBids, Order, OrderEnd, QueueChange,
    QueueTick, Quote, ReplayGuard, ReplayRefusal, Share, Signature,
};
#[cfg(test)]
pub(crate) use money::{AppliedBudgetFile, RoundingRemainder};
pub use requests::{
    Acl, Answer, HistoryPage, JobSignature, Key, MarketError, Operation, OperationKind, ParsedQuery, ReportKind,
    ReportRequest, RetiringKey, Role, ServletRequest, StatementPage, VerifiedUser, signature,
};
pub(crate) use requests::{
    AclEditError, AclEntry, AclError, AclText, DeadlineFields, Denial, ErrorClass, FROM_SQL, JobAnswer, JobDenied,
    JobRequest, JobRequestError, JobUpload, KeyFault, MAX_RETIRING_MS, OrderError, QueryError, QueueInfo, ReportFilter,
    Spans, answer, job_signature,
};
#[cfg(test)]
pub(crate) use requests::{HandledRequest, SignatureError};

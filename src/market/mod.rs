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
    Account, Allowance, AllowanceTerms, AppliedBudgetFile, Bidding, BudgetFileError, BudgetLine, Charge, Consumer,
    ContainerUse, EVERYONE, ForgottenStamps, GivenBack, Grace, GraceStep, HeldChange, Holding, Interval, KeyId,
    LaidCharge, LedgerAccount, LedgerEntry, LedgerTotals, MAX_ORDERS_OF_QUEUE, MAX_QUEUES, MOST_MISSED_PERIODS,
    MOST_NOTE_CHARACTERS, Market, MarketConfig, MarketFact, Meter, Metered, MeteredUse, OpenBids, Order, OrderEnd,
    PaidAllowances, Part, Published, QueueChange, QueueTick, QueueUse, Quote, Reason, ReplayGuard, ReplayRefusal,
    RoundingRemainder, Share, Signature, SignedTextId, SlotHolder, Stamp, TakenTopUp, Tick, TopUp, TopUpAnswer,
    budget_file, divide_slots,
};
pub use requests::{
    Acl, AclEditError, AclEntry, AclError, AclProblem, AclText, Answer, DeadlineWords, Denial, ErrorClass, FROM_SQL,
    HandledRequest, HistoryPage, JobAnswer, JobDenied, JobRequest, JobRequestError, JobRequestKind, JobSignature,
    JobUpload, Key, KeyFault, MAX_RETIRING_MS, MarketError, Operation, OperationKind, OrderError, ParsedQuery,
    QueryError, QueueInfo, ReportFilter, ReportKind, ReportRequest, RetiringKey, Role, ServletRequest, SignatureError,
    Spans, StatementPage, VerifiedUser, answer, job_signature, signature,
};

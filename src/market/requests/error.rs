//! Refusals of the market.

use crate::api::passed_text;
use crate::market::money::{MOST_NOTE_CHARACTERS, ReplayRefusal, TakenTopUp};
use crate::model::{Credits, JobId, QueueName};

use super::job_request::JobRequestError;
use super::query::QueryError;
use super::signature::SignatureError;

/// The class of a refusal, which the web server maps to an HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    /// Not authorized: by the document HTTP 500 with the text `ACCESS DENIED: ` and the query.
    Denied,
    /// The request is malformed: 400.
    BadRequest,
    /// No such queue: 404.
    NotFound,
    /// Not possible in the present state: 409.
    Conflict,
    /// Refused because of a bug of the server: 503.
    Unavailable,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarketError {
    #[error("ACCESS DENIED: {query}")]
    Denied {
        query: String,
        /// Why, and the server's time in epoch ms; only for those whose signature was good.
        reason: Option<(Denial, i64)>,
    },
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error("there is no queue {0}")]
    UnknownQueue(String),
    #[error("there is no worker {0}; expected a name of `jobtracker workers list`")]
    UnknownWorker(String),
    #[error("{0} workers are drained, the limit: resume one first")]
    TooManyDrains(usize),
    #[error("queue {0} exists already")]
    QueueExists(QueueName),
    #[error("queue {0} has unfinished jobs or applications")]
    QueueBusy(QueueName),
    /// The queue will pay at the next tick for what it has held.
    #[error("queue {0} pays at the next tick for the slots it has held: remove it then")]
    QueueOwes(QueueName),
    #[error("there are {0} queues, the limit")]
    TooManyQueues(usize),
    #[error("the reference {} was taken over for queue {} and {}, as ledger entry {}", .0.reference, .0.queue, .0.amount, .0.ledger)]
    ReferenceUsed(Box<TakenTopUp>),
    /// A top-up that was refused comes again, perhaps from an older backup of its table.
    #[error("the reference {0} was refused before, and is refused for ever: insert another one")]
    ReferenceRefused(String),
    #[error("expected a reference of 1 to 100 visible ASCII characters without blanks")]
    BadReference,
    #[error(
        "expected texts without control characters: a reference and a note of at most {MOST_NOTE_CHARACTERS} characters together, and a made_by of at most 63 bytes"
    )]
    BadNote,
    #[error("expected an amount other than 0")]
    NoAmount,
    #[error("queue {queue} has {balance}, less than the {amount} to be taken out")]
    Overdrawn { queue: QueueName, balance: Credits, amount: Credits },
    /// The balance is needed to pay the open interval.
    #[error("queue {queue} may owe {committed} of its {balance} for the open interval; retry after the next tick")]
    Committed { queue: QueueName, balance: Credits, committed: Credits },
    #[error("queue {0} has no allowance")]
    NoAllowance(QueueName),
    /// Another scheduler assigns the slots.
    #[error("the market does not rule: no rate buys slots while the scheduler is another one")]
    NotRuling,
    #[error(transparent)]
    Job(#[from] JobRequestError),
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The server refuses this request because a bug in it stopped the server; the text says what to do.
    #[error("{0}")]
    Quarantined(String),
    #[error("queue {queue} has {balance}; with {amount} more it would exceed 10^12")]
    BalanceTooLarge { queue: QueueName, balance: Credits, amount: Credits },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// No such job, or no job of the signer.
    #[error("bid: there is no job {0}")]
    UnknownJob(JobId),
    #[error("bid: {0} has ended")]
    JobOver(JobId),
    /// No queue of the market pays for the job: it was submitted while another scheduler ruled.
    #[error("bid: no queue pays for {0}: it was submitted without a signature")]
    NotPaid(JobId),
    #[error("deadline: {}", passed_text(*.deadline_ms, *.now_ms))]
    Passed { deadline_ms: i64, now_ms: i64 },
    #[error("maxRate: {max_rate} is below {bid}, which queue {queue} bids anyway")]
    MaxRateBelowBid { queue: QueueName, max_rate: Credits, bid: Credits },
    #[error("maxCost: {job} has cost {spent}, and {max_cost} is less")]
    MaxCostBelowSpent { job: JobId, max_cost: Credits, spent: Credits },
    #[error("bid: queue {queue} has {most} orders, the limit")]
    TooManyOrders { queue: QueueName, most: usize },
    #[error("unbid: there is no order for {0}")]
    NoOrder(JobId),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    #[error("timestamp {0:?} is not a number of milliseconds")]
    BadTimestamp(String),
    #[error(transparent)]
    Replay(#[from] ReplayRefusal),
    #[error("{operation} needs the role admin, which {user} has not")]
    NeedsAdmin { operation: &'static str, user: String },
    /// The lists of the job do not name the signer; the text is that of a call by RPC.
    #[error("{0}")]
    OfJob(String),
    #[error("{operation} of any queue but their own needs the role admin, which {user} has not")]
    NotOwner { operation: &'static str, user: String },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JobDenied {
    /// A job goes to the queue of its user's name, whatever the role.
    #[error("ACCESS DENIED: queue {queue:?} differs from user {user:?}")]
    QueueDiffers { queue: String, user: String },
    #[error(
        "ACCESS DENIED: queue {queue:?} differs from user {user:?}: there is no queue {user}: an administrator adds it: \
         jobtracker queue add {user}"
    )]
    NoQueue { queue: String, user: String },
    #[error("ACCESS DENIED: user {0:?}: the user is unknown: an administrator adds it: jobtracker user add {0}")]
    UnknownUser(String),
    #[error("ACCESS DENIED: missing signature: mapred.job.signature is not set")]
    MissingSignature,
    #[error("ACCESS DENIED: missing timestamp: mapred.job.timestamp is not set")]
    MissingTimestamp,
    #[error("ACCESS DENIED: bad mapred.job.signature of user {user:?}: {error}")]
    Signature { user: String, error: SignatureError },
    #[error("ACCESS DENIED: mapred.job.timestamp {0:?} is not a number of milliseconds")]
    BadTimestamp(String),
    #[error("ACCESS DENIED: mapred.job.signature is stale or replayed: {0}")]
    Replay(#[from] ReplayRefusal),
}

impl MarketError {
    pub(crate) fn class(&self) -> ErrorClass {
        match self {
            MarketError::Denied { .. } => ErrorClass::Denied,
            MarketError::Query(_)
            | MarketError::Overdrawn { .. }
            | MarketError::BalanceTooLarge { .. }
            | MarketError::BadReference
            | MarketError::BadNote
            | MarketError::NoAmount => ErrorClass::BadRequest,
            MarketError::UnknownQueue(_)
            | MarketError::UnknownWorker(_)
            | MarketError::NoAllowance(_)
            | MarketError::Order(OrderError::UnknownJob(_) | OrderError::NoOrder(_)) => ErrorClass::NotFound,
            MarketError::Order(
                OrderError::Passed { .. } | OrderError::MaxRateBelowBid { .. } | OrderError::MaxCostBelowSpent { .. },
            ) => ErrorClass::BadRequest,
            MarketError::Order(OrderError::JobOver(_) | OrderError::NotPaid(_) | OrderError::TooManyOrders { .. }) => {
                ErrorClass::Conflict
            }
            MarketError::QueueExists(_)
            | MarketError::QueueBusy(_)
            | MarketError::QueueOwes(_)
            | MarketError::TooManyQueues(_)
            | MarketError::ReferenceUsed(_)
            | MarketError::ReferenceRefused(_)
            | MarketError::TooManyDrains(_)
            | MarketError::Committed { .. }
            | MarketError::NotRuling => ErrorClass::Conflict,
            MarketError::Job(JobRequestError::UnknownJob(_) | JobRequestError::UnknownAttempt(_)) => {
                ErrorClass::NotFound
            }
            MarketError::Job(JobRequestError::NotRunning(_)) => ErrorClass::Conflict,
            MarketError::Job(JobRequestError::Refused(_)) => ErrorClass::BadRequest,
            MarketError::Job(JobRequestError::Unavailable(_)) | MarketError::Quarantined(_) => ErrorClass::Unavailable,
        }
    }

    /// The second line of a denial's body: the reason and the server's time.
    pub(crate) fn reason_line(&self) -> Option<String> {
        match self {
            MarketError::Denied { reason: Some((denial, now_ms)), .. } => {
                Some(format!("{denial}; the server's time is {now_ms}"))
            }
            _ => None,
        }
    }
}

//! The query string of a `/scheduler` request, parsed in two stages.
//!
//! [`ParsedQuery`] holds the operation and the user; [`ParsedQuery::operation`] parses the parameters. Authorization
//! happens between the two, so a denied request reveals nothing about its parameters.

use std::borrow::Cow;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

use crate::market::money::{AllowanceTerms, MOST_NOTE_CHARACTERS, Order};
use crate::model::{Credits, CreditsError, JobId, QueueName, QueueNameError, excerpt};

use super::job_request::JobRequest;
use super::job_upload::JobUpload;
use super::operation_kind::OperationKind;
use super::report_request::ReportRequest;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParsedQuery {
    /// The query string as received: what was signed.
    pub raw: String,
    pub kind: OperationKind,
    /// The decoded value of the operation's own parameter.
    pub value: String,
    pub queue: Option<String>,
    pub user: Option<String>,
    pub timestamp: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Nothing,
    Price,
    Time,
    /// One queue as published; `None` is the signer's own.
    Info(Option<QueueName>),
    /// All queues as published.
    Infos,
    SetSpending {
        queue: QueueName,
        /// Credits for one slot over one interval; 0 to 10^12.
        rate: Credits,
    },
    /// Credits added, or withdrawn if negative.
    AddBudget {
        queue: QueueName,
        /// Within plus or minus 10^12.
        amount: Credits,
        /// What the signer says about it; empty: nothing.
        note: String,
    },
    Transfer {
        from: QueueName,
        /// Where they are added; another queue.
        to: QueueName,
        /// Above 0, to 10^12.
        amount: Credits,
        note: String,
    },
    Allowance {
        queue: QueueName,
        /// What it gets; `None` ends the allowance.
        terms: Option<AllowanceTerms>,
    },
    Report(ReportRequest),
    AddQueue(QueueName),
    RemoveQueue(QueueName),
    Quote {
        queue: QueueName,
        rate: Credits,
    },
    Bid {
        /// The queue of its owner.
        queue: QueueName,
        order: Order,
    },
    Unbid {
        queue: QueueName,
        job: JobId,
    },
    /// The ledger entries of a queue; `None` is the signer's own.
    Statement(Option<QueueName>),
    /// The live status of one queue, or of all.
    QueueStatus(Option<QueueName>),
    PriceHistory,
    QueueHistory(QueueName),
    Explain {
        /// The job's id, not yet parsed.
        job: String,
        /// Whether the signer may see the names of other queues.
        sees_names: bool,
    },
    /// What an order for a job that is not submitted would buy.
    OrderQuote {
        queue: QueueName,
        max_rate: Credits,
    },
    OfJob(JobRequest),
    /// What a call of job clients reads.
    Read {
        /// The call, not yet decoded.
        call: String,
        /// The signer.
        by: String,
        has_admin_role: bool,
    },
    /// Nothing of a queue starts any more, or again.
    PauseQueue {
        queue: String,
        is_on: bool,
        by: String,
    },
    /// A worker gets no new tasks any more, or again.
    Drain {
        worker: String,
        is_on: bool,
        by: String,
    },
    /// The attempts of a job, whose id is not yet parsed.
    Tasks {
        job: String,
        by: String,
        has_admin_role: bool,
    },
    /// The times of all jobs, and the costs of those that the signer may see.
    JobTimes {
        /// The user whose jobs' costs are shown; none: of all.
        costs_of: Option<String>,
    },
    /// A file of a job that the signer is about to submit.
    Upload(JobUpload),
    /// A read-only session of the signer.
    Session {
        /// Where it begins: a path of this server.
        page: String,
        by: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A `%` without two hexadecimal digits, or escapes that are not UTF-8.
    #[error("{0:?} is not a URL-encoded UTF-8 text")]
    Encoding(String),
    #[error("the parameter {0} is given more than once")]
    Repeated(&'static str),
    #[error("{0} and {1} are two operations; a request carries one")]
    SeveralOperations(&'static str, &'static str),
    #[error(
        "no known operation; expected one of price, time, info, infos, setSpending, addBudget, addQueue, removeQueue, quote, bid, unbid, transfer, allowance, killJob, killTask, failTask, setJobPriority, setJobDeadline, drain, resume"
    )]
    NoOperation,
    /// What an address is there for is not asked for.
    #[error("expected {0}")]
    NothingAsked(&'static str),
    #[error("{parameter}: {value:?} is not a whole number")]
    Number { parameter: &'static str, value: String },
    #[error("{parameter}: expected a whole number from {least} to {most}")]
    OutOfRange { parameter: &'static str, least: u32, most: u32 },
    #[error("{operation} needs a parameter {parameter}")]
    MissingParameter { operation: &'static str, parameter: &'static str },
    #[error("{parameter}: {value:?} is not the id of a job")]
    JobId { parameter: &'static str, value: String },
    #[error("{parameter}: {value:?} is not the id of an attempt")]
    AttemptId { parameter: &'static str, value: String },
    /// Not a name of a job's file.
    #[error(
        "name: {0:?}: expected a path below the job's folder: at most 8 plain names, no `..`, no control characters"
    )]
    FileName(String),
    /// Not a path that can only lead to this server.
    #[error("session: expected a path of this server, such as /market: one / first, visible ASCII characters, no \\")]
    SessionPage,
    #[error("sha256: expected the SHA-256 of the content, 64 hexadecimal digits")]
    Digest,
    #[error("{0} needs a parameter queue")]
    MissingQueue(&'static str),
    #[error(transparent)]
    QueueName(#[from] QueueNameError),
    #[error("{parameter}: {error}")]
    Amount { parameter: &'static str, error: CreditsError },
    #[error("{parameter}: {amount} is not above 0")]
    NotPositive { parameter: &'static str, amount: Credits },
    #[error("from and to are both {0}, expected two queues")]
    SameQueue(QueueName),
    #[error("note: {0} characters, expected at most {most}", most = MOST_NOTE_CHARACTERS)]
    NoteTooLong(usize),
    #[error("note: {0:?} is a control character, expected one line of plain text")]
    NoteCharacter(char),
    /// A filter that the report has no column for.
    #[error("queue, state: expected only of report=jobs, not of report={0}")]
    ReportFilter(&'static str),
    #[error("by: {0:?} is no period, expected month")]
    ReportPeriod(String),
    #[error("report: {0:?} is no report, expected users, queues or jobs")]
    ReportName(String),
    #[error("until: {until_ms} is before since, {since_ms}")]
    UntilBeforeSince { until_ms: i64, since_ms: i64 },
    /// A negative rate would earn money.
    #[error("{parameter}: {rate} is negative")]
    NegativeRate { parameter: &'static str, rate: Credits },
}

impl ParsedQuery {
    /// Parses a raw query string: everything after the first `?`, not decoded. Other parameters are ignored, as in the
    /// original; several operations or a repeated parameter are errors.
    pub fn parse(query: &str) -> Result<ParsedQuery, QueryError> {
        match ParsedQuery::parse_of(&OperationKind::NAMED, query)? {
            Some(parsed) => Ok(parsed),
            None if query.is_empty() => Ok(ParsedQuery::empty(OperationKind::Nothing)),
            None => Err(QueryError::NoOperation),
        }
    }

    pub(super) fn empty(kind: OperationKind) -> ParsedQuery {
        ParsedQuery { raw: String::new(), kind, value: String::new(), queue: None, user: None, timestamp: None }
    }

    pub(super) fn parse_of(operations: &[OperationKind], query: &str) -> Result<Option<ParsedQuery>, QueryError> {
        let named = |parameter: &str| operations.iter().copied().find(|kind| kind.parameter() == parameter);
        let mut operation: Option<(OperationKind, String)> = None;
        let (mut queue, mut user, mut timestamp) = (None, None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            match name.as_ref() {
                "queue" => set_once(&mut queue, "queue", value)?,
                "user" => set_once(&mut user, "user", value)?,
                "timestamp" => set_once(&mut timestamp, "timestamp", value)?,
                other => match (named(other), &operation) {
                    (None, _) => {}
                    (Some(kind), None) => operation = Some((kind, decode(value)?.into_owned())),
                    (Some(kind), Some((first, _))) if *first == kind => {
                        return Err(QueryError::Repeated(kind.parameter()));
                    }
                    (Some(kind), Some((first, _))) => {
                        return Err(QueryError::SeveralOperations(first.parameter(), kind.parameter()));
                    }
                },
            }
        }
        let parsed = |(kind, value)| ParsedQuery { raw: query.to_owned(), kind, value, queue, user, timestamp };
        Ok(operation.map(parsed))
    }

    pub(crate) fn operation(&self) -> Result<Operation, QueryError> {
        Ok(match self.kind {
            OperationKind::Nothing => Operation::Nothing,
            OperationKind::Price => Operation::Price,
            OperationKind::Time => Operation::Time,
            OperationKind::Infos => Operation::Infos,
            OperationKind::Info => Operation::Info(self.target().map(QueueName::new).transpose()?),
            OperationKind::Statement => Operation::Statement(self.target().map(QueueName::new).transpose()?),
            OperationKind::AddQueue => Operation::AddQueue(self.queue_name()?),
            OperationKind::RemoveQueue => Operation::RemoveQueue(self.queue_name()?),
            OperationKind::AddBudget => {
                Operation::AddBudget { queue: self.queue_name()?, amount: self.amount()?, note: self.note()? }
            }
            OperationKind::Transfer => self.transfer()?,
            OperationKind::Allowance => self.allowance()?,
            OperationKind::Report => Operation::Report(self.report()?),
            OperationKind::SetSpending => Operation::SetSpending { queue: self.queue_name()?, rate: self.rate()? },
            OperationKind::Quote => Operation::Quote { queue: self.queue_name()?, rate: self.rate()? },
            OperationKind::Bid => Operation::Bid { queue: self.queue_name()?, order: self.order()? },
            OperationKind::Unbid => Operation::Unbid { queue: self.queue_name()?, job: self.job()? },
            OperationKind::QueueStatus => Operation::QueueStatus(self.target().map(QueueName::new).transpose()?),
            OperationKind::PriceHistory => Operation::PriceHistory,
            OperationKind::QueueHistory => Operation::QueueHistory(self.queue_name()?),
            OperationKind::Explain => Operation::Explain { job: self.value.clone(), sees_names: false },
            OperationKind::Drain | OperationKind::Resume => Operation::Drain {
                worker: self.value.clone(),
                is_on: self.kind == OperationKind::Drain,
                by: self.user.clone().unwrap_or_default(),
            },
            OperationKind::PauseQueue | OperationKind::ResumeQueue => Operation::PauseQueue {
                queue: self.value.clone(),
                is_on: self.kind == OperationKind::PauseQueue,
                by: self.user.clone().unwrap_or_default(),
            },
            OperationKind::Tasks => {
                let by = self.user.clone().unwrap_or_default();
                Operation::Tasks { job: self.value.clone(), by, has_admin_role: false }
            }
            OperationKind::Read => Operation::Read {
                call: self.value.clone(),
                by: self.user.clone().unwrap_or_default(),
                has_admin_role: false,
            },
            OperationKind::JobTimes => Operation::JobTimes { costs_of: self.user.clone() },
            OperationKind::OrderQuote => Operation::OrderQuote { queue: self.queue_name()?, max_rate: self.rate()? },
            OperationKind::OfJob(kind) => Operation::OfJob(self.job_request(kind)?),
            OperationKind::Upload => Operation::Upload(self.upload()?),
            OperationKind::Session => {
                Operation::Session { page: self.value.clone(), by: self.user.clone().unwrap_or_default() }
            }
        })
    }

    fn rate(&self) -> Result<Credits, QueryError> {
        let rate = self.amount()?;
        let parameter = self.kind.parameter();
        if rate < Credits::ZERO { Err(QueryError::NegativeRate { parameter, rate }) } else { Ok(rate) }
    }

    fn order(&self) -> Result<Order, QueryError> {
        let job = self.job()?;
        let (mut deadline, mut max_rate, mut max_cost) = (None, None, None);
        for (name, value) in self.raw.split('&').filter_map(|pair| pair.split_once('=')) {
            match decode(name)?.as_ref() {
                "deadline" => set_once(&mut deadline, "deadline", value)?,
                "maxRate" => set_once(&mut max_rate, "maxRate", value)?,
                "maxCost" => set_once(&mut max_cost, "maxCost", value)?,
                _ => {}
            }
        }
        let operation = self.kind.parameter();
        let missing = |parameter| QueryError::MissingParameter { operation, parameter };
        let amount = |parameter, text: String| -> Result<Credits, QueryError> {
            let amount = Credits::parse_exact(&text).map_err(|error| QueryError::Amount { parameter, error })?;
            let rate = amount;
            if rate < Credits::ZERO { Err(QueryError::NegativeRate { parameter, rate }) } else { Ok(amount) }
        };
        Ok(Order {
            job,
            deadline_ms: number("deadline", deadline)?.ok_or(missing("deadline"))?,
            max_rate: amount("maxRate", max_rate.ok_or(missing("maxRate"))?)?,
            max_cost: max_cost.map(|text| amount("maxCost", text)).transpose()?,
        })
    }
}

pub(super) fn set_once(slot: &mut Option<String>, name: &'static str, value: &str) -> Result<(), QueryError> {
    match slot.replace(decode(value)?.into_owned()) {
        Some(_) => Err(QueryError::Repeated(name)),
        None => Ok(()),
    }
}

/// The decoded values of these parameters of a query string, each given at most once.
pub(super) fn parameters<const N: usize>(
    raw: &str,
    names: [&'static str; N],
) -> Result<[Option<String>; N], QueryError> {
    let mut values = [const { None }; N];
    for pair in raw.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name)?;
        if let Some((slot, name)) = values.iter_mut().zip(names).find(|(_, known)| *known == name) {
            set_once(slot, name, value)?;
        }
    }
    Ok(values)
}

pub(super) fn number<T: FromStr>(parameter: &'static str, value: Option<String>) -> Result<Option<T>, QueryError> {
    let refused = |value: String| QueryError::Number { parameter, value: value.chars().take(32).collect() };
    value.map(|value| value.parse().map_err(|_| refused(value))).transpose()
}

/// Decodes one name or value of a form: `+` is a blank, `%XX` a byte of UTF-8.
pub(super) fn decode(text: &str) -> Result<Cow<'_, str>, QueryError> {
    let refuse = || QueryError::Encoding(excerpt(text));
    let hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = text.as_bytes();
    let broken = |(at, byte): (usize, &u8)| *byte == b'%' && !(hex(bytes.get(at + 1)) && hex(bytes.get(at + 2)));
    if bytes.iter().enumerate().any(broken) {
        return Err(refuse());
    }
    if !text.contains('+') {
        return percent_decode_str(text).decode_utf8().map_err(|_| refuse());
    }
    let blanked = text.replace('+', " ");
    let decoded = percent_decode_str(&blanked).decode_utf8().map_err(|_| refuse())?;
    Ok(Cow::Owned(decoded.into_owned()))
}

#[cfg(test)]
#[path = "tests/query.rs"]
mod tests;

//! The query string of a `/scheduler` request, parsed in two stages.
//!
//! [`ParsedQuery`] holds the operation and the user; [`ParsedQuery::operation`] parses the parameters. Authorization
//! happens between the two, so a denied request reveals nothing about its parameters.

use std::borrow::Cow;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

use crate::market::money::Order;
use crate::model::{Credits, CreditsError, JobId, QueueName, QueueNameError};

use super::job_upload::JobUpload;

/// Characters of a refused text that an error repeats.
const SHOWN_CHARACTERS: usize = 64;

/// The operations of the document's table, the empty request, and what we add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationKind {
    /// An entirely empty query.
    Nothing,
    /// `price`
    Price,
    /// `time`
    Time,
    /// `info` or `info=queue`
    Info,
    /// `infos`
    Infos,
    /// `setSpending=rate&queue=queue`
    SetSpending,
    /// `addBudget=amount&queue=queue`
    AddBudget,
    /// `addQueue=queue`
    AddQueue,
    /// `removeQueue=queue`
    RemoveQueue,
    /// `quote=rate&queue=queue`, which is not the document's.
    Quote,
    /// `bid=job&deadline=ms&maxRate=rate` and perhaps `&maxCost=amount`, which is not the document's.
    Bid,
    /// `unbid=job`, which is not the document's.
    Unbid,
    /// `statement` or `statement=queue`, which like those that follow is not the document's and has an address of its
    /// own.
    Statement,
    /// `queues` or `queues=queue`
    QueueStatus,
    /// `history`, or nothing at all
    PriceHistory,
    /// `history&queue=queue`
    QueueHistory,
    /// `job=job`
    Explain,
    /// `order=rate&queue=queue`
    OrderQuote,
    /// `sha256=hex&job=job&name=name`
    Upload,
}

/// A request before its parameters have been parsed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParsedQuery {
    /// The query string as received: what was signed.
    pub raw: String,
    /// The operation.
    pub kind: OperationKind,
    /// The decoded value of the operation's own parameter.
    pub value: String,
    /// The decoded `queue`.
    pub queue: Option<String>,
    /// The decoded `user`.
    pub user: Option<String>,
    /// The decoded `timestamp`.
    pub timestamp: Option<String>,
}

/// An operation with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The empty request.
    Nothing,
    /// The sum of the effective rates.
    Price,
    /// The server's start and time.
    Time,
    /// One queue as published; `None` is the signer's own.
    Info(Option<QueueName>),
    /// All queues as published.
    Infos,
    /// A new bid.
    SetSpending {
        /// Whose.
        queue: QueueName,
        /// Credits for one slot over one interval; 0 to 10^12.
        rate: Credits,
    },
    /// Credits added, or withdrawn if negative.
    AddBudget {
        /// Whose.
        queue: QueueName,
        /// Within plus or minus 10^12.
        amount: Credits,
    },
    /// Adds a queue.
    AddQueue(QueueName),
    /// Removes a queue.
    RemoveQueue(QueueName),
    /// What a rate would buy at the next tick.
    Quote {
        /// Whose.
        queue: QueueName,
        /// Credits for one slot over one interval; 0 to 10^12.
        rate: Credits,
    },
    /// A standing order for a job.
    Bid {
        /// The queue of its owner.
        queue: QueueName,
        /// The order.
        order: Order,
    },
    /// The end of the order for a job.
    Unbid {
        /// The queue of its owner.
        queue: QueueName,
        /// The job.
        job: JobId,
    },
    /// The ledger entries of a queue; `None` is the signer's own.
    Statement(Option<QueueName>),
    /// The live status of one queue, or of all.
    QueueStatus(Option<QueueName>),
    /// The prices of the ticks.
    PriceHistory,
    /// What a queue has paid, interval by interval.
    QueueHistory(QueueName),
    /// The explanation of a job.
    Explain {
        /// The job's id, not yet parsed.
        job: String,
        /// Whether the signer may see the names of other queues.
        sees_names: bool,
    },
    /// What an order for a job that is not submitted would buy.
    OrderQuote {
        /// Whose.
        queue: QueueName,
        /// The highest rate that it would bid.
        max_rate: Credits,
    },
    /// A file of a job that the signer is about to submit.
    Upload(JobUpload),
}

/// A query that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A `%` without two hexadecimal digits, or escapes that are not UTF-8.
    #[error("{0:?} is not a URL-encoded UTF-8 text")]
    Encoding(String),
    /// A parameter stands twice.
    #[error("the parameter {0} is given more than once")]
    Repeated(&'static str),
    /// Two operations in one request.
    #[error("{0} and {1} are two operations; a request carries one")]
    SeveralOperations(&'static str, &'static str),
    /// No known operation.
    #[error(
        "no known operation; expected one of price, time, info, infos, setSpending, addBudget, addQueue, removeQueue, quote, bid, unbid"
    )]
    NoOperation,
    /// What an address is there for is not asked for.
    #[error("expected {0}")]
    NothingAsked(&'static str),
    /// Not a number.
    #[error("{parameter}: {value:?} is not a whole number")]
    Number {
        /// The parameter.
        parameter: &'static str,
        /// What it holds.
        value: String,
    },
    /// A number too small or too large.
    #[error("{parameter}: expected a whole number from {least} to {most}")]
    OutOfRange {
        /// The parameter.
        parameter: &'static str,
        /// The smallest that is taken.
        least: u32,
        /// The largest that is taken.
        most: u32,
    },
    /// The operation needs another parameter.
    #[error("{operation} needs a parameter {parameter}")]
    MissingParameter {
        /// The operation.
        operation: &'static str,
        /// What it needs.
        parameter: &'static str,
    },
    /// Not the id of a job.
    #[error("{parameter}: {value:?} is not the id of a job")]
    JobId {
        /// The parameter.
        parameter: &'static str,
        /// What it holds.
        value: String,
    },
    /// Not a name of a job's file.
    #[error(
        "name: {0:?}: expected a path below the job's folder: at most 8 plain names, no `..`, no control characters"
    )]
    FileName(String),
    /// Not a digest.
    #[error("sha256: expected the SHA-256 of the content, 64 hexadecimal digits")]
    Digest,
    /// The operation needs a queue.
    #[error("{0} needs a parameter queue")]
    MissingQueue(&'static str),
    /// Not a queue's name.
    #[error(transparent)]
    QueueName(#[from] QueueNameError),
    /// Not an amount.
    #[error("{parameter}: {error}")]
    Amount {
        /// The parameter.
        parameter: &'static str,
        /// What is wrong with it.
        error: CreditsError,
    },
    /// A negative rate would earn money.
    #[error("{parameter}: {rate} is negative")]
    NegativeRate {
        /// The parameter.
        parameter: &'static str,
        /// What it holds.
        rate: Credits,
    },
}

// === impl OperationKind ===

impl OperationKind {
    /// The document's operations and our additions, each named by a parameter.
    pub(super) const NAMED: [OperationKind; 11] = [
        OperationKind::Price,
        OperationKind::Time,
        OperationKind::Info,
        OperationKind::Infos,
        OperationKind::SetSpending,
        OperationKind::AddBudget,
        OperationKind::AddQueue,
        OperationKind::RemoveQueue,
        OperationKind::Quote,
        OperationKind::Bid,
        OperationKind::Unbid,
    ];

    /// The parameter that selects it; empty for [`OperationKind::Nothing`].
    pub const fn parameter(self) -> &'static str {
        match self {
            OperationKind::Nothing => "",
            OperationKind::Price => "price",
            OperationKind::Time => "time",
            OperationKind::Info => "info",
            OperationKind::Infos => "infos",
            OperationKind::SetSpending => "setSpending",
            OperationKind::AddBudget => "addBudget",
            OperationKind::AddQueue => "addQueue",
            OperationKind::RemoveQueue => "removeQueue",
            OperationKind::Quote => "quote",
            OperationKind::Bid => "bid",
            OperationKind::Unbid => "unbid",
            OperationKind::Statement => "statement",
            OperationKind::QueueStatus => "queues",
            OperationKind::PriceHistory | OperationKind::QueueHistory => "history",
            OperationKind::Explain => "job",
            OperationKind::OrderQuote => "order",
            OperationKind::Upload => "sha256",
        }
    }

    /// Whether it changes accounts: not allowed by HEAD, and its stamp is stored before the answer leaves.
    pub const fn is_change(self) -> bool {
        match self {
            OperationKind::SetSpending
            | OperationKind::AddBudget
            | OperationKind::AddQueue
            | OperationKind::RemoveQueue
            | OperationKind::Bid
            | OperationKind::Unbid => true,
            OperationKind::Nothing
            | OperationKind::Price
            | OperationKind::Time
            | OperationKind::Info
            | OperationKind::Infos
            | OperationKind::Quote
            | OperationKind::Statement
            | OperationKind::QueueStatus
            | OperationKind::PriceHistory
            | OperationKind::QueueHistory
            | OperationKind::Explain
            | OperationKind::OrderQuote
            | OperationKind::Upload => false,
        }
    }

    /// Whether unsigned requests are allowed.
    pub const fn is_open_to_all(self) -> bool {
        use OperationKind::{Nothing, Price, PriceHistory, Time};
        matches!(self, Nothing | Price | Time | PriceHistory)
    }
}

// === impl ParsedQuery ===

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

    /// A request without a query.
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

    /// The name of the queue it acts on, not yet checked; `None` where it is not given or there is none.
    pub fn target(&self) -> Option<&str> {
        match self.kind {
            OperationKind::SetSpending
            | OperationKind::AddBudget
            | OperationKind::Quote
            | OperationKind::QueueHistory
            | OperationKind::Bid
            | OperationKind::Unbid
            | OperationKind::Explain
            | OperationKind::OrderQuote => self.queue.as_deref(),
            OperationKind::Info | OperationKind::Statement | OperationKind::QueueStatus if self.value.is_empty() => {
                None
            }
            OperationKind::Info
            | OperationKind::Statement
            | OperationKind::QueueStatus
            | OperationKind::AddQueue
            | OperationKind::RemoveQueue => Some(&self.value),
            OperationKind::Nothing
            | OperationKind::Price
            | OperationKind::Time
            | OperationKind::Infos
            | OperationKind::PriceHistory
            | OperationKind::Upload => None,
        }
    }

    /// Parses the operation's parameters.
    pub fn operation(&self) -> Result<Operation, QueryError> {
        Ok(match self.kind {
            OperationKind::Nothing => Operation::Nothing,
            OperationKind::Price => Operation::Price,
            OperationKind::Time => Operation::Time,
            OperationKind::Infos => Operation::Infos,
            OperationKind::Info => Operation::Info(self.target().map(QueueName::new).transpose()?),
            OperationKind::Statement => Operation::Statement(self.target().map(QueueName::new).transpose()?),
            OperationKind::AddQueue => Operation::AddQueue(self.queue_name()?),
            OperationKind::RemoveQueue => Operation::RemoveQueue(self.queue_name()?),
            OperationKind::AddBudget => Operation::AddBudget { queue: self.queue_name()?, amount: self.amount()? },
            OperationKind::SetSpending => Operation::SetSpending { queue: self.queue_name()?, rate: self.rate()? },
            OperationKind::Quote => Operation::Quote { queue: self.queue_name()?, rate: self.rate()? },
            OperationKind::Bid => Operation::Bid { queue: self.queue_name()?, order: self.order()? },
            OperationKind::Unbid => Operation::Unbid { queue: self.queue_name()?, job: self.job()? },
            OperationKind::QueueStatus => Operation::QueueStatus(self.target().map(QueueName::new).transpose()?),
            OperationKind::PriceHistory => Operation::PriceHistory,
            OperationKind::QueueHistory => Operation::QueueHistory(self.queue_name()?),
            OperationKind::Explain => Operation::Explain { job: self.value.clone(), sees_names: false },
            OperationKind::OrderQuote => Operation::OrderQuote { queue: self.queue_name()?, max_rate: self.rate()? },
            OperationKind::Upload => Operation::Upload(self.upload()?),
        })
    }

    fn queue_name(&self) -> Result<QueueName, QueryError> {
        let name = self.target().ok_or(QueryError::MissingQueue(self.kind.parameter()))?;
        Ok(QueueName::new(name)?)
    }

    fn rate(&self) -> Result<Credits, QueryError> {
        let rate = self.amount()?;
        let parameter = self.kind.parameter();
        if rate < Credits::ZERO { Err(QueryError::NegativeRate { parameter, rate }) } else { Ok(rate) }
    }

    fn amount(&self) -> Result<Credits, QueryError> {
        Credits::parse_exact(&self.value)
            .map_err(|error| QueryError::Amount { parameter: self.kind.parameter(), error })
    }
}

impl ParsedQuery {
    /// The job that an order is for.
    pub fn job(&self) -> Result<JobId, QueryError> {
        let refused = || QueryError::JobId {
            parameter: self.kind.parameter(),
            value: self.value.chars().take(SHOWN_CHARACTERS).collect(),
        };
        self.value.parse().map_err(|_| refused())
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

/// A number that may be given.
pub(super) fn number<T: FromStr>(parameter: &'static str, value: Option<String>) -> Result<Option<T>, QueryError> {
    let refused = |value: String| QueryError::Number { parameter, value: value.chars().take(32).collect() };
    value.map(|value| value.parse().map_err(|_| refused(value))).transpose()
}

/// Decodes one name or value of a form: `+` is a blank, `%XX` a byte of UTF-8.
pub(super) fn decode(text: &str) -> Result<Cow<'_, str>, QueryError> {
    let refuse = || QueryError::Encoding(text.chars().take(SHOWN_CHARACTERS).collect());
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn operation(query: &str) -> Result<Operation, QueryError> {
        ParsedQuery::parse(query)?.operation()
    }

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    #[test]
    fn the_documents_operations_are_read() {
        let signed = |query| operation(&format!("{query}&user=u&timestamp=1")).unwrap();
        let credits = |text| Credits::parse_exact(text).unwrap();
        assert_eq!(signed("price"), Operation::Price);
        assert_eq!(signed("time=whatever"), Operation::Time);
        assert_eq!(signed("info=q1"), Operation::Info(Some(queue("q1"))));
        assert_eq!(signed("info"), Operation::Info(None));
        assert_eq!(signed("infos"), Operation::Infos);
        let set = Operation::SetSpending { queue: queue("q"), rate: credits("0.01") };
        assert_eq!(signed("setSpending=0.01&queue=q"), set);
        let add = Operation::AddBudget { queue: queue("q"), amount: credits("-5") };
        assert_eq!(signed("queue=q&addBudget=-5"), add);
        assert_eq!(signed("addQueue=a%40b"), Operation::AddQueue(queue("a@b")));
        assert_eq!(signed("removeQueue=q"), Operation::RemoveQueue(queue("q")));
        let quote = Operation::Quote { queue: queue("q"), rate: credits("0.5") };
        assert_eq!(signed("quote=0.5&queue=q"), quote);
        assert_eq!(operation(""), Ok(Operation::Nothing));
    }

    #[test]
    fn the_parsed_query_keeps_what_was_signed() {
        let parsed = ParsedQuery::parse("info=q&&user=a%20b&timestamp=%31&other=%7e").unwrap();
        assert_eq!(parsed.raw, "info=q&&user=a%20b&timestamp=%31&other=%7e");
        assert_eq!((parsed.user.as_deref(), parsed.timestamp.as_deref()), (Some("a b"), Some("1")));
        assert_eq!(ParsedQuery::parse("price&user=a+b").unwrap().user.as_deref(), Some("a b"));
    }

    #[test]
    fn defect_09_numbers_that_mint_or_poison_money_are_refused() {
        for number in ["NaN", "Infinity", "-Infinity", "1e9", "0.5f", "0x1p3", "+5", "%205", "", "1,5", "1000000000001"]
        {
            for operation_name in ["setSpending", "addBudget", "quote"] {
                let query = format!("{operation_name}={number}&queue=q");
                assert!(matches!(operation(&query), Err(QueryError::Amount { .. })), "{query}");
            }
        }
        assert!(matches!(operation("setSpending=-1&queue=q"), Err(QueryError::NegativeRate { .. })));
        assert!(matches!(operation("quote=-1&queue=q"), Err(QueryError::NegativeRate { .. })));
        assert!(matches!(operation("setSpending=0.0000000000001&queue=q"), Err(QueryError::Amount { .. })));
    }

    #[test]
    fn defect_12_a_missing_queue_is_an_error() {
        assert_eq!(operation("setSpending=1"), Err(QueryError::MissingQueue("setSpending")));
        assert_eq!(operation("addBudget=1"), Err(QueryError::MissingQueue("addBudget")));
        assert!(matches!(operation("addQueue"), Err(QueryError::QueueName(_))));
        assert!(matches!(operation("removeQueue="), Err(QueryError::QueueName(_))));
    }

    #[test]
    fn defect_13_an_unknown_operation_is_answered_with_the_list() {
        for query in ["prize", "user=a&timestamp=1", "&", "=", "PRICE"] {
            let error = operation(query).unwrap_err();
            assert_eq!(error, QueryError::NoOperation, "{query}");
            assert!(error.to_string().contains("price, time, info, infos, setSpending"));
        }
    }

    #[test]
    fn defect_22_repeated_parameters_and_several_operations_are_refused() {
        assert_eq!(operation("price&time"), Err(QueryError::SeveralOperations("price", "time")));
        assert_eq!(operation("price&price"), Err(QueryError::Repeated("price")));
        assert_eq!(operation("setSpending=1&set%53pending=2&queue=q"), Err(QueryError::Repeated("setSpending")));
        for name in ["queue", "user", "timestamp"] {
            assert_eq!(operation(&format!("price&{name}=a&{name}=a")), Err(QueryError::Repeated(name)));
        }
    }

    #[test]
    fn defect_23_bad_names_and_escapes_are_refused() {
        for query in ["addQueue=a%20b", "addQueue=a%0Ab", "addQueue=a,b", "addQueue=a%26b", "info=%3Cx%3E"] {
            assert!(matches!(operation(query), Err(QueryError::QueueName(_))), "{query}");
        }
        for query in ["info=%", "info=%2", "info=%zz", "info=%ff", "price&user=%+1"] {
            assert!(matches!(operation(query), Err(QueryError::Encoding(_))), "{query}");
        }
    }

    proptest! {
        #[test]
        fn no_query_panics(query in "\\PC*") {
            let _ = operation(&query);
        }
    }
}

//! The operations by name: which parameter selects one, and whether it changes something.

use serde::{Deserialize, Serialize};

use super::job_request::JobRequestKind;

/// The operations of the document's table, the empty request, and what we add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationKind {
    /// An entirely empty query.
    Nothing,
    Price,
    Time,
    /// `info` or `info=queue`
    Info,
    Infos,
    /// `setSpending=rate&queue=queue`
    SetSpending,
    /// `addBudget=amount&queue=queue`
    AddBudget,
    /// `transfer=amount&from=queue&to=queue`, which is not the document's.
    Transfer,
    /// `allowance=amount&queue=queue&every=seconds`, which is not the document's.
    Allowance,
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
    /// `drain=worker`, which is not the document's.
    Drain,
    /// `resume=worker`, which is not the document's.
    Resume,
    /// `pauseQueue=queue`, which is not the document's.
    PauseQueue,
    /// `resumeQueue=queue`, which is not the document's.
    ResumeQueue,
    /// `statement` or `statement=queue`, which like those that follow is not the document's and has an address of its own.
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
    /// On one job, which is not the document's.
    OfJob(JobRequestKind),
    /// `tasks=job`
    Tasks,
    /// `read=call`
    Read,
    JobTimes,
    /// `report=users`, `queues` or `jobs`
    Report,
    /// `sha256=hex&job=job&name=name`
    Upload,
    /// `session=page`
    Session,
}

impl OperationKind {
    /// The document's operations and our additions, each named by a parameter.
    pub(super) const NAMED: [OperationKind; 24] = [
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
        OperationKind::OfJob(JobRequestKind::Kill),
        OperationKind::OfJob(JobRequestKind::KillTask),
        OperationKind::OfJob(JobRequestKind::FailTask),
        OperationKind::OfJob(JobRequestKind::SetPriority),
        OperationKind::OfJob(JobRequestKind::SetDeadline),
        OperationKind::OfJob(JobRequestKind::Hold),
        OperationKind::OfJob(JobRequestKind::Release),
        OperationKind::PauseQueue,
        OperationKind::ResumeQueue,
        OperationKind::Drain,
        OperationKind::Resume,
        OperationKind::Transfer,
        OperationKind::Allowance,
    ];

    pub(crate) const fn parameter(self) -> &'static str {
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
            OperationKind::OfJob(kind) => kind.parameter(),
            OperationKind::Drain => "drain",
            OperationKind::Resume => "resume",
            OperationKind::PauseQueue => "pauseQueue",
            OperationKind::ResumeQueue => "resumeQueue",
            OperationKind::Tasks => "tasks",
            OperationKind::Read => "read",
            OperationKind::JobTimes => "jobs",
            OperationKind::Transfer => "transfer",
            OperationKind::Allowance => "allowance",
            OperationKind::Report => "report",
            OperationKind::Upload => "sha256",
            OperationKind::Session => "session",
        }
    }

    /// Whether it changes accounts or jobs: not allowed by HEAD, and its stamp is stored before the answer leaves.
    pub(crate) const fn is_change(self) -> bool {
        match self {
            OperationKind::SetSpending
            | OperationKind::AddBudget
            | OperationKind::Transfer
            | OperationKind::Allowance
            | OperationKind::AddQueue
            | OperationKind::RemoveQueue
            | OperationKind::Bid
            | OperationKind::Unbid
            | OperationKind::PauseQueue
            | OperationKind::ResumeQueue
            | OperationKind::Drain
            | OperationKind::Resume => true,
            OperationKind::OfJob(kind) => kind.is_change(),
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
            | OperationKind::Tasks
            | OperationKind::Read
            | OperationKind::JobTimes
            | OperationKind::Report
            | OperationKind::Session
            | OperationKind::Upload => false,
        }
    }

    pub(crate) const fn is_open_to_all(self) -> bool {
        use OperationKind::{Nothing, Price, PriceHistory, Time};
        matches!(self, Nothing | Price | Time | PriceHistory)
    }
}

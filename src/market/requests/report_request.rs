//! What a report is asked to show.

/// What the rows of a report stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// Users.
    Users,
    /// Queues.
    Queues,
    /// Jobs.
    Jobs,
}

/// What a report is asked to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRequest {
    /// A row for each of what.
    pub kind: ReportKind,
    /// Start, epoch ms; absent: since the beginning.
    pub since_ms: Option<i64>,
    /// End, epoch ms, not included; absent: all that there is.
    pub until_ms: Option<i64>,
    /// Only jobs and money of this user; absent: all.
    pub user: Option<String>,
}

// === impl ReportKind ===

impl ReportKind {
    /// All of them.
    pub const ALL: [ReportKind; 3] = [ReportKind::Users, ReportKind::Queues, ReportKind::Jobs];

    /// As requests and commands name it.
    pub const fn name(self) -> &'static str {
        match self {
            ReportKind::Users => "users",
            ReportKind::Queues => "queues",
            ReportKind::Jobs => "jobs",
        }
    }
}

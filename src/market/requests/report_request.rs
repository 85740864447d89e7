//! What a report is asked to show.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportKind {
    #[default]
    Users,
    Queues,
    /// Jobs and applications.
    Jobs,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportRequest {
    pub kind: ReportKind,
    /// Start, epoch ms; absent: since the beginning.
    pub since_ms: Option<i64>,
    /// End, epoch ms, not included; absent: all that there is.
    pub until_ms: Option<i64>,
    /// Only jobs and money of this user, the only ones that the caller may see; absent: all.
    pub user: Option<String>,
    /// Only what matches all of these.
    pub filter: ReportFilter,
    /// A row for each month, by UTC, and user, queue or both.
    pub by_month: bool,
    /// Of jobs and applications only those that were accepted after this number of their order.
    pub after: Option<u64>,
    /// Most jobs and applications; absent: as many as an answer may have.
    pub most: Option<usize>,
}

/// Which jobs and applications a report shows; without a member: all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportFilter {
    pub(crate) user: Option<String>,
    pub(crate) queue: Option<String>,
    pub(crate) state: Option<String>,
}

impl ReportFilter {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl ReportKind {
    pub(crate) const ALL: [ReportKind; 3] = [ReportKind::Users, ReportKind::Queues, ReportKind::Jobs];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            ReportKind::Users => "users",
            ReportKind::Queues => "queues",
            ReportKind::Jobs => "jobs",
        }
    }
}

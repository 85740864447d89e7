//! The addresses of the API: each with its operation and what it takes.

/// An address; below `/api/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApiAddress {
    Cluster,
    Health,
    Jobs,
    Job,
    JobAttempts,
    JobTasks,
    JobGrid,
    JobWaits,
    JobTimeline,
    JobExplain,
    JobCounters,
    JobEvents,
    JobConf,
    Applications,
    Application,
    Containers,
    Items,
    ItemGrid,
    Workers,
    Worker,
    Racks,
    Slots,
    Queues,
    Queue,
    Statement,
    Spending,
    Market,
    Prices,
    Shares,
    Quotes,
    Policy,
    PolicyPlan,
    Deadlines,
    Orders,
    Decisions,
    Decision,
    Users,
    User,
    Report,
    History,
    Samples,
    Events,
}

impl ApiAddress {
    pub(super) const ALL: [Self; 42] = [
        Self::Cluster,
        Self::Health,
        Self::Jobs,
        Self::Job,
        Self::JobAttempts,
        Self::JobTasks,
        Self::JobGrid,
        Self::JobWaits,
        Self::JobTimeline,
        Self::JobExplain,
        Self::JobCounters,
        Self::JobEvents,
        Self::JobConf,
        Self::Applications,
        Self::Application,
        Self::Containers,
        Self::Items,
        Self::ItemGrid,
        Self::Workers,
        Self::Worker,
        Self::Racks,
        Self::Slots,
        Self::Queues,
        Self::Queue,
        Self::Statement,
        Self::Spending,
        Self::Market,
        Self::Prices,
        Self::Shares,
        Self::Quotes,
        Self::Policy,
        Self::PolicyPlan,
        Self::Deadlines,
        Self::Orders,
        Self::Decisions,
        Self::Decision,
        Self::Users,
        Self::User,
        Self::Report,
        Self::History,
        Self::Samples,
        Self::Events,
    ];

    /// As the router knows it.
    pub(super) const fn template(self) -> &'static str {
        match self {
            Self::Cluster => "/api/v1/cluster",
            Self::Health => "/api/v1/health",
            Self::Jobs => "/api/v1/jobs",
            Self::Job => "/api/v1/jobs/{job}",
            Self::JobAttempts => "/api/v1/jobs/{job}/attempts",
            Self::JobTasks => "/api/v1/jobs/{job}/tasks",
            Self::JobGrid => "/api/v1/jobs/{job}/grid",
            Self::JobWaits => "/api/v1/jobs/{job}/waits",
            Self::JobTimeline => "/api/v1/jobs/{job}/timeline",
            Self::JobExplain => "/api/v1/jobs/{job}/explain",
            Self::JobCounters => "/api/v1/jobs/{job}/counters",
            Self::JobEvents => "/api/v1/jobs/{job}/events",
            Self::JobConf => "/api/v1/jobs/{job}/conf",
            Self::Applications => "/api/v1/applications",
            Self::Application => "/api/v1/applications/{application-id}",
            Self::Containers => "/api/v1/applications/{application-id}/containers",
            Self::Items => "/api/v1/applications/{application-id}/items",
            Self::ItemGrid => "/api/v1/applications/{application-id}/grid",
            Self::Workers => "/api/v1/workers",
            Self::Worker => "/api/v1/workers/{worker}",
            Self::Racks => "/api/v1/racks",
            Self::Slots => "/api/v1/slots",
            Self::Queues => "/api/v1/queues",
            Self::Queue => "/api/v1/queues/{queue}",
            Self::Statement => "/api/v1/queues/{queue}/statement",
            Self::Spending => "/api/v1/queues/{queue}/spending",
            Self::Market => "/api/v1/market",
            Self::Prices => "/api/v1/market/prices",
            Self::Shares => "/api/v1/market/shares",
            Self::Quotes => "/api/v1/market/quotes",
            Self::Policy => "/api/v1/policy",
            Self::PolicyPlan => "/api/v1/policy/plan",
            Self::Deadlines => "/api/v1/deadlines",
            Self::Orders => "/api/v1/orders",
            Self::Decisions => "/api/v1/decisions",
            Self::Decision => "/api/v1/decisions/{decision}",
            Self::Users => "/api/v1/users",
            Self::User => "/api/v1/users/{user}",
            Self::Report => "/api/v1/reports/{report}",
            Self::History => "/api/v1/history/jobs",
            Self::Samples => "/api/v1/samples",
            Self::Events => "/api/v1/events",
        }
    }

    /// Whether it answers with a list.
    pub(super) const fn is_list(self) -> bool {
        !matches!(
            self,
            Self::Cluster
                | Self::Health
                | Self::Job
                | Self::JobGrid
                | Self::JobWaits
                | Self::JobTimeline
                | Self::JobExplain
                | Self::Samples
                | Self::Application
                | Self::ItemGrid
                | Self::Worker
                | Self::Queue
                | Self::Spending
                | Self::Market
                | Self::Prices
                | Self::Shares
                | Self::Quotes
                | Self::Policy
                | Self::PolicyPlan
                | Self::Decision
                | Self::User
                | Self::Report
                | Self::Events
        )
    }

    /// Parameters that may be repeated: one of the values is enough.
    pub(super) const fn repeated(self) -> &'static [&'static str] {
        match self {
            Self::Jobs => &["state", "user", "queue"],
            Self::Applications => &["state", "user", "queue"],
            Self::JobAttempts => &["state", "task"],
            Self::JobTasks | Self::Containers | Self::Items => &["state"],
            Self::Workers => &["state", "rack"],
            Self::Slots => &["rack"],
            Self::Decisions => &["kind"],
            _ => &[],
        }
    }
}

pub(super) mod part {
    pub(crate) const JOB: &str = "job";
    pub(crate) const WORKER: &str = "worker";
    pub(crate) const QUEUE: &str = "queue";
    pub(crate) const DECISION: &str = "decision";
    pub(crate) const USER: &str = "user";
    pub(crate) const REPORT: &str = "report";
}

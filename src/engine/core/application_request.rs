//! Requests about applications: what the web server asks, and what it is answered.
//!
//! The web server has verified signatures and the form of bodies; all that needs state is judged here.

use std::sync::Arc;

use crate::api::applications::{
    AllocateCall, ApplicationReport, ApplicationState, ClusterInfo, ContainerReport, NodeReport, RegisterAnswer,
    RegisterCall, Submission, UnregisterCall,
};
use crate::engine::state::{Caller, Container, ContainerFilter, ReportTerms, RowPage};
use crate::market::{KeyId, SignedTextId};
use crate::model::{ApplicationId, ApplicationSecret, Capability, ContainerId, Now};

#[derive(Clone, Debug)]
pub enum ApplicationRequest {
    Asked {
        caller: ApplicationCaller,
        question: Box<ApplicationQuestion>,
    },
    /// A request that was answered by [`ApplicationAnswer::Waits`] asks again: the effect says that there is something, its
    /// time is over, or the server stops.
    Waited {
        wait: ApplicationWait,
        /// Whether it is to be answered now, with whatever there is.
        is_over: bool,
    },
    /// The web server asks for the secret of an application, to verify a signature with it. Answered by
    /// [`ApplicationAnswer::Secret`].
    Secret(ApplicationId),
    /// Where the logs of a container are that the store alone has. The caller who asked may see them. Answered by
    /// [`ApplicationAnswer::Logs`].
    StoredLogs {
        container: Box<Container>,
        secret: ApplicationSecret,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplicationCaller {
    User {
        /// The user, with groups where an access list of queues needs them.
        caller: Caller,
        /// Whether the user may see and end everything.
        is_administrator: bool,
        /// The stamp of the signature; none: an unsigned request over loopback, whose sender was verified by its socket.
        signed: Option<SignedTime>,
    },
    Application {
        application: ApplicationId,
        /// The timestamp that was signed, epoch ms.
        timestamp_ms: i64,
        text: SignedTextId,
    },
}

/// What a signature of a user is stamped with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedTime {
    pub(crate) key_id: KeyId,
    /// The timestamp that was signed, epoch ms.
    pub(crate) timestamp_ms: i64,
    pub(crate) text: SignedTextId,
}

#[derive(Clone, Debug)]
pub enum ApplicationQuestion {
    /// `POST /apps/new-application`.
    NewId,
    /// `POST /apps`.
    Submit {
        submission: Box<Submission>,
        /// SHA-256 of the body.
        digest: [u8; 32],
        /// Random bytes: its secret, unless it is there already.
        secret: ApplicationSecret,
    },
    /// `POST /apps/{id}/register`.
    Register { application: ApplicationId, call: RegisterCall },
    /// `POST /apps/{id}/allocate`.
    Allocate {
        application: ApplicationId,
        call: Box<AllocateCall>,
        /// SHA-256 of the body.
        digest: [u8; 32],
    },
    /// `POST /apps/{id}/unregister`.
    Unregister { application: ApplicationId, call: UnregisterCall },
    /// `GET /apps`.
    List(ApplicationFilter),
    /// `GET /apps/{id}`.
    Show {
        application: ApplicationId,
        /// Waits until its version differs from this; none: answered at once.
        known_version: Option<u64>,
    },
    /// `GET /apps/{id}` with `rows`: with these rows of what it asks for.
    ShowRows { application: ApplicationId, rows: RowPage },
    /// `GET /apps/{id}/state`.
    State(ApplicationId),
    /// `PUT /apps/{id}/state`: it is killed.
    Kill(ApplicationId),
    /// `GET /apps/{id}/containers`.
    Containers { application: ApplicationId, filter: ContainerFilter },
    /// `GET /containers/{cid}`.
    Container(ContainerId),
    /// `POST /containers/{cid}/signal/{command}`.
    Signal { container: ContainerId, signal: ContainerSignal },
    /// `GET /containers/{cid}/logs/{name}`: where they are.
    Logs(ContainerId),
    /// `GET /nodes`.
    Nodes,
    /// `GET /nodes/{node-id}`.
    Node(String),
    /// `GET /info`; also of callers without a signature.
    Info,
}

impl ApplicationQuestion {
    /// The application that must be there to be asked about.
    #[must_use]
    pub(crate) fn application(&self) -> Option<ApplicationId> {
        match self {
            Self::Register { application, .. }
            | Self::Allocate { application, .. }
            | Self::Unregister { application, .. }
            | Self::Show { application, .. }
            | Self::ShowRows { application, .. }
            | Self::State(application)
            | Self::Kill(application)
            | Self::Containers { application, .. } => Some(*application),
            Self::Container(container) | Self::Logs(container) | Self::Signal { container, .. } => {
                Some(container.application)
            }
            Self::NewId | Self::Submit { .. } | Self::List(_) | Self::Nodes | Self::Node(_) | Self::Info => None,
        }
    }

    /// One word for logs.
    #[must_use]
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::NewId => "new-application",
            Self::Submit { .. } => "submit-application",
            Self::Register { .. } => "register",
            Self::Allocate { .. } => "allocate",
            Self::Unregister { .. } => "unregister",
            Self::List(_) => "applications",
            Self::Show { .. } | Self::ShowRows { .. } => "application",
            Self::State(_) => "application-state",
            Self::Kill(_) => "kill-application",
            Self::Containers { .. } => "containers",
            Self::Container(_) => "container",
            Self::Signal { .. } => "signal-container",
            Self::Logs(_) => "container-logs",
            Self::Nodes => "nodes",
            Self::Node(_) => "node",
            Self::Info => "info",
        }
    }
}

/// What the store's part of an answer needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreView {
    /// Whether the caller may see the applications of every user.
    pub(crate) sees_all: bool,
    pub(crate) terms: ReportTerms,
    pub(crate) now: Now,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplicationFilter {
    /// In these states; empty: in any.
    pub(crate) states: Vec<ApplicationState>,
    pub(crate) user: Option<String>,
    pub(crate) queue: Option<String>,
    /// At most so many, 1 to 1,000.
    pub(crate) limit: usize,
    /// Most rows of what each asks for.
    pub(crate) rows: usize,
    /// Only those after this one in the list, which is in falling order.
    pub(crate) after: Option<ApplicationId>,
}

/// How a container is ended by its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerSignal {
    /// `GRACEFUL_SHUTDOWN`: TERM, its grace, KILL.
    Graceful,
    /// `FORCEFUL_SHUTDOWN`: KILL.
    Forceful,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationWait {
    /// A container or a status that is not in an answer yet.
    Allocate {
        application: ApplicationId,
        /// The attempt that called.
        attempt: u32,
        response_id: u64,
    },
    /// Another version.
    Show { application: ApplicationId, known_version: u64 },
}

#[derive(Clone, Debug, PartialEq)]
pub enum ApplicationAnswer {
    NewId {
        application: ApplicationId,
        /// The largest container.
        maximum: Capability,
        /// What sizes are rounded up to.
        minimum: Capability,
    },
    /// It is submitted, now or before: 202.
    Submitted {
        application: ApplicationId,
        state: ApplicationState,
        /// What it signs with.
        secret: ApplicationSecret,
    },
    Registered(Box<RegisterAnswer>),
    /// The answer of `allocate` in JSON, exactly as it is sent, also when it is sent again.
    Allocated(Arc<[u8]>),
    /// Nothing yet: the request waits until [`Effect::ApplicationHasNews`](crate::engine::Effect::ApplicationHasNews) or
    /// until its time is over, and asks again by [`ApplicationRequest::Waited`]. A wait of an earlier `allocate` of the same
    /// application is superseded.
    Waits(ApplicationWait),
    /// It ended: `{"state"}`.
    Unregistered(ApplicationState),
    Applications {
        /// Newest first.
        applications: Vec<ApplicationReport>,
        /// Where the next list begins: its `after`.
        next: Option<ApplicationId>,
        /// How the list continues in the store, which alone has those that have been over for long.
        store: StoreView,
    },
    /// The application is not in memory. If the store has it, it is over, and the store answers.
    NotInMemory(ApplicationId, StoreView),
    Application(Arc<ApplicationReport>),
    State {
        state: ApplicationState,
        /// Whether containers of it are still being killed: 202 instead of 200 where a kill asked.
        is_ending: bool,
    },
    /// Containers that are in memory: all that live, and those that ended last. Others are in the store.
    Containers {
        /// By number, those that match.
        containers: Vec<ContainerReport>,
        /// Where the next list begins: its `after`.
        next: Option<ContainerId>,
        /// Complete containers up to this number are in the store alone; 0: none are.
        stored_through: u64,
    },
    Container(Box<ContainerReport>),
    Signalled {
        /// Whether it was complete before: 200 instead of 202.
        was_complete: bool,
    },
    Logs {
        /// The web address of the node, `host:port`.
        node_http_address: String,
        /// Until when the ticket is good, epoch ms.
        expires_ms: i64,
        /// The ticket, 64 hex digits.
        ticket: String,
    },
    Nodes(Vec<NodeReport>),
    Node(Box<NodeReport>),
    Info(Box<ClusterInfo>),
    /// The secret; none: the application is not in memory.
    Secret(Option<ApplicationSecret>),
}

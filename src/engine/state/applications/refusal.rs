//! Why a request about applications is refused. Each variant is one problem of the HTTP interface.

use crate::api::applications::ApplicationState;
use crate::market::ReplayRefusal;
use crate::model::{ApplicationId, ContainerId};

/// Why a request about applications is refused. Its text is the problem's `detail`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplicationRefusal {
    /// `invalid-request`, 400: a member or parameter cannot be as it is.
    #[error("{}", first_of(.0))]
    InvalidRequest(Vec<BodyFault>),
    /// `invalid-resource-request`, 400: rows of `ask` or launches cannot be as they are.
    #[error("{}", first_of(.0))]
    InvalidResourceRequest(Vec<BodyFault>),
    /// `timestamp-refused`, 401.
    #[error("{refusal}")]
    Timestamp {
        refusal: ReplayRefusal,
        /// The daemon's time, epoch ms: the member `server-time-ms`.
        server_time_ms: i64,
    },
    /// `forbidden`, 403. The text says what is not one's own.
    #[error("{0}")]
    Forbidden(String),
    /// `no-such-application`, 404.
    #[error("there is no application {0}")]
    NoSuchApplication(ApplicationId),
    /// `no-such-container`, 404.
    #[error("there is no container {0}")]
    NoSuchContainer(ContainerId),
    /// `no-such-container`, 404: its logs went with its node.
    #[error("the logs of {container} are on {node}, which is lost")]
    LogsLost {
        container: ContainerId,
        /// Its node, `host:web port`.
        node: String,
    },
    /// `no-such-node`, 404.
    #[error("there is no node {0}")]
    NoSuchNode(String),
    /// `resync`, 409: register again and send everything.
    #[error("{0}")]
    Resync(String),
    /// `superseded`, 409: a later attempt has registered.
    #[error("attempt {attempt} of {application} was superseded by attempt {current}")]
    Superseded {
        application: ApplicationId,
        /// The attempt that called.
        attempt: u32,
        /// The attempt that counts.
        current: u32,
    },
    /// `superseded`, 409: a newer call took over this one's wait.
    #[error("a newer call of {0} took over the wait of this one")]
    TakenOver(ApplicationId),
    /// `application-exists`, 409: the id was submitted with another body.
    #[error("{0} was submitted already, with another body")]
    ApplicationExists(ApplicationId),
    /// `application-over`, 409; the member `state` says how.
    #[error("{application} is over")]
    ApplicationOver { application: ApplicationId, state: ApplicationState },
    /// `too-many`, 429: a limit that the text names.
    #[error("{0}")]
    TooMany(String),
    /// `unavailable`, 503.
    #[error("{0}")]
    Unavailable(String),
}

/// A member of the body, or a parameter of the query, that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyFault {
    /// Where: a JSON pointer into the body as URI fragment, such as `#/ask/2/capability/memory`; or the name of a parameter, without `#`.
    pub(crate) pointer: String,
    pub(crate) detail: String,
}

fn first_of(faults: &[BodyFault]) -> String {
    match faults {
        [] => "the request is not valid".to_owned(),
        [only] => format!("{}: {}", only.pointer, only.detail),
        [first, others @ ..] => format!("{}: {}, and {} more", first.pointer, first.detail, others.len()),
    }
}

//! The state shared by all handlers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::http::{ServedNames, WebLimits};
use crate::model::Capability;

use super::api::EventStreams;
use super::plays::Plays;
use super::sessions::Sessions;
use super::stock::StockSettings;

/// Time that the owner has for an answer; 503 after it.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Where the daemon listens; none where that is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServedPorts {
    pub(crate) rpc: Option<SocketAddr>,
    /// The web server.
    pub(crate) http: Option<SocketAddr>,
}

/// Settings of the web server and its way to the owner.
#[derive(Debug)]
pub struct WebState<O> {
    pub owner: O,
    /// Host names that requests may be addressed to; `/healthz` answers under any.
    pub names: ServedNames,
    /// Name of this host, as the `<host>` element and the page show it; cut at the first dot there.
    pub host: String,
    /// Whether unsigned requests see shares of queues and costs of jobs of a ruling market. They always see the price.
    pub shows_money: bool,
    /// Who may change jobs by the forms of pages.
    pub job_forms: JobForms,
    /// What the configuration says of the pages of Hadoop's addresses.
    pub stock: StockSettings,
    /// The address of a job's page without the id.
    pub job_page_prefix: String,
    /// One slot's worth of a container.
    pub container_slot: Capability,
    /// What read-only sessions are made with.
    pub sessions: Sessions,
    pub streams: EventStreams,
    /// What makes plays of the past; none where no daemon runs.
    pub plays: Option<Arc<dyn Plays>>,
    /// Where the daemon listens.
    pub ports: ServedPorts,
    pub limits: WebLimits,
}

/// Who may change jobs by the forms of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobForms {
    /// No request changes anything (`webinterface.private.actions` is false).
    #[default]
    Off,
    /// Access lists are off.
    ForAll,
    /// Changes must be signed, and forms are not (`jobtracker.job-changes`).
    Signed,
    /// Access lists say which users change a job (`mapred.acls.enabled`): none does where requests name none.
    ForNamed,
}

impl JobForms {
    /// Whether a user, or a request that names none, is shown forms.
    pub(super) fn are_for(self, user: &str) -> bool {
        self == Self::ForAll || (self == Self::ForNamed && !user.is_empty())
    }
}

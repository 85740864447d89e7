//! The requests of these addresses to the owner of all state.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::engine::{ApplicationAnswer, ApplicationRefusal, ApplicationRequest};
use crate::market::Acl;

use super::super::owner_gone::OwnerGone;

/// How long a request may wait for news.
#[derive(Debug, Default)]
pub struct NewsWait {
    pub(crate) ms: u64,
    /// Done when it must be answered with what there is.
    pub(crate) cut: Option<oneshot::Receiver<()>>,
}

/// The way to the owner of applications. Without methods of its own there are none.
pub trait ApplicationOwner: Send + Sync + 'static {
    /// Passes a request to the engine. Completes when everything that the answer shows is durable; where there is nothing to
    /// say yet, when there is, or after the `wait`. Dropping it ends the wait. Never answers that a request waits.
    fn application(
        &self,
        _request: ApplicationRequest,
        _wait: NewsWait,
    ) -> impl Future<Output = Result<ApplicationReply, OwnerGone>> + Send {
        std::future::ready(Err(OwnerGone))
    }

    /// How callers are known. Never blocks.
    fn application_access(&self) -> impl Future<Output = ApplicationAccess> + Send {
        std::future::ready(ApplicationAccess::Off)
    }

    /// Whether a name is that of this user id on this machine. May wait for a directory server.
    fn is_uid_of(&self, _user: &str, _uid: u32) -> impl Future<Output = bool> + Send {
        std::future::ready(false)
    }
}

/// The answer to a request about applications, or its refusal.
pub(crate) type ApplicationReply = Result<Box<ApplicationAnswer>, ApplicationRefusal>;

/// How callers are known.
#[derive(Clone, Debug)]
pub enum ApplicationAccess {
    /// Applications are switched off: their addresses do not exist.
    Off,
    /// By signatures with the keys of this list, and with the secrets of applications.
    Signed(Arc<Acl>),
    /// By the names that they give themselves, on this machine alone; and by the secrets of applications.
    Loopback,
}

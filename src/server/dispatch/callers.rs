//! The identity of a caller; groups are looked up only if an access list needs them.

use std::rc::Rc;

use crate::config::settings::Queues;
use crate::engine::{Caller, IdOwner};
use crate::ipc::{PendingCall, RemoteError};
use crate::model::JobId;
use crate::server::groups::Groups;

use super::Dispatcher;

/// Resolves callers.
pub(super) struct Callers {
    groups: Rc<Groups>,
    acls_enabled: bool,
}

/// The owner of a job id: the caller that requested it or submits under it.
pub(in crate::server) fn id_owner(pending: &PendingCall) -> IdOwner {
    IdOwner { user: pending.user().clone(), connection: pending.connection(), origin: pending.origin() }
}

// === impl Callers ===

impl Callers {
    pub(super) fn new(settings: &Queues) -> Self {
        Self { groups: Rc::new(Groups::new(settings.groups_cache_s)), acls_enabled: settings.acls_enabled }
    }

    /// Discards the cached groups.
    pub(super) fn forget_groups(&self) {
        self.groups.forget();
    }
}

// === impl Dispatcher: callers ===

impl Dispatcher {
    /// Calls `then` with the caller of an operation on a job, or on a queue if `job` is `None`. Groups are looked up
    /// only if an access list needs them.
    pub(super) fn as_caller(
        self: &Rc<Self>,
        job: Option<JobId>,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static,
    ) {
        if self.callers.acls_enabled && self.owner.with_engine(|engine| engine.needs_groups(job, pending.user())) {
            self.with_groups(pending, then);
        } else {
            let caller = Caller::named(pending.user().clone());
            then(self, caller, pending);
        }
    }

    /// Calls `then` with the caller of an administrator's operation.
    pub(super) fn as_member(
        self: &Rc<Self>,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static,
    ) {
        if self.owner.with_engine(|engine| engine.administrators_need_groups(pending.user())) {
            self.with_groups(pending, then);
        } else {
            let caller = Caller::named(pending.user().clone());
            then(self, caller, pending);
        }
    }

    /// Calls `then` with the caller and the groups: at once if they are cached, else once they are looked up.
    fn with_groups(self: &Rc<Self>, pending: PendingCall, then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static) {
        let user = pending.user().clone();
        if let Some(groups) = self.callers.groups.known(&user) {
            return then(self, Caller { user, groups }, pending);
        }
        // A task of its own: the next client's call must not wait for this one's groups.
        let this = self.clone();
        tokio::task::spawn_local(async move {
            match this.callers.groups.of(&user, pending.origin()).await {
                Ok(groups) => then(&this, Caller { user, groups }, pending),
                Err(refused) => this.refuse(pending, RemoteError::io(refused)),
            }
        });
    }
}

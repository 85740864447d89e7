//! Who a caller is, groups included: asked for only where an access list is to be looked at.

use std::rc::Rc;

use crate::config::settings::Queues;
use crate::engine::{Caller, IdOwner};
use crate::ipc::{RemoteError, Ticket};
use crate::model::JobId;
use crate::server::groups::Groups;

use super::Dispatcher;

/// What callers are known by.
pub(super) struct Callers {
    groups: Rc<Groups>,
    acls_enabled: bool,
}

/// The caller that a job id is given to, or that submits under one.
pub(in crate::server) fn id_owner(ticket: &Ticket) -> IdOwner {
    IdOwner { user: ticket.user().clone(), connection: ticket.connection(), origin: ticket.origin() }
}

// === impl Callers ===

impl Callers {
    pub(super) fn new(settings: &Queues) -> Self {
        Self { groups: Rc::new(Groups::new(settings.groups_cache_s)), acls_enabled: settings.acls_enabled }
    }

    /// Forgets which groups users belong to.
    pub(super) fn forget_groups(&self) {
        self.groups.forget();
    }
}

// === impl Dispatcher: callers ===

impl Dispatcher {
    /// Goes on with the caller of an operation of a job, or of a queue where none is named; groups count only while access lists do.
    pub(super) fn as_caller(
        self: &Rc<Self>,
        job: Option<JobId>,
        ticket: Ticket,
        go_on: impl FnOnce(&Rc<Self>, Caller, Ticket) + 'static,
    ) {
        if self.callers.acls_enabled && self.owner.with_engine(|engine| engine.needs_groups(job, ticket.user())) {
            self.with_groups(ticket, go_on);
        } else {
            let caller = Caller::named(ticket.user().clone());
            go_on(self, caller, ticket);
        }
    }

    /// Goes on with the caller of an administrator's operation.
    pub(super) fn as_member(self: &Rc<Self>, ticket: Ticket, go_on: impl FnOnce(&Rc<Self>, Caller, Ticket) + 'static) {
        if self.owner.with_engine(|engine| engine.administrators_need_groups(ticket.user())) {
            self.with_groups(ticket, go_on);
        } else {
            let caller = Caller::named(ticket.user().clone());
            go_on(self, caller, ticket);
        }
    }

    /// Goes on with the caller and his groups: at once if they are known, else when the machine has told them.
    fn with_groups(self: &Rc<Self>, ticket: Ticket, go_on: impl FnOnce(&Rc<Self>, Caller, Ticket) + 'static) {
        let user = ticket.user().clone();
        if let Some(groups) = self.callers.groups.known(&user) {
            return go_on(self, Caller { user, groups }, ticket);
        }
        // Not waited for here: the next client's call must not wait for this one's groups.
        let this = self.clone();
        tokio::task::spawn_local(async move {
            match this.callers.groups.of(&user, ticket.origin()).await {
                Ok(groups) => go_on(&this, Caller { user, groups }, ticket),
                Err(refused) => this.refuse(ticket, RemoteError::io(refused)),
            }
        });
    }
}

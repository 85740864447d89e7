//! The identity of a caller; groups are looked up only if an access list needs them.

use std::rc::Rc;
use std::sync::Arc;

use crate::engine::Caller;
use crate::ipc::{PendingCall, RemoteError};
use crate::mapreduce::JobSpec;
use crate::model::JobId;
use crate::server::hadoop_audit::HadoopAudit;

use super::dispatcher::Dispatcher;

/// Requests of the web count as those of one host when new names are counted.
const WEB_ORIGIN: u128 = 0;

/// The caller of a call, without groups.
pub(super) fn caller_of(pending: &PendingCall) -> Caller {
    let (real_user, has_admin_role) = (pending.real_user().cloned(), pending.has_admin_role());
    Caller { real_user, has_admin_role, ..Caller::named(pending.user().clone()) }
}

impl Dispatcher {
    /// Calls `then` with the caller of an operation on a job, or on a queue if `job` is `None`. Groups are looked up
    /// only if an access list needs them.
    pub(super) fn as_caller(
        self: &Rc<Self>,
        job: Option<JobId>,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static,
    ) {
        if self.acls_enabled && self.owner.with_engine(|engine| engine.needs_groups(job, pending.user())) {
            self.with_groups(pending, then);
        } else {
            let caller = caller_of(&pending);
            then(self, caller, pending);
        }
    }

    /// The same of an operation on a job that memory no longer has.
    pub(super) fn as_caller_of(
        self: &Rc<Self>,
        spec: &JobSpec,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static,
    ) {
        if self.acls_enabled && self.owner.with_engine(|engine| engine.needs_groups_for(Some(spec), pending.user())) {
            self.with_groups(pending, then);
        } else {
            let caller = caller_of(&pending);
            then(self, caller, pending);
        }
    }

    /// Writes into the audit log that a caller asks to see something of a job, and whether that is refused.
    pub(super) fn audit_view(&self, operation: &'static str, job: JobId, pending: &PendingCall, is_refused: bool) {
        let (user, address) = (pending.user(), pending.address());
        let call = self.owner.with_engine(|engine| self.audit.of_job(engine, operation, job, user, address));
        match call {
            Some(call) if is_refused => self.audit.refused(&call, HadoopAudit::UNAUTHORIZED),
            Some(call) => self.audit.allowed(&call),
            None => {}
        }
    }

    /// Groups of a user of the web for an operation on a job, or on a queue if `job` is `None`; none where no access list needs them, or where too many
    /// new names are looked up.
    pub(in crate::server) async fn groups_of(&self, job: Option<JobId>, user: &Arc<str>) -> Arc<[String]> {
        if !self.acls_enabled || !self.owner.with_engine(|engine| engine.needs_groups(job, user)) {
            return Arc::new([]);
        }
        self.groups.of(user, WEB_ORIGIN).await.unwrap_or_else(|_| Arc::new([]))
    }

    /// Groups of a user of the web, where the list of administrators names groups.
    pub(in crate::server) async fn groups_of_administrator(&self, user: &Arc<str>) -> Arc<[String]> {
        if !self.owner.with_engine(|engine| engine.administrators_need_groups(user)) {
            return Arc::new([]);
        }
        self.groups.of(user, WEB_ORIGIN).await.unwrap_or_else(|_| Arc::new([]))
    }

    /// Whether an access list needs the groups of a user who submits to a queue.
    pub(in crate::server) fn needs_groups_to_submit(&self, user: &Arc<str>) -> bool {
        self.acls_enabled && self.owner.with_engine(|engine| engine.needs_groups(None, user))
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
            let caller = caller_of(&pending);
            then(self, caller, pending);
        }
    }

    /// Calls `then` with the caller and the groups: at once if they are cached, else once they are looked up.
    fn with_groups(self: &Rc<Self>, pending: PendingCall, then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static) {
        let caller = caller_of(&pending);
        if let Some(groups) = self.groups.known(&caller.user) {
            return then(self, Caller { groups, ..caller }, pending);
        }
        // A task of its own: the next client's call must not wait for this one's groups.
        let this = self.clone();
        tokio::task::spawn_local(async move {
            match this.groups.of(&caller.user, pending.origin()).await {
                Ok(groups) => then(&this, Caller { groups, ..caller }, pending),
                Err(refused) => this.refuse(pending, RemoteError::io(refused)),
            }
        });
    }
}

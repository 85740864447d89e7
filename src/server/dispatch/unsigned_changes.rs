//! Changes of jobs by RPC, which has no signatures: refused where changes must be signed, unless the caller's host is
//! believed.

use std::rc::Rc;

use crate::engine::{Caller, Engine, Event};
use crate::ipc::PendingCall;
use crate::model::JobId;

use super::callers::caller_of;
use super::dispatcher::Dispatcher;

impl Dispatcher {
    /// Calls `then` with the caller of a change of a job, or refuses it; `verb`: the subcommand of `job` that signs it.
    pub(super) fn as_changer(
        self: &Rc<Self>,
        verb: &'static str,
        job: JobId,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static,
    ) {
        let is_believed =
            !self.owner.with_engine(Engine::needs_signatures) || self.believed_hosts.contains(pending.address());
        if is_believed {
            return self.as_caller(Some(job), pending, then);
        }
        let caller = caller_of(&pending);
        self.step(Event::UnsignedChange { verb, job, caller }, pending);
    }
}

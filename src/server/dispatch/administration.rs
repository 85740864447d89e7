//! What administrators ask.

use crate::server::rpc::{RemoteError, Ticket};
use crate::wire::protocol::{AdminOperationsCall, SafeModeAction, Value};

use super::Dispatcher;

impl Dispatcher {
    pub(super) fn admin_operations(&self, call: AdminOperationsCall, ticket: Ticket) {
        match call {
            // There is no safe mode to be in.
            AdminOperationsCall::SetSafeMode { action: SafeModeAction::Get } => {
                self.tell(ticket, Value::Boolean(false));
            }
            AdminOperationsCall::SetSafeMode { .. } => self.refuse(ticket, not_supported("safe mode")),
            AdminOperationsCall::RefreshQueues => self.refuse(ticket, not_supported("refreshQueues")),
            AdminOperationsCall::RefreshNodes => self.refuse(ticket, not_supported("refreshNodes")),
        }
    }
}

/// The answer to what is not built: an error that says so, rather than a success that is none.
pub(super) fn not_supported(what: &str) -> RemoteError {
    RemoteError::io(format_args!("this JobTracker does not support {what} yet"))
}

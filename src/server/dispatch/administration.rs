//! What administrators ask.

use std::rc::Rc;

use crate::config::ConfigError;
use crate::config::settings::{LoadOptions, reread};
use crate::engine::{Caller, Event, HostLists, QueueConfig, Refusal};
use crate::ipc::{Answer, RemoteError, Ticket};
use crate::model::FactNumber;
use crate::server::engine_config::{host_lists, queue_configs};
use crate::wire::protocol::{
    AdminOperationsCall, RefreshAuthorizationPolicyCall, RefreshUserMappingsCall, SafeModeAction, Value,
};

use super::paced::{Outcome, Paced};
use super::{Dispatcher, TOO_MUCH_WAITS, answer_of};

/// What is read anew when an administrator asks for it.
pub(super) struct Administration {
    pub(super) sources: LoadOptions,
    pub(super) queues: Paced,
    pub(super) nodes: Paced,
    pub(super) groups: Paced,
}

// === impl Administration ===

impl Administration {
    pub(super) fn new(sources: LoadOptions) -> Self {
        Self { sources, queues: Paced::default(), nodes: Paced::default(), groups: Paced::default() }
    }
}

// === impl Dispatcher: administration ===

impl Dispatcher {
    pub(super) fn admin_operations(self: &Rc<Self>, call: AdminOperationsCall, ticket: Ticket) {
        match call {
            // Everybody may know.
            AdminOperationsCall::SetSafeMode { action: SafeModeAction::Get } => {
                self.show(ticket, |engine| engine.safe_mode(), Value::Boolean);
            }
            AdminOperationsCall::SetSafeMode { action } => self.as_member(ticket, move |this, caller, ticket| {
                this.step(Event::SetSafeMode { on: action == SafeModeAction::Enter, caller }, ticket);
            }),
            AdminOperationsCall::RefreshQueues => {
                let caller = Caller::named(ticket.user().clone());
                self.at_its_pace(
                    |this| &this.administration.queues,
                    (caller, ticket),
                    async |this: Rc<Self>, caller| {
                        this.reread(read_queues, |queues| Event::QueuesRead { queues, caller }).await
                    },
                );
            }
            AdminOperationsCall::RefreshNodes => {
                let this = self.clone();
                self.as_member(ticket, move |_, caller, ticket| {
                    // Judged again with the event; nobody else shall make the daemon read files.
                    match this.owner.with_engine(|engine| engine.check_refresh_nodes(&caller)) {
                        Ok(()) => this.at_its_pace(
                            |this| &this.administration.nodes,
                            (caller, ticket),
                            async |this: Rc<Self>, caller| {
                                let outcome = this.reread(read_hosts, |hosts| Event::HostsRead { hosts, caller }).await;
                                this.hosts_read();
                                outcome
                            },
                        ),
                        Err(refusal) => this.refuse(ticket, refusal.into()),
                    }
                });
            }
        }
    }

    pub(super) fn refresh_user_mappings(self: &Rc<Self>, call: RefreshUserMappingsCall, ticket: Ticket) {
        match call {
            // Each time the system is asked for the groups of all callers again.
            RefreshUserMappingsCall::RefreshUserToGroupsMappings => {
                let caller = Caller::named(ticket.user().clone());
                self.at_its_pace(
                    |this| &this.administration.groups,
                    (caller, ticket),
                    async |this: Rc<Self>, caller: Caller| {
                        this.callers.forget_groups();
                        tracing::info!("{} had the groups of all users forgotten", caller.user);
                        (Answer::Value(Value::Void), FactNumber::default())
                    },
                );
            }
            // Nobody may act for anybody, whatever the conf folder says.
            RefreshUserMappingsCall::RefreshSuperUserGroupsConfiguration => {
                tracing::info!("{} had the proxy users read anew, of which there are none", ticket.user());
                self.tell(ticket, Value::Void);
            }
        }
    }

    /// As 1.2.1 answers while `hadoop.security.authorization` is off: its `AuthorizationException` prints nothing of itself.
    pub(super) fn refresh_authorization_policy(&self, call: RefreshAuthorizationPolicyCall, ticket: Ticket) {
        let RefreshAuthorizationPolicyCall::RefreshServiceAcl = call;
        tracing::info!("{} asked for refreshServiceAcl, but hadoop.security.authorization is off", ticket.user());
        let class = "org.apache.hadoop.security.authorize.AuthorizationException";
        self.refuse(ticket, RemoteError { class, message: String::new() });
    }

    /// Reads files on the pool, then tells the engine what stands in them.
    async fn reread<T: Send + 'static>(
        &self,
        read: fn(&LoadOptions) -> Result<T, String>,
        event: impl FnOnce(T) -> Event,
    ) -> Outcome {
        let sources = self.administration.sources.clone();
        let error = match tokio::task::spawn_blocking(move || read(&sources)).await {
            Ok(Ok(_)) if self.owner.is_pressed() => RemoteError::io(TOO_MUCH_WAITS),
            Ok(Ok(found)) => {
                let (reply, wait_for) = self.owner.step(event(found));
                return (answer_of(reply), wait_for);
            }
            Ok(Err(text)) => Refusal::Invalid(text).into(),
            Err(error) => RemoteError::io(format_args!("the JobTracker failed at it: {error}")),
        };
        (Answer::Error(error), FactNumber::default())
    }
}

fn read_queues(sources: &LoadOptions) -> Result<Vec<QueueConfig>, String> {
    let (queues, warnings) = reread::queues(sources).map_err(unchanged)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    Ok(queue_configs(&queues))
}

fn read_hosts(sources: &LoadOptions) -> Result<HostLists, String> {
    let trackers = reread::trackers(sources).map_err(unchanged)?;
    host_lists(&trackers).map_err(|error| format!("{error}; what was read before holds on"))
}

fn unchanged(error: ConfigError) -> String {
    format!("{error}; what was read before holds on")
}

/// The answer to what is not built: an error that says so, rather than a success that is none.
pub(super) fn not_supported(what: &str) -> RemoteError {
    RemoteError::io(format_args!("this JobTracker does not support {what} yet"))
}

//! Calls of administrators.

use std::rc::Rc;

use crate::config::ConfigError;
use crate::config::settings::{LoadOptions, reread};
use crate::engine::{Caller, Event, HostLists, QueueConfig, Refusal};
use crate::ipc::{Answer, PendingCall, RemoteError};
use crate::model::FactNumber;
use crate::server::engine_config::{host_lists, queue_configs};
use crate::wire::protocol::{
    AdminOperationsCall, RefreshAuthorizationPolicyCall, RefreshUserMappingsCall, SafeModeAction, Value,
};

use super::rate_limited::{Outcome, RateLimited};
use super::{Dispatcher, STORE_OVERLOADED, answer_of};

/// State of the reloads that administrators request.
pub(super) struct Administration {
    pub(super) sources: LoadOptions,
    pub(super) queues: RateLimited,
    pub(super) nodes: RateLimited,
    pub(super) groups: RateLimited,
}

// === impl Administration ===

impl Administration {
    pub(super) fn new(sources: LoadOptions) -> Self {
        Self { sources, queues: RateLimited::default(), nodes: RateLimited::default(), groups: RateLimited::default() }
    }
}

// === impl Dispatcher: administration ===

impl Dispatcher {
    pub(super) fn admin_operations(self: &Rc<Self>, call: AdminOperationsCall, pending: PendingCall) {
        match call {
            // Needs no permission.
            AdminOperationsCall::SetSafeMode { action: SafeModeAction::Get } => {
                self.show(pending, |engine| engine.safe_mode(), Value::Boolean);
            }
            AdminOperationsCall::SetSafeMode { action } => self.as_member(pending, move |this, caller, pending| {
                this.step(Event::SetSafeMode { on: action == SafeModeAction::Enter, caller }, pending);
            }),
            AdminOperationsCall::RefreshQueues => {
                let caller = Caller::named(pending.user().clone());
                self.run_rate_limited(
                    |this| &this.administration.queues,
                    (caller, pending),
                    async |this: Rc<Self>, caller| {
                        this.reread(read_queues, |queues| Event::QueuesRead { queues, caller }).await
                    },
                );
            }
            AdminOperationsCall::RefreshNodes => {
                let this = self.clone();
                self.as_member(pending, move |_, caller, pending| {
                    // Checked before files are read, and again with the event.
                    match this.owner.with_engine(|engine| engine.check_refresh_nodes(&caller)) {
                        Ok(()) => this.run_rate_limited(
                            |this| &this.administration.nodes,
                            (caller, pending),
                            async |this: Rc<Self>, caller| {
                                let outcome = this.reread(read_hosts, |hosts| Event::HostsRead { hosts, caller }).await;
                                this.apply_host_list();
                                outcome
                            },
                        ),
                        Err(refusal) => this.refuse(pending, refusal.into()),
                    }
                });
            }
        }
    }

    pub(super) fn refresh_user_mappings(self: &Rc<Self>, call: RefreshUserMappingsCall, pending: PendingCall) {
        match call {
            // Each refresh discards the cached groups of all callers.
            RefreshUserMappingsCall::RefreshUserToGroupsMappings => {
                let caller = Caller::named(pending.user().clone());
                self.run_rate_limited(
                    |this| &this.administration.groups,
                    (caller, pending),
                    async |this: Rc<Self>, caller: Caller| {
                        this.callers.forget_groups();
                        tracing::info!("{} discarded the cached groups of all users", caller.user);
                        (Answer::Value(Value::Void), FactNumber::default())
                    },
                );
            }
            // Impersonation is never allowed, even if the conf folder does.
            RefreshUserMappingsCall::RefreshSuperUserGroupsConfiguration => {
                tracing::info!("{} reloaded the proxy users, of which there are none", pending.user());
                self.answer_value(pending, Value::Void);
            }
        }
    }

    /// As 1.2.1 answers while `hadoop.security.authorization` is off: its `AuthorizationException` prints nothing of
    /// itself.
    pub(super) fn refresh_authorization_policy(&self, call: RefreshAuthorizationPolicyCall, pending: PendingCall) {
        let RefreshAuthorizationPolicyCall::RefreshServiceAcl = call;
        tracing::info!("{} called refreshServiceAcl, but hadoop.security.authorization is off", pending.user());
        let class = "org.apache.hadoop.security.authorize.AuthorizationException";
        self.refuse(pending, RemoteError { class, message: String::new() });
    }

    /// Reads files on the pool and passes the result to the engine.
    async fn reread<T: Send + 'static>(
        &self,
        read: fn(&LoadOptions) -> Result<T, String>,
        event: impl FnOnce(T) -> Event,
    ) -> Outcome {
        let sources = self.administration.sources.clone();
        let error = match tokio::task::spawn_blocking(move || read(&sources)).await {
            Ok(Ok(_)) if self.owner.is_overloaded() => RemoteError::io(STORE_OVERLOADED),
            Ok(Ok(found)) => {
                let (reply, wait_for) = self.owner.step(event(found));
                return (answer_of(reply), wait_for);
            }
            Ok(Err(text)) => Refusal::Invalid(text).into(),
            Err(error) => RemoteError::io(format_args!("the JobTracker failed internally: {error}")),
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
    host_lists(&trackers).map_err(|error| format!("{error}; the previous values stay in force"))
}

fn unchanged(error: ConfigError) -> String {
    format!("{error}; the previous values stay in force")
}

/// The error for an unsupported call.
pub(super) fn not_supported(what: &str) -> RemoteError {
    RemoteError::io(format_args!("this JobTracker does not support {what} yet"))
}

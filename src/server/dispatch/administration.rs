//! Calls of administrators.

use std::rc::Rc;

use crate::config::ConfigError;
use crate::config::settings::{LoadOptions, reread};
use crate::engine::{Caller, Event, HostLists, PolicyConfig, QueueConfig, Refusal};
use crate::ipc::{CallAnswer, PendingCall, RemoteError};
use crate::model::FactNumber;
use crate::server::answer::answer_of;
use crate::server::engine_config::{host_lists, reread_policy, scheduler_class};
use crate::server::hadoop_audit::HadoopAudit;
use crate::wire::protocol::{
    AdminOperationsCall, RefreshAuthorizationPolicyCall, RefreshUserMappingsCall, SafeModeAction, Value,
};

use super::dispatcher::{Dispatcher, STORE_OVERLOADED, caller_of};
use super::rate_limited::RefreshOutcome;

impl Dispatcher {
    pub(super) fn admin_operations(self: &Rc<Self>, call: AdminOperationsCall, pending: PendingCall) {
        match call {
            // Needs no permission.
            AdminOperationsCall::SetSafeMode { action: SafeModeAction::Get } => {
                let (user, address) = (pending.user(), pending.address());
                let call =
                    self.owner.with_engine(|engine| self.audit.of_jobtracker(engine, "GET_SAFEMODE", user, address));
                self.audit.allowed(&call);
                self.show(pending, |engine| engine.safe_mode(), Value::Boolean);
            }
            AdminOperationsCall::SetSafeMode { action } => self.as_member(pending, move |this, caller, pending| {
                this.step(Event::SetSafeMode { on: action == SafeModeAction::Enter, caller }, pending);
            }),
            AdminOperationsCall::RefreshQueues => {
                let caller = caller_of(&pending);
                let this = self.clone();
                self.refreshes.queues.run(&self.owner, (caller, pending), move |caller| {
                    let class = this.owner.with_engine(|engine| scheduler_class(engine.policy()));
                    let read = move |sources: &LoadOptions| read_queues(sources, class);
                    this.clone().reread(read, |(queues, policy)| Event::QueuesRead { queues, policy, caller })
                });
            }
            AdminOperationsCall::RefreshNodes => {
                self.as_member(pending, |this, caller, pending| {
                    // Checked before files are read, and again with the event.
                    let (call, checked) = this.owner.with_engine(|engine| {
                        let call = this.audit.of_jobtracker(engine, "REFRESH_NODES", &caller.user, pending.address());
                        (call, engine.check_refresh_nodes(&caller))
                    });
                    match &checked {
                        Ok(()) => this.audit.allowed(&call),
                        Err(_) => this.audit.refused(&call, HadoopAudit::UNAUTHORIZED),
                    }
                    if let Err(refusal) = checked {
                        return this.refuse(pending, refusal.into());
                    }
                    let dispatcher = this.clone();
                    this.refreshes
                        .nodes
                        .run(&this.owner, (caller, pending), move |caller| dispatcher.clone().reread_hosts(caller));
                });
            }
        }
    }

    pub(super) fn refresh_user_mappings(self: &Rc<Self>, call: RefreshUserMappingsCall, pending: PendingCall) {
        match call {
            // Each refresh discards the cached groups of all callers.
            RefreshUserMappingsCall::RefreshUserToGroupsMappings => {
                let caller = caller_of(&pending);
                let this = self.clone();
                self.refreshes.groups.run(&self.owner, (caller, pending), move |caller| {
                    this.forget_groups();
                    tracing::info!("{caller} discarded the cached groups of all users");
                    std::future::ready((CallAnswer::Value(Value::Void), FactNumber::default()))
                });
            }
            RefreshUserMappingsCall::RefreshSuperUserGroupsConfiguration => {
                let caller = caller_of(&pending);
                let this = self.clone();
                self.refreshes.proxy_users.run(&self.owner, (caller, pending), move |caller| {
                    let this = this.clone();
                    let sources = this.sources.clone();
                    reread_rules(
                        move || reread::proxy_users(&sources),
                        move |(users, warnings)| {
                            for warning in warnings {
                                tracing::warn!("{warning}");
                            }
                            tracing::info!("{caller} reloaded the proxy users: {} may act for others", users.len());
                            this.policy.set_proxy_users(users);
                        },
                    )
                });
            }
        }
    }

    /// While `hadoop.security.authorization` is off, the answer is that of 1.2.1: its `AuthorizationException` prints
    /// nothing of itself.
    pub(super) fn refresh_authorization_policy(
        self: &Rc<Self>,
        call: RefreshAuthorizationPolicyCall,
        pending: PendingCall,
    ) {
        let RefreshAuthorizationPolicyCall::RefreshServiceAcl = call;
        let caller = caller_of(&pending);
        if !self.policy.is_authorizing() {
            tracing::info!("{caller} called refreshServiceAcl, but hadoop.security.authorization is off");
            let class = "org.apache.hadoop.security.authorize.AuthorizationException";
            return self.refuse(pending, RemoteError { class, message: String::new() });
        }
        let this = self.clone();
        self.refreshes.service_policy.run(&self.owner, (caller, pending), move |caller| {
            let this = this.clone();
            let sources = this.sources.clone();
            reread_rules(
                move || reread::service_policy(&sources),
                move |policy| {
                    // It is switched off by a restart only, as in 1.2.1.
                    if policy.is_some() {
                        tracing::info!("{caller} reloaded the lists of service-level authorization");
                        this.policy.set_service(policy);
                    }
                },
            )
        });
    }

    async fn reread_hosts(self: Rc<Self>, caller: Caller) -> RefreshOutcome {
        let outcome = self.clone().reread(read_hosts, |hosts| Event::HostsRead { hosts, caller }).await;
        self.apply_host_list();
        outcome
    }

    /// Reads files on the pool and passes the result to the engine.
    async fn reread<T: Send + 'static>(
        self: Rc<Self>,
        read: impl FnOnce(&LoadOptions) -> Result<T, String> + Send + 'static,
        event: impl FnOnce(T) -> Event,
    ) -> RefreshOutcome {
        let sources = self.sources.clone();
        let error = match tokio::task::spawn_blocking(move || read(&sources)).await {
            Ok(Ok(_)) if self.owner.is_overloaded() => RemoteError::io(STORE_OVERLOADED),
            Ok(Ok(found)) => {
                let (reply, wait_for) = self.owner.step(event(found));
                return (answer_of(reply), wait_for);
            }
            Ok(Err(text)) => Refusal::Invalid(text).into(),
            Err(error) => RemoteError::io(format_args!("the JobTracker failed internally: {error}")),
        };
        (CallAnswer::Error(error), FactNumber::default())
    }
}

/// Reads rules for connections on the pool and applies them; with an error, those before stay in force.
async fn reread_rules<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, ConfigError> + Send + 'static,
    apply: impl FnOnce(T),
) -> RefreshOutcome {
    let answer = match tokio::task::spawn_blocking(read).await {
        Ok(Ok(found)) => {
            apply(found);
            CallAnswer::Value(Value::Void)
        }
        Ok(Err(error)) => {
            let text = unchanged(error);
            tracing::warn!("{text}");
            CallAnswer::Error(RemoteError::io(text))
        }
        Err(error) => CallAnswer::Error(RemoteError::io(format_args!("the JobTracker failed internally: {error}"))),
    };
    (answer, FactNumber::default())
}

/// Reads the queues, and the files of the ruling scheduler.
fn read_queues(sources: &LoadOptions, class: &'static str) -> Result<(Vec<QueueConfig>, Option<PolicyConfig>), String> {
    let (read, warnings) = reread::queues_and_scheduler(sources, class).map_err(unchanged)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let policy = reread_policy(&read);
    Ok((read.queues.queues, policy))
}

fn read_hosts(sources: &LoadOptions) -> Result<HostLists, String> {
    let trackers = reread::trackers(sources).map_err(unchanged)?;
    host_lists(&trackers).map_err(|error| format!("{error}; the previous values stay in force"))
}

fn unchanged(error: ConfigError) -> String {
    format!("{error}; the previous values stay in force")
}

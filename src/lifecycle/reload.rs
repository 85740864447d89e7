//! SIGHUP: reloads what can change while the daemon runs, all of it or nothing.
//!
//! Equivalent to an administrator's `refreshQueues` and `refreshNodes`, plus a check of the ACL file, whose edits are
//! in force at once anyway.

use std::rc::Rc;
use std::sync::Arc;

use tokio::signal::unix::Signal;

use crate::config::service_policy::ServicePolicy;
use crate::config::settings::{LoadOptions, ProxyUsers, reread};
use crate::config::{Configuration, Settings};
use crate::engine::{Event, HostLists, PolicyConfig, QueueConfig, Refusal, Reply};
use crate::server::{AclFile, Dispatcher, Owner, host_lists, queue_configs, reread_policy, scheduler_class};

use super::service_notifier::ServiceNotifier;

/// Reloads at each SIGHUP.
pub(super) struct Reload {
    sources: LoadOptions,
    /// The configuration at the start.
    running: Arc<Configuration>,
    acl: Option<Arc<AclFile>>,
    owner: Rc<Owner>,
    dispatcher: Rc<Dispatcher>,
}

/// The content of the files.
struct ReloadedFiles {
    queues: Vec<QueueConfig>,
    policy: Option<PolicyConfig>,
    hosts: HostLists,
    signers: Option<usize>,
    /// Whose callers may change jobs without a signature.
    believed_hosts: Vec<String>,
    /// Users that may act for others.
    proxy_users: ProxyUsers,
    /// Lists of service-level authorization.
    service_policy: Option<ServicePolicy>,
    /// Keys that have changed and require a restart, each with its place.
    waiting: Vec<String>,
}

// === impl Reload ===

impl Reload {
    pub(super) fn new(
        settings: &Settings,
        acl: Option<Arc<AclFile>>,
        owner: Rc<Owner>,
        dispatcher: Rc<Dispatcher>,
    ) -> Self {
        Self { sources: settings.sources.clone(), running: settings.configuration.clone(), acl, owner, dispatcher }
    }

    /// Reloads at each `hang_up`. One that arrives during a reload triggers the next.
    pub(super) async fn run(self, mut hang_up: Signal, service: ServiceNotifier) {
        while hang_up.recv().await.is_some() {
            service.reloading();
            match self.reload().await {
                Ok(summary) => {
                    tracing::info!("SIGHUP: {summary}");
                    service.ready(&summary);
                }
                Err(error) => {
                    let summary = format!("reload failed, nothing changed: {error}");
                    tracing::error!("SIGHUP: {summary}");
                    service.ready(&summary);
                }
            }
        }
    }

    /// Returns a summary, or why nothing was reloaded.
    async fn reload(&self) -> Result<String, String> {
        let (sources, running, acl) = (self.sources.clone(), self.running.clone(), self.acl.clone());
        let class = self.owner.with_engine(|engine| scheduler_class(engine.policy()));
        let read = move || read(&sources, class, &running, acl.as_deref());
        let found = tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())??;
        let mut summary = format!(
            "reloaded {}: {} queues, {} hosts included, {} excluded",
            self.sources.conf_dir.as_ref().map_or("the command line".into(), |folder| folder.display().to_string()),
            found.queues.len(),
            found.hosts.included.len(),
            found.hosts.excluded.len(),
        );
        if let Some(signers) = found.signers {
            summary += &format!(", {signers} users may sign");
        }
        if !found.waiting.is_empty() {
            summary += &format!("; changed, but require a restart: {}", found.waiting.join(", "));
        }
        let ReloadedFiles { queues, policy, hosts, believed_hosts, proxy_users, service_policy, .. } = found;
        match self.owner.step(Event::ConfigurationRead { queues, policy, hosts }).0 {
            Reply::Refused(Refusal::IllegalArgument(text)) => Err(text),
            Reply::Refused(refusal) => Err(format!("{refusal:?}")),
            _ => {
                self.dispatcher.forget_groups();
                self.dispatcher.apply_host_list();
                self.dispatcher.believed_hosts().set(&believed_hosts);
                self.dispatcher.set_connection_policy(proxy_users, service_policy);
                Ok(summary)
            }
        }
    }
}

/// Reads all files; `class` is the ruling scheduler's. Blocking.
fn read(
    sources: &LoadOptions,
    class: &str,
    running: &Configuration,
    acl: Option<&AclFile>,
) -> Result<ReloadedFiles, String> {
    // Everything is checked: an error that a restart would meet is reported now.
    let (settings, warnings) = Settings::load(sources).map_err(|error| error.to_string())?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let hosts = host_lists(&settings.trackers).map_err(|error| error.to_string())?;
    let signers = acl.map(AclFile::reload).transpose()?;
    let waiting = reread::changes_needing_restart(running, &settings.configuration, class);
    let (read, _warnings) = reread::queues_and_scheduler(sources, class).map_err(|error| error.to_string())?;
    let believed_hosts = settings.job_changes.hosts;
    let (proxy_users, service_policy) = (settings.proxy_users, settings.service_policy);
    let (queues, policy) = (queue_configs(&read.queues), reread_policy(&read));
    Ok(ReloadedFiles { queues, policy, hosts, signers, believed_hosts, proxy_users, service_policy, waiting })
}

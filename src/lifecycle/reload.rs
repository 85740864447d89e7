//! SIGHUP: reloads what can change while the daemon runs, all of it or nothing.
//!
//! Equivalent to an administrator's `refreshQueues` and `refreshNodes`, plus a check of the ACL file, whose edits are
//! in force at once anyway.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use tokio::signal::unix::Signal;

use crate::config::service_policy::ServicePolicy;
use crate::config::settings::{LoadOptions, ProxyUsers, reread};
use crate::config::{Configuration, Settings};
use crate::engine::{Event, HostLists, PolicyConfig, QueueConfig, Refusal, Reply};
use crate::model::counted;
use crate::server::{AclFile, Dispatcher, Owner, host_lists, queue_configs, reread_policy, scheduler_class};

use super::check_start::check_files;
use super::service_notifier::ServiceNotifier;

/// Reloads at each SIGHUP.
pub(super) struct Reload {
    sources: LoadOptions,
    /// The configuration at the start.
    running: Arc<Configuration>,
    acl: Option<Arc<AclFile>>,
    owner: Rc<Owner>,
    dispatcher: Rc<Dispatcher>,
    service: ServiceNotifier,
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
        service: ServiceNotifier,
    ) -> Self {
        let (sources, running) = (settings.sources.clone(), settings.configuration.clone());
        Self { sources, running, acl, owner, dispatcher, service }
    }

    /// Reloads at each `hang_up`. One that arrives during a reload triggers the next.
    pub(super) async fn run(self: Rc<Self>, mut hang_up: Signal) {
        while hang_up.recv().await.is_some() {
            let _ = self.reload_for("SIGHUP", None).await;
        }
    }

    /// Reloads at the request of an operator: what has changed, a line each, and a summary.
    ///
    /// # Errors
    /// Why nothing was reloaded.
    pub(super) async fn reload_by(&self, user: &str) -> Result<(Vec<String>, String), String> {
        self.reload_for("reload", Some(user)).await
    }

    async fn reload_for(&self, request: &str, by: Option<&str>) -> Result<(Vec<String>, String), String> {
        self.service.reloading();
        let reloaded = self.reload(by).await;
        match &reloaded {
            Ok((changes, summary)) => {
                let changes = changes.iter().map(|change| format!("; {change}")).collect::<String>();
                tracing::info!("{request}: {summary}{changes}");
                self.service.ready(&format!("{summary}{changes}"));
            }
            Err(error) => {
                let summary = format!("reload failed, nothing changed: {error}");
                tracing::error!("{request}: {summary}");
                self.service.ready(&summary);
            }
        }
        reloaded
    }

    async fn reload(&self, by: Option<&str>) -> Result<(Vec<String>, String), String> {
        let (sources, running, acl) = (self.sources.clone(), self.running.clone(), self.acl.clone());
        let class = self.owner.with_engine(|engine| scheduler_class(engine.policy()));
        let read = move || read(&sources, class, &running, acl.as_deref());
        let found = tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())??;
        let mut summary = format!(
            "reloaded {}: {}, {} included, {} excluded",
            self.sources.conf_dir.as_ref().map_or("the command line".into(), |folder| folder.display().to_string()),
            counted(found.queues.len(), "queue"),
            counted(found.hosts.included.len(), "host"),
            found.hosts.excluded.len(),
        );
        if let Some(signers) = found.signers {
            summary += &format!(", {} may sign", counted(signers, "user"));
        }
        let mut changes = self.owner.with_engine(|engine| {
            let (queues, hosts) = engine.queues_and_hosts();
            changes_of(queues, &found.queues)
                .into_iter()
                .chain(changes_of_hosts(hosts, &found.hosts))
                .collect::<Vec<_>>()
        });
        if !found.waiting.is_empty() {
            changes.push(format!("changed, but require a restart: {}", found.waiting.join(", ")));
        }
        let ReloadedFiles { queues, policy, hosts, believed_hosts, proxy_users, service_policy, .. } = found;
        match self.owner.step(Event::ConfigurationRead { queues, policy, hosts, by: by.map(Arc::from) }).0 {
            Reply::Refused(Refusal::IllegalArgument(text)) => Err(text),
            Reply::Refused(refusal) => Err(format!("{refusal:?}")),
            _ => {
                self.dispatcher.forget_groups();
                self.dispatcher.apply_host_list();
                self.dispatcher.believed_hosts().set(&believed_hosts);
                self.dispatcher.set_connection_policy(proxy_users, service_policy);
                Ok((changes, summary))
            }
        }
    }
}

/// Which queues came, went or changed.
fn changes_of(before: &[QueueConfig], after: &[QueueConfig]) -> Vec<String> {
    let of = |queues: &[QueueConfig], name: &str| queues.iter().find(|queue| queue.name == name).cloned();
    let mut changes = Vec::new();
    for queue in after {
        let name = &queue.name;
        match of(before, name) {
            None => changes.push(format!("queue {name} is new")),
            Some(old) if old.running != queue.running => {
                let accepts = if queue.running { "accepts jobs again" } else { "accepts no more jobs" };
                changes.push(format!("queue {name} {accepts}"));
            }
            Some(_) => {}
        }
        if of(before, name).is_some_and(|old| {
            (old.submit_acl, old.administer_acl) != (queue.submit_acl.clone(), queue.administer_acl.clone())
        }) {
            changes.push(format!("the access lists of queue {name} changed"));
        }
    }
    let gone = before.iter().filter(|queue| of(after, &queue.name).is_none());
    changes.extend(gone.map(|queue| format!("queue {} is gone: it ends what it has", queue.name)));
    changes
}

/// How many hosts came to the lists or left them.
fn changes_of_hosts(before: &HostLists, after: &HostLists) -> Vec<String> {
    let lists = [
        (&before.included, &after.included, "the included ones"),
        (&before.excluded, &after.excluded, "the excluded ones"),
    ];
    let change = |(before, after, list): (&BTreeSet<String>, &BTreeSet<String>, &str)| {
        let (came, left) = (after.difference(before).count(), before.difference(after).count());
        (came + left > 0).then(|| format!("{} came to {list}, {left} left", counted(came, "host")))
    };
    lists.into_iter().filter_map(change).collect()
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
    for warning in check_files(&settings).warnings {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reload_changes_is_named() {
        let queue = |name: &str, running: bool, submit_acl: &str| QueueConfig {
            running,
            submit_acl: submit_acl.to_owned(),
            ..QueueConfig::open(name)
        };
        let before = [queue("a", true, "*"), queue("b", true, "*"), queue("c", true, "*")];
        assert_eq!(changes_of(&before, &before), [""; 0]);
        let after = [queue("a", false, "*"), queue("b", true, "ann"), queue("d", true, "*")];
        assert_eq!(
            changes_of(&before, &after),
            [
                "queue a accepts no more jobs",
                "the access lists of queue b changed",
                "queue d is new",
                "queue c is gone: it ends what it has"
            ]
        );
        let hosts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
        let before = HostLists { included: BTreeSet::new(), excluded: hosts(&["x", "y"]) };
        let after = HostLists { included: BTreeSet::new(), excluded: hosts(&["y", "z"]) };
        assert_eq!(changes_of_hosts(&before, &after), ["1 host came to the excluded ones, 1 left"]);
    }
}

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
use crate::config::{Configuration, Settings, keys};
use crate::engine::{Event, FairConfig, HostLists, PolicyConfig, QueueConfig, Refusal, Reply};
use crate::model::counted;
use crate::server::{AclFile, Dispatcher, Owner, ReloadCounts, host_lists, reread_policy, scheduler_class};

use super::check_start::check_files;
use super::service_notifier::ServiceNotifier;

pub(super) struct Reload {
    sources: LoadOptions,
    running: Arc<Configuration>,
    acl: Option<Arc<AclFile>>,
    owner: Rc<Owner>,
    dispatcher: Rc<Dispatcher>,
    service: ServiceNotifier,
    counts: ReloadCounts,
}

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
    /// What is suspicious in the files.
    warnings: Vec<String>,
    /// Where the queues are listed, and what they are.
    listed: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reloaded {
    pub(super) summary: String,
    pub(super) changes: Vec<String>,
    /// What is suspicious in what was read, a line each.
    pub(super) warnings: Vec<String>,
}

impl Reload {
    pub(super) fn new(
        settings: &Settings,
        acl: Option<Arc<AclFile>>,
        owner: Rc<Owner>,
        dispatcher: Rc<Dispatcher>,
        service: ServiceNotifier,
        counts: ReloadCounts,
    ) -> Self {
        let (sources, running) = (settings.sources.clone(), settings.configuration.clone());
        Self { sources, running, acl, owner, dispatcher, service, counts }
    }

    /// Reloads at each `hang_up`. One that arrives during a reload triggers the next.
    pub(super) async fn run(self: Rc<Self>, mut hang_up: Signal) {
        while hang_up.recv().await.is_some() {
            let _ = self.reload_for("SIGHUP", None).await;
        }
    }

    pub(super) async fn reload_by(&self, user: &str) -> Result<Reloaded, String> {
        self.reload_for("reload", Some(user)).await
    }

    async fn reload_for(&self, request: &str, by: Option<&str>) -> Result<Reloaded, String> {
        self.service.reloading();
        let reloaded = self.reload(by).await;
        self.counts.add(reloaded.is_ok());
        match &reloaded {
            Ok(Reloaded { changes, summary, warnings }) => {
                for warning in warnings {
                    tracing::warn!("{warning}");
                }
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

    async fn reload(&self, by: Option<&str>) -> Result<Reloaded, String> {
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
                .chain(found.policy.iter().flat_map(|policy| changes_of_policy(engine.policy(), policy)))
                .chain(changes_of_hosts(hosts, &found.hosts))
                .collect::<Vec<_>>()
        });
        if !found.waiting.is_empty() {
            changes.push(format!("changed, but require a restart: {}", found.waiting.join(", ")));
            if found.waiting.iter().any(|key| keys::TASK_SCHEDULER.spellings().any(|name| key.starts_with(name))) {
                changes.push("`jobtracker scheduler use NAME` has another scheduler rule without a restart".to_owned());
            }
        }
        let unlisted = found.unlisted();
        let ReloadedFiles { queues, policy, hosts, believed_hosts, proxy_users, service_policy, warnings, .. } = found;
        match self.owner.step(Event::ConfigurationRead { queues, policy, hosts, by: by.map(Arc::from) }).0 {
            Reply::Refused(Refusal::IllegalArgument(text)) => Err(format!("{text} ({unlisted})")),
            Reply::Refused(refusal) => Err(format!("{refusal:?}")),
            _ => {
                self.dispatcher.forget_groups();
                self.dispatcher.apply_host_list();
                self.dispatcher.believed_hosts().set(&believed_hosts);
                self.dispatcher.set_connection_policy(proxy_users, service_policy);
                Ok(Reloaded { summary, changes, warnings })
            }
        }
    }
}

impl ReloadedFiles {
    /// Where a queue would be listed that is missing, and what to do.
    fn unlisted(&self) -> String {
        let misspelt = self.warnings.iter().find(|warning| warning.contains("did you mean mapred.queue.names"));
        let misspelt = misspelt.map(|warning| format!("; {warning}")).unwrap_or_default();
        format!("{}: list it there, or restart the daemon to end it{misspelt}", self.listed)
    }
}

/// Which queues or pools have other settings, where the policy has such.
fn changes_of_policy(before: &PolicyConfig, after: &PolicyConfig) -> Vec<String> {
    if let (Some(before), Some(after)) = (before.capacity(), after.capacity()) {
        // New queues are named already.
        let changed =
            after.queues().iter().filter(|queue| before.queue(queue.name()).is_some_and(|before| before != *queue));
        return changed.map(|queue| format!("queue {} has another capacity or other limits", queue.name())).collect();
    }
    if let (Some(before), Some(after)) = (before.fair(), after.fair()) {
        return changes_of_pools(before, after);
    }
    let deadlines = before.constraint().zip(after.constraint());
    let are_others = deadlines.is_some_and(|(before, after)| before != after);
    are_others.then(|| "the settings of the constraint scheduler changed".to_owned()).into_iter().collect()
}

fn changes_of_pools(before: &FairConfig, after: &FairConfig) -> Vec<String> {
    let (before, after) = (&before.allocations, &after.allocations);
    let mut changes = Vec::new();
    for (name, pool) in &after.pools {
        match before.pools.get(name) {
            None => changes.push(format!("pool {name} is declared")),
            Some(old) if (&old.parent, old.settings) != (&pool.parent, pool.settings) => {
                changes.push(format!("pool {name} has other settings"));
            }
            Some(_) => {}
        }
    }
    let gone = before.pools.keys().filter(|name| !after.pools.contains_key(*name));
    changes.extend(gone.map(|name| format!("pool {name} is not declared any more")));
    let [old, new] = [before, after].map(|of| {
        (of.undeclared, of.default_user_max_running_jobs, of.fair_share_timeout_ms, of.user_max_running_jobs.clone())
    });
    if old != new {
        changes.push("the limits of users, or the defaults of pools, changed".to_owned());
    }
    changes
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
    let mut warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    warnings.extend(check_files(&settings).warnings.iter().map(ToString::to_string));
    let hosts = host_lists(&settings.trackers).map_err(|error| error.to_string())?;
    let signers = acl.map(AclFile::reload).transpose()?;
    let waiting = reread::changes_needing_restart(running, &settings.configuration, class);
    let (read, of_scheduler) = reread::queues_and_scheduler(sources, class).map_err(|error| error.to_string())?;
    // Another scheduler may rule than the configuration names.
    for warning in of_scheduler.iter().map(ToString::to_string) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    let listed = settings.configuration.setting(&keys::QUEUE_NAMES).ok().flatten();
    let listed = listed.map_or_else(String::new, |setting| setting.culprit().to_string());
    let believed_hosts = settings.job_changes.hosts;
    let (proxy_users, service_policy) = (settings.proxy_users, settings.service_policy);
    let policy = reread_policy(&read);
    let queues = read.queues.queues;
    Ok(ReloadedFiles {
        queues,
        policy,
        hosts,
        signers,
        believed_hosts,
        proxy_users,
        service_policy,
        waiting,
        warnings,
        listed,
    })
}

#[cfg(test)]
mod tests {
    use crate::config::settings::FIFO_CLASS;

    use super::*;

    /// What a reload under a chosen scheduler, whatever the folder names, finds in these files.
    fn read_files(class: &'static str, files: &[(&str, &str)]) -> ReloadedFiles {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [&[("mapred-site.xml", "<configuration/>")], files].concat() {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let overrides = ["mapred.job.tracker=m:1", "hadoop.tmp.dir=/data"];
        let sources = crate::config::settings::test_options(Some(folder.path()), &overrides);
        let mut found = read(&sources, class, &Configuration::default(), None).unwrap();
        let place = format!("{}/", folder.path().display());
        found.warnings.iter_mut().for_each(|warning| *warning = warning.replace(&place, ""));
        found.listed = found.listed.replace(&place, "");
        found
    }

    #[test]
    fn the_files_of_the_scheduler_that_rules_are_looked_at_and_what_they_change_is_named() {
        use crate::config::settings::{CAPACITY_CLASS, FAIR_CLASS};
        let pools = |pool: &str| {
            read_files(FAIR_CLASS, &[("fair-scheduler.xml", &format!("<allocations>{pool}</allocations>"))])
        };
        let before = pools("<pool name='research'><minMaps>3</minMaps></pool>");
        assert_eq!(before.warnings, [""; 0]);
        let after = pools("<pool name='research'><minMap>3</minMap></pool><pool name='b'/>");
        assert_eq!(
            after.warnings,
            [
                "fair-scheduler.xml:1: Bad element in allocations file: minMap of pool research (did you mean <minMaps>?); ignored"
            ]
        );
        let changes = |before: ReloadedFiles, after: ReloadedFiles| {
            changes_of_policy(&before.policy.unwrap(), &after.policy.unwrap())
        };
        assert_eq!(changes(before, after), ["pool b is declared", "pool research has other settings"]);
        let capacity = |percent: &str| {
            let key = "mapred.capacity-scheduler.queue.default.maximum-capacity";
            let property = format!("<property><name>{key}</name><value>{percent}</value></property>");
            let whole =
                "<property><name>mapred.capacity-scheduler.queue.default.capacity</name><value>100</value></property>";
            let text = format!("<configuration>{whole}{property}</configuration>");
            read_files(CAPACITY_CLASS, &[("capacity-scheduler.xml", &text)])
        };
        assert_eq!(changes(capacity("100"), capacity("100")), [""; 0]);
        assert_eq!(changes(capacity("100"), capacity("-1")), ["queue default has another capacity or other limits"]);
    }

    #[test]
    fn a_queue_that_is_not_listed_any_more_is_refused_with_the_place_of_the_list() {
        let site = |key: &str| {
            let property = format!("<property><name>{key}</name><value>default,research</value></property>");
            let text = format!("<configuration>\n{property}</configuration>");
            read_files(FIFO_CLASS, &[("mapred-site.xml", &text)]).unlisted()
        };
        assert_eq!(
            site("mapred.queue.names"),
            "mapred-site.xml:2: mapred.queue.names = \"default,research\": list it there, or restart the daemon to end it"
        );
        assert_eq!(
            site("mapred.queue.nmaes"),
            "default: mapred.queue.names = \"default\": list it there, or restart the daemon to end it; \
             mapred-site.xml:2: nothing reads mapred.queue.nmaes; did you mean mapred.queue.names?"
        );
    }

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

//! Requests of administrators: safe mode, refresh of host lists and queues (1.2.1 `JobTracker.setSafeMode`,
//! `refreshNodes`, `refreshQueues`). The edge reads the files; the event carries their content.

use std::collections::BTreeSet;

use crate::engine::core::{Engine, Handled, HostLists, PolicyConfig, Read, Reply, Wait};
use crate::engine::state::{Caller, LogLevel, Refusal};
use crate::model::{Now, QueueConfig, TrackerId, counted};

impl Engine {
    /// It does not survive a restart, as in 1.2.1.
    pub(super) fn set_safe_mode(&mut self, on: bool, caller: &Caller) -> (Reply, Wait) {
        let user = &caller.user;
        if !self.is_administrator(caller) {
            // 1.2.1 writes two blanks there.
            let text = format!("{user} is not authorized to set  JobTracker safemode.");
            return (Reply::Refused(Refusal::AccessDenied(text)), Wait::Nothing);
        }
        self.administration.safe_mode = on.then(|| user.clone());
        let text = match on {
            true => format!("{user} turned safe mode on: no job is accepted, no task is assigned"),
            false => format!("{user} turned safe mode off"),
        };
        self.outbox.log_line(LogLevel::Warning, text);
        (Reply::Boolean(on), Wait::Nothing)
    }

    /// What an administrator has ordered stays.
    pub(super) fn on_file_system_watched(&mut self, is_away: bool) -> (Reply, Wait) {
        if std::mem::replace(&mut self.administration.is_file_system_away, is_away) != is_away {
            let text = match is_away {
                true => {
                    "safe mode: the file system of mapred.system.dir cannot be used; no job is accepted, no task is assigned"
                }
                false => "the file system of mapred.system.dir can be used again: safe mode ends",
            };
            self.outbox.log_line(LogLevel::Warning, text.to_owned());
        }
        (Reply::Boolean(is_away), Wait::Nothing)
    }

    pub(crate) fn queues_and_hosts(&self) -> (&[QueueConfig], &HostLists) {
        (&self.config.queues, &self.config.hosts)
    }

    /// The admitted hosts; empty = all (`mapred.hosts`).
    pub(crate) fn included_hosts(&self) -> &BTreeSet<String> {
        &self.config.hosts.included
    }

    /// Refuses a caller that may not refresh the host lists, with the text of 1.2.1.
    pub(crate) fn check_refresh_nodes(&self, caller: &Caller) -> Result<(), Refusal> {
        match self.is_administrator(caller) {
            true => Ok(()),
            false => Err(Refusal::AccessDenied(format!("{} is not authorized to refresh nodes.", caller.user))),
        }
    }

    /// Loses trackers on hosts that are no longer admitted at once; their next heartbeat is refused.
    pub(super) fn on_hosts_read(&mut self, hosts: HostLists, caller: &Caller, now: Now) -> Handled {
        self.check_refresh_nodes(caller)?;
        let text = format!(
            "{} refreshed the host lists: {} included, {} excluded",
            caller.user,
            hosts.included.len(),
            hosts.excluded.len()
        );
        self.outbox.log_line(LogLevel::Info, text);
        self.admit(hosts, now);
        Ok((Reply::Done, Wait::All))
    }

    fn admit(&mut self, hosts: HostLists, now: Now) {
        self.config.hosts = hosts;
        let lost = self.trackers.iter().filter(|tracker| !self.config.hosts.admits(&tracker.host));
        let lost: Vec<TrackerId> = lost.map(|tracker| tracker.id).collect();
        for id in lost {
            self.lose_tracker(id, "its host is no longer admitted", now);
            self.record_job_facts();
        }
    }

    /// Replaces states and access lists of the queues, and settings of the policy: all or nothing. No queue may be
    /// missing: it may contain jobs.
    pub(super) fn on_queues_read(
        &mut self,
        queues: Vec<QueueConfig>,
        policy: Option<PolicyConfig>,
        caller: &Caller,
        now: Now,
    ) -> Handled {
        let count = queues.len();
        self.replace_queues(queues, policy, now)?;
        let text = format!("{} refreshed the queues: {} configured", caller.user, counted(count, "queue"));
        self.outbox.log_line(LogLevel::Info, text);
        Ok((Reply::Done, Wait::All))
    }

    /// Replaces queues, settings of the policy and host lists at the request of the daemon's operator: all or nothing.
    pub(super) fn on_configuration_read(
        &mut self,
        queues: Vec<QueueConfig>,
        policy: Option<PolicyConfig>,
        hosts: HostLists,
        now: Now,
    ) -> Handled {
        self.replace_queues(queues, policy, now)?;
        self.admit(hosts, now);
        Ok((Reply::Done, Wait::All))
    }

    /// Replaces all queues and the settings of the policy, or nothing.
    fn replace_queues(
        &mut self,
        queues: Vec<QueueConfig>,
        policy: Option<PolicyConfig>,
        now: Now,
    ) -> Result<(), Refusal> {
        let is_gone = |old: &&QueueConfig| queues.iter().all(|queue| queue.name != old.name);
        if let Some(gone) = self.config.queues.iter().find(is_gone) {
            // The text of 1.2.1 `QueueManager`.
            let text = format!("Couldn't find queue '{}' during refresh!", gone.name);
            return Err(Refusal::IllegalArgument(text));
        }
        if let Some(policy) = policy.map(|read| self.check_reload(read)).transpose()? {
            self.reload_policy(policy, now);
        }
        // Under a ruling market the accounts are the queues; a configured queue of the same name adds its access lists only.
        // Pools open with their jobs.
        if self.ruling_market().is_none() && !self.config.policy.has_pools() {
            for queue in &queues {
                self.cluster.scheduler.open_group(&queue.name);
            }
        }
        self.config.queues = queues;
        Ok(())
    }

    pub(crate) fn safe_mode(&self) -> Read<bool> {
        Read { value: self.is_in_safe_mode(), wait_for: Default::default() }
    }
}

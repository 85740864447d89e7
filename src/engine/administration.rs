//! What administrators ask: safe mode, lists of hosts and queues read anew (1.2.1 `JobTracker.setSafeMode`,
//! `refreshNodes`, `refreshQueues`). Files are read by the edge; what stood in them comes with the event.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::Now;

use super::engine::{Engine, Wait};
use super::{Caller, LogLevel, QueueConfig, Read, Refusal, Reply};

/// Which hosts may serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostLists {
    /// Those that may; empty = all (`mapred.hosts`).
    pub included: BTreeSet<String>,
    /// Those that may not, whatever the other list says (`mapred.hosts.exclude`).
    pub excluded: BTreeSet<String>,
}

// === impl HostLists ===

impl HostLists {
    /// Whether a tracker on that host may serve.
    pub fn admits(&self, host: &str) -> bool {
        (self.included.is_empty() || self.included.contains(host)) && !self.excluded.contains(host)
    }
}

// === impl Engine: safe mode ===

impl Engine {
    /// Whether no job is taken in, nothing is killed and nothing handed out.
    pub fn is_in_safe_mode(&self) -> bool {
        self.safe_mode.is_some()
    }

    /// Refuses what safe mode forbids, in the words of 1.2.1.
    pub fn check_safe_mode(&self) -> Result<(), Refusal> {
        match &self.safe_mode {
            None => Ok(()),
            Some(user) => Err(Refusal::SafeMode(format!("JobTracker is in safe-mode set by admin {user}"))),
        }
    }

    /// It does not survive a restart, as in 1.2.1.
    pub(super) fn set_safe_mode(&mut self, on: bool, caller: &Caller) -> (Reply, Wait) {
        let user = &caller.user;
        if !self.is_administrator(caller) {
            // 1.2.1 writes two blanks there.
            let text = format!("{user} is not authorized to set  JobTracker safemode.");
            return (Reply::Refused(Refusal::AccessDenied(text)), Wait::Nothing);
        }
        self.safe_mode = on.then(|| user.clone());
        let state = if on { "on: no job is taken in, no task is handed out" } else { "off" };
        self.log_line(LogLevel::Warning, format!("safe mode is {state}; {user} asked for it"));
        (Reply::Boolean(on), Wait::Nothing)
    }
}

// === impl Engine: lists read anew ===

impl Engine {
    /// The hosts that may serve; none = all (`mapred.hosts`).
    pub fn included_hosts(&self) -> &BTreeSet<String> {
        &self.config.hosts.included
    }

    /// Who may have the lists of hosts read anew, in the words of 1.2.1.
    pub fn check_refresh_nodes(&self, caller: &Caller) -> Result<(), Refusal> {
        match self.is_administrator(caller) {
            true => Ok(()),
            false => Err(Refusal::AccessDenied(format!("{} is not authorized to refresh nodes.", caller.user))),
        }
    }

    /// Trackers that are not admitted any more are lost at once; their next heartbeat is refused.
    pub(super) fn hosts_read(&mut self, hosts: HostLists, caller: &Caller, now: Now) -> (Reply, Wait) {
        if let Err(refusal) = self.check_refresh_nodes(caller) {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        let text = format!(
            "{} had the lists of hosts read anew: {} included, {} excluded",
            caller.user,
            hosts.included.len(),
            hosts.excluded.len()
        );
        self.log_line(LogLevel::Info, text);
        self.admit(hosts, now);
        (Reply::Done, Wait::All)
    }

    fn admit(&mut self, hosts: HostLists, now: Now) {
        self.config.hosts = hosts;
        let lost = self.trackers.values().filter(|tracker| !self.config.hosts.admits(&tracker.host));
        let lost: Vec<Arc<str>> = lost.map(|tracker| tracker.name.clone()).collect();
        for name in lost {
            self.lose_tracker(&name, "its host is not admitted any more", now);
            self.record_job_facts();
        }
    }

    /// States and lists of the queues. None may be gone: jobs may be in it.
    pub(super) fn queues_read(&mut self, queues: Vec<QueueConfig>, caller: &Caller) -> (Reply, Wait) {
        let count = queues.len();
        if let Err(refusal) = self.take_queues(queues) {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        let text = format!("{} had the queues read anew: {count} are configured", caller.user);
        self.log_line(LogLevel::Info, text);
        (Reply::Done, Wait::All)
    }

    /// The same at once for both, as the operator of the daemon asks, or nothing.
    pub(super) fn configuration_read(&mut self, queues: Vec<QueueConfig>, hosts: HostLists, now: Now) -> (Reply, Wait) {
        if let Err(refusal) = self.take_queues(queues) {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        self.admit(hosts, now);
        (Reply::Done, Wait::All)
    }

    /// All or none of them.
    fn take_queues(&mut self, queues: Vec<QueueConfig>) -> Result<(), Refusal> {
        let is_gone = |old: &&QueueConfig| queues.iter().all(|queue| queue.name != old.name);
        if let Some(gone) = self.config.queues.iter().find(is_gone) {
            // The words of 1.2.1 `QueueManager`.
            let text = format!("Couldn't find queue '{}' during refresh!", gone.name);
            return Err(Refusal::IllegalArgument(text));
        }
        // Under a market the accounts are the queues; only the lists of those that are configured too are taken over.
        if self.market.is_none() {
            for queue in &queues {
                self.scheduler.open_group(&queue.name);
            }
        }
        self.config.queues = queues;
        Ok(())
    }

    /// Whether safe mode is on.
    pub fn safe_mode(&self) -> Read<bool> {
        Read { value: self.is_in_safe_mode(), wait_for: Default::default() }
    }
}

//! The queue of hosts without a rack, their waiters, and the known racks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::script::ScriptError;

/// Concurrent runs, one of them reserved for trackers.
pub(super) const MAX_RUNS: usize = 4;
/// Racks remembered of jobs' hosts, and of trackers' hosts; at most twice as many are in memory.
const REMEMBERED_HOSTS: usize = 20_000;
/// Requests of jobs, abandoned ones included, and those of one user.
const MAX_REQUESTS: (usize, usize) = (64, 4);
/// Queued hosts of all requests, and those of an abandoned one.
const MAX_WAITING_HOSTS: (usize, usize) = (100_000, 1_000);
/// Minimum interval of log lines about the program's failures.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Known racks, queued hosts and waiters.
#[derive(Debug, Default)]
pub(super) struct RackQueue {
    of_trackers: RackCache,
    of_jobs: RackCache,
    trackers: VecDeque<(String, oneshot::Sender<String>)>,
    /// Trackers' hosts in a running batch.
    resolving: BTreeMap<String, Vec<oneshot::Sender<String>>>,
    requests: BTreeMap<u64, JobHosts>,
    /// Requests with queued hosts, the next first.
    order: VecDeque<u64>,
    last_number: u64,
    runs: usize,
    runs_for_jobs: usize,
    last_logged: Option<Instant>,
}

/// A job's hosts.
#[derive(Debug)]
struct JobHosts {
    user: Arc<str>,
    hosts: Vec<String>,
    running_batches: usize,
    /// `None` once abandoned.
    waiter: Option<oneshot::Sender<()>>,
}

/// The hosts of one run of the program.
#[derive(Debug)]
pub(super) enum HostBatch {
    Trackers(Vec<String>),
    Job(u64, Vec<String>),
}

/// Racks by host. Least recently used hosts are removed first.
#[derive(Debug, Default)]
struct RackCache {
    recent: BTreeMap<String, String>,
    older: BTreeMap<String, String>,
}

impl RackCache {
    fn get(&mut self, host: &str) -> Option<&str> {
        if let Some((host, rack)) = self.older.remove_entry(host) {
            self.put(host, rack);
        }
        self.recent.get(host).map(String::as_str)
    }

    fn put(&mut self, host: String, rack: String) {
        if self.recent.len() >= REMEMBERED_HOSTS {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(host, rack);
    }
}

impl RackQueue {
    pub(super) fn rack(&mut self, host: &str) -> Option<&str> {
        if self.of_trackers.get(host).is_some() {
            return self.of_trackers.get(host);
        }
        self.of_jobs.get(host)
    }

    /// Queues a tracker's host before all jobs' hosts; `None` if its rack is known.
    pub(super) fn request_for_tracker(&mut self, host: &str) -> Option<oneshot::Receiver<String>> {
        if let Some(rack) = self.rack(host).map(str::to_owned) {
            // From now on jobs' hosts cannot displace it.
            self.of_trackers.put(host.to_owned(), rack);
            return None;
        }
        let (sender, answer) = oneshot::channel();
        match self.resolving.get_mut(host) {
            Some(senders) => senders.push(sender),
            None => self.trackers.push_back((host.to_owned(), sender)),
        }
        Some(answer)
    }

    /// Queues a job's hosts; `None` if `can_wait` is false or the queue is full.
    pub(super) fn add_request(
        &mut self,
        user: &Arc<str>,
        mut hosts: Vec<String>,
        can_wait: bool,
    ) -> Option<(u64, oneshot::Receiver<()>)> {
        let of_user = |requests: &BTreeMap<u64, JobHosts>| requests.values().filter(|r| r.user == *user).count();
        if self.requests.len() >= MAX_REQUESTS.0 || of_user(&self.requests) >= MAX_REQUESTS.1 {
            // Abandoned requests are removed, the oldest first and the user's own before others.
            let idle = |request: &JobHosts| request.waiter.is_none();
            let own = self.requests.iter().find(|(_, r)| r.user == *user && idle(r)).map(|(number, _)| *number);
            let any = || self.requests.iter().find(|(_, r)| idle(r)).map(|(number, _)| *number);
            let is_users_bound = of_user(&self.requests) >= MAX_REQUESTS.1;
            match own.or_else(|| if is_users_bound { None } else { any() }) {
                Some(number) => self.withdraw(number),
                None => return None,
            }
        }
        hosts.truncate(MAX_WAITING_HOSTS.0.saturating_sub(self.waiting_hosts()));
        if !can_wait {
            hosts.truncate(MAX_WAITING_HOSTS.1);
        }
        if hosts.is_empty() {
            return None;
        }
        self.last_number += 1;
        let (sender, answer) = oneshot::channel();
        let waiter = can_wait.then_some(sender);
        self.requests.insert(self.last_number, JobHosts { user: user.clone(), hosts, running_batches: 0, waiter });
        self.order.push_back(self.last_number);
        can_wait.then_some((self.last_number, answer))
    }

    pub(super) fn waiting_hosts(&self) -> usize {
        self.requests.values().map(|request| request.hosts.len()).sum()
    }

    #[cfg(test)]
    pub(super) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Whether all requests are this user's.
    pub(super) fn is_idle_but_for(&self, user: &Arc<str>) -> bool {
        self.requests.values().all(|request| request.user == *user)
    }

    pub(super) fn withdraw(&mut self, number: u64) {
        self.requests.remove(&number);
        self.order.retain(|other| *other != number);
    }

    /// Abandons a request: no job waits for it, but later jobs may use its racks.
    pub(super) fn abandon(&mut self, number: u64) {
        if let Some(request) = self.requests.get_mut(&number) {
            request.waiter = None;
            request.hosts.truncate(MAX_WAITING_HOSTS.1);
        }
    }

    /// Whether to start one more run, which then counts as running.
    pub(super) fn begin_run(&mut self) -> bool {
        let has_work = !self.trackers.is_empty() || (!self.order.is_empty() && self.runs_for_jobs < MAX_RUNS - 1);
        // A run that is between two batches may take the work; one more does no harm.
        let begins = has_work && self.runs < MAX_RUNS;
        self.runs += usize::from(begins);
        begins
    }

    /// Counts a run as ended or not started.
    pub(super) fn end_run(&mut self) {
        self.runs = self.runs.saturating_sub(1);
    }

    /// The next batch; `None` ends the run.
    pub(super) fn next_batch(&mut self, max_hosts: usize) -> Option<HostBatch> {
        if let Some(batch) = self.next_trackers(max_hosts) {
            return Some(batch);
        }
        while self.runs_for_jobs < MAX_RUNS - 1 {
            let Some(number) = self.next_request() else { break };
            let Some(request) = self.requests.get_mut(&number) else { continue };
            let mut hosts = Vec::new();
            while hosts.len() < max_hosts
                && let Some(host) = request.hosts.pop()
            {
                // Another job's batch may have resolved it.
                if self.of_trackers.get(&host).is_none() && self.of_jobs.get(&host).is_none() {
                    hosts.push(host);
                }
            }
            request.running_batches += usize::from(!hosts.is_empty());
            if !request.hosts.is_empty() {
                self.order.push_back(number);
            }
            if !hosts.is_empty() {
                self.runs_for_jobs += 1;
                return Some(HostBatch::Job(number, hosts));
            }
            self.complete(number);
        }
        self.end_run();
        None
    }

    fn next_trackers(&mut self, max_hosts: usize) -> Option<HostBatch> {
        let mut hosts = Vec::new();
        while hosts.len() < max_hosts
            && let Some((host, sender)) = self.trackers.pop_front()
        {
            let senders = self.resolving.entry(host.clone()).or_default();
            if senders.is_empty() {
                hosts.push(host);
            }
            senders.push(sender);
        }
        (!hosts.is_empty()).then_some(HostBatch::Trackers(hosts))
    }

    /// Removes the next request: those with a waiter first, in turns.
    fn next_request(&mut self) -> Option<u64> {
        let has_waiter = |number: &u64| self.requests.get(number).is_some_and(|request| request.waiter.is_some());
        let index = self.order.iter().position(has_waiter).unwrap_or(0);
        self.order.remove(index)
    }

    /// Stores the racks of a batch and notifies waiters; returns a failure to log, at a limited rate.
    pub(super) fn finish(
        &mut self,
        batch: HostBatch,
        found: Result<Vec<(String, String)>, ScriptError>,
    ) -> Option<String> {
        let asked = match &batch {
            HostBatch::Trackers(hosts) | HostBatch::Job(_, hosts) => hosts.len(),
        };
        let failure = match &found {
            Ok(racks) if racks.len() < asked => Some("fails for some hosts".to_owned()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        let found = found.unwrap_or_default();
        let missing = asked - found.len().min(asked);
        match batch {
            HostBatch::Trackers(hosts) => {
                found.into_iter().for_each(|(host, rack)| self.of_trackers.put(host, rack));
                for host in hosts {
                    let rack = self.of_trackers.get(&host).map(str::to_owned);
                    for sender in self.resolving.remove(&host).unwrap_or_default() {
                        // Dropped without an answer, it means the default rack. The waiter may be gone.
                        let _ = rack.clone().map(|rack| sender.send(rack));
                    }
                }
            }
            HostBatch::Job(number, _) => {
                self.runs_for_jobs = self.runs_for_jobs.saturating_sub(1);
                found.into_iter().for_each(|(host, rack)| self.of_jobs.put(host, rack));
                if let Some(request) = self.requests.get_mut(&number) {
                    request.running_batches = request.running_batches.saturating_sub(1);
                    self.complete(number);
                }
            }
        }
        let failure = failure?;
        if self.last_logged.is_some_and(|logged| logged.elapsed() < LOG_INTERVAL) {
            return None;
        }
        self.last_logged = Some(Instant::now());
        Some(format!("{failure}; {missing} hosts are in {} for now", crate::model::DEFAULT_RACK))
    }

    /// Notifies the waiter of a request that is complete.
    fn complete(&mut self, number: u64) {
        let is_over = |request: &&mut JobHosts| request.hosts.is_empty() && request.running_batches == 0;
        if self.requests.get_mut(&number).filter(is_over).is_some()
            && let Some(waiter) = self.requests.remove(&number).and_then(|request| request.waiter)
        {
            // The waiter may have timed out.
            let _ = waiter.send(());
        }
    }
}

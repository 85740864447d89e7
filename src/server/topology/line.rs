//! Who waits for racks, in which order, and what is known.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::MOST_RUNS;
use super::script::ScriptError;

/// Hosts of jobs, and of trackers, whose racks are remembered; at most twice as many are in memory.
const REMEMBERED_HOSTS: usize = 20_000;
/// Jobs whose hosts are asked for, those included for which nobody waits any more, and of one user.
const MOST_REQUESTS: (usize, usize) = (64, 4);
/// Hosts that all of them together wait for, and those of one for which nobody waits any more.
const MOST_WAITING_HOSTS: (usize, usize) = (100_000, 1_000);
/// A complaint about the program is not repeated for so long.
const COMPLAINT_PAUSE: Duration = Duration::from_secs(10);

/// What is known and who waits.
#[derive(Debug, Default)]
pub(super) struct Line {
    of_trackers: Remembered,
    of_jobs: Remembered,
    trackers: VecDeque<(String, oneshot::Sender<String>)>,
    /// Trackers' hosts that are being asked for.
    under_way: BTreeMap<String, Vec<oneshot::Sender<String>>>,
    requests: BTreeMap<u64, Request>,
    /// Requests with hosts left to ask for, the next first.
    order: VecDeque<u64>,
    last_number: u64,
    runs: usize,
    runs_for_jobs: usize,
    complained: Option<Instant>,
}

/// A job's hosts.
#[derive(Debug)]
struct Request {
    user: Arc<str>,
    /// Those still to be asked for.
    hosts: Vec<String>,
    batches_under_way: usize,
    /// None once nobody waits.
    waiter: Option<oneshot::Sender<()>>,
}

/// What one run of the program is given.
#[derive(Debug)]
pub(super) enum Batch {
    Trackers(Vec<String>),
    Job(u64, Vec<String>),
}

/// Racks by host. Those that nobody has asked for lately are forgotten first.
#[derive(Debug, Default)]
struct Remembered {
    lately: BTreeMap<String, String>,
    before: BTreeMap<String, String>,
}

// === impl Remembered ===

impl Remembered {
    fn get(&mut self, host: &str) -> Option<&str> {
        if let Some((host, rack)) = self.before.remove_entry(host) {
            self.put(host, rack);
        }
        self.lately.get(host).map(String::as_str)
    }

    fn put(&mut self, host: String, rack: String) {
        if self.lately.len() >= REMEMBERED_HOSTS {
            self.before = std::mem::take(&mut self.lately);
        }
        self.lately.insert(host, rack);
    }
}

// === impl Line ===

impl Line {
    /// The rack of a host, if it is known.
    pub(super) fn rack(&mut self, host: &str) -> Option<&str> {
        if self.of_trackers.get(host).is_some() {
            return self.of_trackers.get(host);
        }
        self.of_jobs.get(host)
    }

    /// Puts a tracker's host before all jobs'; nothing when its rack is known.
    pub(super) fn ask_for_tracker(&mut self, host: &str) -> Option<oneshot::Receiver<String>> {
        if let Some(rack) = self.rack(host).map(str::to_owned) {
            // No job's hosts push it out from now on.
            self.of_trackers.put(host.to_owned(), rack);
            return None;
        }
        let (teller, told) = oneshot::channel();
        match self.under_way.get_mut(host) {
            Some(tellers) => tellers.push(teller),
            None => self.trackers.push_back((host.to_owned(), teller)),
        }
        Some(told)
    }

    /// Puts a job's hosts in line; nothing when nobody waits, or the line is too long.
    pub(super) fn ask(
        &mut self,
        user: &Arc<str>,
        mut hosts: Vec<String>,
        may_wait: bool,
    ) -> Option<(u64, oneshot::Receiver<()>)> {
        let of_user = |requests: &BTreeMap<u64, Request>| requests.values().filter(|r| r.user == *user).count();
        if self.requests.len() >= MOST_REQUESTS.0 || of_user(&self.requests) >= MOST_REQUESTS.1 {
            // Those for which nobody waits give way, the oldest first and the user's own before others.
            let idle = |request: &Request| request.waiter.is_none();
            let own = self.requests.iter().find(|(_, r)| r.user == *user && idle(r)).map(|(number, _)| *number);
            let any = || self.requests.iter().find(|(_, r)| idle(r)).map(|(number, _)| *number);
            let is_users_bound = of_user(&self.requests) >= MOST_REQUESTS.1;
            match own.or_else(|| if is_users_bound { None } else { any() }) {
                Some(number) => self.withdraw(number),
                None => return None,
            }
        }
        hosts.truncate(MOST_WAITING_HOSTS.0.saturating_sub(self.waiting_hosts()));
        if !may_wait {
            hosts.truncate(MOST_WAITING_HOSTS.1);
        }
        if hosts.is_empty() {
            return None;
        }
        self.last_number += 1;
        let (teller, told) = oneshot::channel();
        let waiter = may_wait.then_some(teller);
        self.requests.insert(self.last_number, Request { user: user.clone(), hosts, batches_under_way: 0, waiter });
        self.order.push_back(self.last_number);
        may_wait.then_some((self.last_number, told))
    }

    /// Hosts of jobs that are still to be asked for.
    pub(super) fn waiting_hosts(&self) -> usize {
        self.requests.values().map(|request| request.hosts.len()).sum()
    }

    #[cfg(test)]
    pub(super) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Whether nobody but this user waits for a job's hosts.
    pub(super) fn is_idle_but_for(&self, user: &Arc<str>) -> bool {
        self.requests.values().all(|request| request.user == *user)
    }

    /// Takes a request out.
    pub(super) fn withdraw(&mut self, number: u64) {
        self.requests.remove(&number);
        self.order.retain(|other| *other != number);
    }

    /// Nobody waits for it any more; others may profit from what it finds.
    pub(super) fn wait_no_more(&mut self, number: u64) {
        if let Some(request) = self.requests.get_mut(&number) {
            request.waiter = None;
            request.hosts.truncate(MOST_WAITING_HOSTS.1);
        }
    }

    /// Whether one more run should be started; it then counts as one.
    pub(super) fn begin_run(&mut self) -> bool {
        let has_work = !self.trackers.is_empty() || (!self.order.is_empty() && self.runs_for_jobs < MOST_RUNS - 1);
        // One that is just between two batches will take it; one more does no harm.
        let begins = has_work && self.runs < MOST_RUNS;
        self.runs += usize::from(begins);
        begins
    }

    /// A run is over, or could not be started.
    pub(super) fn end_run(&mut self) {
        self.runs = self.runs.saturating_sub(1);
    }

    /// What a run does next; when there is nothing it is over.
    pub(super) fn next_batch(&mut self, most_hosts: usize) -> Option<Batch> {
        if let Some(batch) = self.next_trackers(most_hosts) {
            return Some(batch);
        }
        while self.runs_for_jobs < MOST_RUNS - 1 {
            let Some(number) = self.next_request() else { break };
            let Some(request) = self.requests.get_mut(&number) else { continue };
            let mut hosts = Vec::new();
            while hosts.len() < most_hosts
                && let Some(host) = request.hosts.pop()
            {
                // Another job may have named it, too.
                if self.of_trackers.get(&host).is_none() && self.of_jobs.get(&host).is_none() {
                    hosts.push(host);
                }
            }
            request.batches_under_way += usize::from(!hosts.is_empty());
            if !request.hosts.is_empty() {
                self.order.push_back(number);
            }
            if !hosts.is_empty() {
                self.runs_for_jobs += 1;
                return Some(Batch::Job(number, hosts));
            }
            self.complete(number);
        }
        self.end_run();
        None
    }

    fn next_trackers(&mut self, most_hosts: usize) -> Option<Batch> {
        let mut hosts = Vec::new();
        while hosts.len() < most_hosts
            && let Some((host, teller)) = self.trackers.pop_front()
        {
            let tellers = self.under_way.entry(host.clone()).or_default();
            if tellers.is_empty() {
                hosts.push(host);
            }
            tellers.push(teller);
        }
        (!hosts.is_empty()).then_some(Batch::Trackers(hosts))
    }

    /// Those that somebody waits for go first, each in its turn.
    fn next_request(&mut self) -> Option<u64> {
        let is_waited_for = |number: &u64| self.requests.get(number).is_some_and(|request| request.waiter.is_some());
        let index = self.order.iter().position(is_waited_for).unwrap_or(0);
        self.order.remove(index)
    }

    /// Takes what a run has found, and tells those who wait; returns a complaint for the log, not too often.
    pub(super) fn finish(&mut self, batch: Batch, found: Result<Vec<(String, String)>, ScriptError>) -> Option<String> {
        let asked = match &batch {
            Batch::Trackers(hosts) | Batch::Job(_, hosts) => hosts.len(),
        };
        let failure = match &found {
            Ok(racks) if racks.len() < asked => Some("fails for some hosts".to_owned()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        let found = found.unwrap_or_default();
        let missing = asked - found.len().min(asked);
        match batch {
            Batch::Trackers(hosts) => {
                found.into_iter().for_each(|(host, rack)| self.of_trackers.put(host, rack));
                for host in hosts {
                    let rack = self.of_trackers.get(&host).map(str::to_owned);
                    for teller in self.under_way.remove(&host).unwrap_or_default() {
                        // Dropped without an answer, it means the default. Who asked may be gone.
                        let _ = rack.clone().map(|rack| teller.send(rack));
                    }
                }
            }
            Batch::Job(number, _) => {
                self.runs_for_jobs = self.runs_for_jobs.saturating_sub(1);
                found.into_iter().for_each(|(host, rack)| self.of_jobs.put(host, rack));
                if let Some(request) = self.requests.get_mut(&number) {
                    request.batches_under_way = request.batches_under_way.saturating_sub(1);
                    self.complete(number);
                }
            }
        }
        let failure = failure?;
        if self.complained.is_some_and(|complained| complained.elapsed() < COMPLAINT_PAUSE) {
            return None;
        }
        self.complained = Some(Instant::now());
        Some(format!("{failure}; {missing} hosts stand in {} for now", crate::model::DEFAULT_RACK))
    }

    /// Tells whoever waits, if all of a request has been asked for.
    fn complete(&mut self, number: u64) {
        let is_over = |request: &&mut Request| request.hosts.is_empty() && request.batches_under_way == 0;
        if self.requests.get_mut(&number).filter(is_over).is_some()
            && let Some(waiter) = self.requests.remove(&number).and_then(|request| request.waiter)
        {
            // Who asked may have stopped waiting.
            let _ = waiter.send(());
        }
    }
}

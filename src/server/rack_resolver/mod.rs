//! Racks of hosts, as the administrator's program prints them (1.2.1 `ScriptBasedMapping`).
//!
//! The program runs on threads of its own, a few at a time, each run with a batch of hosts. Trackers' hosts go first;
//! hosts in jobs come from clients, so jobs take turns, wait with a deadline, and never delay a tracker.

mod address;
mod rack_queue;
mod script;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use address::AddressLookups;
use rack_queue::{HostBatch, RackQueue};

use crate::config::settings::TrackerSettings;
use crate::model::DEFAULT_RACK;
use crate::program::RunningPrograms;

/// Maximum wait of a job for racks, while no other user waits, and while others do.
const JOB_TIMEOUT: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(500));
const MAX_NAME_BYTES: usize = 255;

/// Resolves hosts to racks. After a failure a host has `/default-rack` for now and is resolved again later.
#[derive(Debug)]
pub(crate) struct RackResolver {
    script: Option<PathBuf>,
    hosts_per_run: usize,
    lookups: AddressLookups,
    programs: RunningPrograms,
    queue: Mutex<RackQueue>,
}

/// A request for the racks of a job's hosts. Dropped, it continues for later requests.
#[derive(Debug)]
pub(super) struct RackRequest {
    resolver: Arc<RackResolver>,
    number: u64,
    done: oneshot::Receiver<()>,
    timeout: Duration,
}

impl RackRequest {
    /// Completes when all racks are known, or the timeout is over.
    pub(super) async fn wait(&mut self) {
        // An error means that the request was withdrawn: the racks known so far are used.
        let _ = tokio::time::timeout(self.timeout, &mut self.done).await;
    }

    pub(super) fn withdraw(self) {
        self.resolver.queue().withdraw(self.number);
    }
}

impl Drop for RackRequest {
    fn drop(&mut self) {
        self.resolver.queue().abandon(self.number);
    }
}

impl RackResolver {
    /// From the settings; without a program all hosts are in one rack.
    pub(crate) fn new(settings: &TrackerSettings) -> Arc<Self> {
        Self::with_script(settings.topology_script.clone(), settings.topology_script_arguments)
    }

    fn with_script(script: Option<PathBuf>, hosts_per_run: usize) -> Arc<Self> {
        Arc::new(Self {
            script,
            hosts_per_run: hosts_per_run.max(1),
            lookups: AddressLookups::default(),
            programs: RunningPrograms::default(),
            queue: Mutex::default(),
        })
    }

    /// Kills the running programs; from now on no rack is resolved.
    pub(crate) fn stop(&self) {
        self.programs.stop();
    }

    pub(super) async fn rack_of_tracker(self: &Arc<Self>, host: &str) -> String {
        let answer = self.request_for_tracker(host);
        let rack = match answer {
            Some(answer) => answer.await.ok(),
            None => self.queue().rack(host).map(str::to_owned),
        };
        rack.unwrap_or_else(|| DEFAULT_RACK.to_owned())
    }

    fn request_for_tracker(self: &Arc<Self>, host: &str) -> Option<oneshot::Receiver<String>> {
        if self.script.is_none() || !is_host(host) {
            return None;
        }
        let answer = self.queue().request_for_tracker(host)?;
        self.ensure_run();
        Some(answer)
    }

    /// Requests the unknown racks of a job's hosts; `None` if all are known or `can_wait` is false. Time grows with the
    /// number of hosts: not for the owner's thread.
    pub(super) fn request_racks<'a>(
        self: &Arc<Self>,
        user: &Arc<str>,
        hosts: impl Iterator<Item = &'a str>,
        can_wait: bool,
    ) -> Option<RackRequest> {
        self.script.as_ref()?;
        let mut queue = self.queue();
        let unknown: Vec<String> =
            hosts.filter(|host| is_host(host) && queue.rack(host).is_none()).map(str::to_owned).collect();
        if unknown.is_empty() {
            return None;
        }
        let timeout = if queue.is_idle_but_for(user) { JOB_TIMEOUT.0 } else { JOB_TIMEOUT.1 };
        let asked = queue.add_request(user, unknown, can_wait);
        drop(queue);
        self.ensure_run();
        let (number, done) = asked?;
        Some(RackRequest { resolver: self.clone(), number, done, timeout })
    }

    /// The known racks of hosts, in order, else the default. Time grows with their number.
    pub(super) fn known<'a>(&self, hosts: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut queue = self.queue();
        hosts.map(|host| queue.rack(host).unwrap_or(DEFAULT_RACK).to_owned()).collect()
    }

    fn queue(&self) -> MutexGuard<'_, RackQueue> {
        // No panic leaves it half changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread for queued hosts, up to the limit.
    fn ensure_run(self: &Arc<Self>) {
        if self.queue().begin_run() {
            let resolver = self.clone();
            let started = std::thread::Builder::new().name("racks".to_owned()).spawn(move || resolver.run_batches());
            if let Err(error) = started {
                self.queue().end_run();
                tracing::warn!("cannot start a thread for the topology script: {error}");
            }
        }
    }

    /// Runs the program until the queue is empty.
    fn run_batches(self: Arc<Self>) {
        let Some(script) = &self.script else { return };
        loop {
            let Some(batch) = self.queue().next_batch(self.hosts_per_run) else { return };
            // The rest of the queue may need another thread.
            self.ensure_run();
            let racks = match &batch {
                HostBatch::Trackers(hosts) => script::resolve_or_halve(script, hosts, &self.lookups, &self.programs),
                HostBatch::Job(_, hosts) => script::run_script(script, hosts, &self.lookups, &self.programs)
                    .map(|racks| hosts.iter().cloned().zip(racks).collect()),
            };
            if self.programs.is_stopped() {
                return;
            }
            let failure = self.queue().finish(batch, racks);
            if let Some(failure) = failure {
                tracing::warn!("{} (topology.script.file.name) {failure}", script.display());
            }
        }
    }
}

/// Whether a name may be passed to the program. Names come from clients.
fn is_host(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests;

//! Racks of hosts, as the administrator's program tells them (1.2.1 `ScriptBasedMapping`).
//!
//! The program runs on threads of its own, a few at one time, each run with a batch of hosts. Hosts of trackers go first; what jobs
//! name comes from clients, so each job has its turn, waits with a deadline, and none keeps a tracker waiting.

mod address;
mod line;
mod script;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use address::AddressLookups;
use line::{Batch, Line};

use crate::config::settings::TrackerSettings;
use crate::model::DEFAULT_RACK;

/// Most time a job waits for racks while nobody else does, and while others do.
const JOB_PATIENCE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(500));
/// Runs at one time, one of them for trackers only.
const MOST_RUNS: usize = 4;
/// Longest name of a host, bytes.
const LONGEST_NAME: usize = 255;

/// Resolves hosts to racks. What fails is `/default-rack` for now and is asked again.
#[derive(Debug)]
pub struct Topology {
    script: Option<PathBuf>,
    hosts_per_run: usize,
    lookups: AddressLookups,
    line: Mutex<Line>,
}

/// The racks of a job's hosts are being asked for. Dropped, it goes on for whoever asks next.
#[derive(Debug)]
pub(super) struct Asking {
    topology: Arc<Topology>,
    number: u64,
    done: oneshot::Receiver<()>,
    patience: Duration,
}

// === impl Asking ===

impl Asking {
    /// Completes when all is known that can be, or the time for it is over.
    pub(super) async fn wait(&mut self) {
        // An error says that it was given up: what is known by now has to do.
        let _ = tokio::time::timeout(self.patience, &mut self.done).await;
    }

    /// Nobody wants to know any more.
    pub(super) fn withdraw(self) {
        self.topology.line().withdraw(self.number);
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.topology.line().wait_no_more(self.number);
    }
}

// === impl Topology ===

impl Topology {
    /// As the settings say; without a program all hosts stand in one rack.
    pub fn new(settings: &TrackerSettings) -> Arc<Self> {
        Self::with_script(settings.topology_script.clone(), settings.topology_script_arguments)
    }

    fn with_script(script: Option<PathBuf>, hosts_per_run: usize) -> Arc<Self> {
        Arc::new(Self {
            script,
            hosts_per_run: hosts_per_run.max(1),
            lookups: AddressLookups::default(),
            line: Mutex::default(),
        })
    }

    /// The rack of a tracker's host.
    pub(super) async fn rack_of_tracker(self: &Arc<Self>, host: &str) -> String {
        let told = self.ask_for_tracker(host);
        let rack = match told {
            Some(told) => told.await.ok(),
            None => self.line().rack(host).map(str::to_owned),
        };
        rack.unwrap_or_else(|| DEFAULT_RACK.to_owned())
    }

    fn ask_for_tracker(self: &Arc<Self>, host: &str) -> Option<oneshot::Receiver<String>> {
        if self.script.is_none() || !is_host(host) {
            return None;
        }
        let told = self.line().ask_for_tracker(host)?;
        self.ensure_run();
        Some(told)
    }

    /// Has the racks of a job's hosts asked for, as far as they are not known; nothing where that needs no waiting, or must not
    /// wait. Takes time with the number of hosts: not for the owner's thread.
    pub(super) fn ask<'a>(
        self: &Arc<Self>,
        user: &Arc<str>,
        hosts: impl Iterator<Item = &'a str>,
        may_wait: bool,
    ) -> Option<Asking> {
        self.script.as_ref()?;
        let mut line = self.line();
        let unknown: Vec<String> =
            hosts.filter(|host| is_host(host) && line.rack(host).is_none()).map(str::to_owned).collect();
        if unknown.is_empty() {
            return None;
        }
        let patience = if line.is_idle_but_for(user) { JOB_PATIENCE.0 } else { JOB_PATIENCE.1 };
        let asked = line.ask(user, unknown, may_wait);
        drop(line);
        self.ensure_run();
        let (number, done) = asked?;
        Some(Asking { topology: self.clone(), number, done, patience })
    }

    /// The racks of hosts as far as they are known, in their order. Takes time with their number.
    pub(super) fn known<'a>(&self, hosts: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut line = self.line();
        hosts.map(|host| line.rack(host).unwrap_or(DEFAULT_RACK).to_owned()).collect()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // Nothing in there is ever half done.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread for what waits, unless there are enough.
    fn ensure_run(self: &Arc<Self>) {
        if self.line().begin_run() {
            let topology = self.clone();
            let started = std::thread::Builder::new().name("racks".to_owned()).spawn(move || topology.work_off());
            if let Err(error) = started {
                self.line().end_run();
                tracing::warn!("no thread for racks can be started: {error}");
            }
        }
    }

    /// One run after the other until nothing waits.
    fn work_off(self: Arc<Self>) {
        let Some(script) = &self.script else { return };
        loop {
            let Some(batch) = self.line().next_batch(self.hosts_per_run) else { return };
            // What else waits may need another thread.
            self.ensure_run();
            let racks = match &batch {
                Batch::Trackers(hosts) => script::ask_or_halve(script, hosts, &self.lookups),
                Batch::Job(_, hosts) => {
                    script::ask(script, hosts, &self.lookups).map(|racks| hosts.iter().cloned().zip(racks).collect())
                }
            };
            let complaint = self.line().finish(batch, racks);
            if let Some(complaint) = complaint {
                tracing::warn!("{} (topology.script.file.name) {complaint}", script.display());
            }
        }
    }
}

/// Whether a name can be put to the program. Names come from clients.
fn is_host(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests;

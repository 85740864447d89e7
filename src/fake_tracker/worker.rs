//! The containers of a fake built-in worker: its beats, and what an answer does to them.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::api::{
    BeatAnswer, BeatContainer, BeatContainerState, ContainerEnd, ContainerKill, ContainerLaunch, DeclaredBag,
    WorkerBeat,
};
use crate::model::{ContainerExit, ContainerId, hex};
use crate::wire::BEAT_DIGEST;

/// A container on a fake worker, about which its driver keeps a `T`.
#[derive(Clone, Debug)]
pub(crate) struct FakeContainer<T> {
    pub(crate) state: BeatContainerState,
    /// The most sudden kill that has come.
    pub(crate) kill: Option<ContainerKill>,
    pub(crate) plan: T,
    /// The number of its last change.
    changed: u64,
}

/// The part of a built-in worker that runs containers. Its driver decides what each of them does.
#[derive(Clone, Debug)]
pub(crate) struct FakeWorker<T = ()> {
    /// A number of its process.
    pub(crate) incarnation: u64,
    pub(crate) declared: DeclaredBag,
    /// Why it takes no container; none: it does.
    pub(crate) unhealthy: Option<String>,
    /// All that it has, until their ends are noted.
    pub(crate) containers: BTreeMap<ContainerId, FakeContainer<T>>,
    /// Of the last beat on this connection.
    number: u64,
    last_change: u64,
    /// The last change that an answered beat has reported.
    answered_change: u64,
    /// The last change that a beat of this connection has reported, and what it said about health.
    sent: (u64, Option<String>),
}

/// What a beat reports of a container whose process started and ended at one time, epoch ms.
pub fn report_end(id: ContainerId, exit: ContainerExit, at_ms: i64) -> BeatContainer {
    let (diagnostics, started_ms) = (String::new(), Some(at_ms));
    let end = ContainerEnd { exit, diagnostics, started_ms, ended_ms: at_ms, peak_memory_mb: 1, cpu_ms: 1 };
    BeatContainer { id, state: BeatContainerState::Ended(end) }
}

impl<T> FakeContainer<T> {
    /// Whether nothing of it is left.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, BeatContainerState::Ended(_))
    }
}

impl<T> FakeWorker<T> {
    /// One without containers that has not beaten yet.
    pub(crate) fn new(incarnation: u64, declared: DeclaredBag) -> Self {
        Self {
            incarnation,
            declared,
            unhealthy: None,
            containers: BTreeMap::new(),
            number: 0,
            last_change: 0,
            answered_change: 0,
            sent: (0, None),
        }
    }

    /// Ends the process and its containers; another one takes its place.
    pub(crate) fn restart(&mut self, incarnation: u64) {
        *self = Self::new(incarnation, self.declared);
    }

    /// What its heartbeats say of the secret of its beats, as the health report of a healthy tracker.
    pub(crate) fn health_report(&self) -> String {
        format!("{BEAT_DIGEST}{}", hex(&Sha256::digest(self.secret().as_bytes())))
    }

    pub(crate) fn secret(&self) -> String {
        format!("{:064x}", self.incarnation)
    }

    /// Begins a connection: the next beat says all.
    pub(crate) fn connect(&mut self) {
        self.number = 0;
        self.answered_change = 0;
        self.sent = (0, None);
    }

    /// Whether there is something to say that no beat of this connection has said.
    pub(crate) fn has_news(&self) -> bool {
        self.number == 0 || self.last_change > self.sent.0 || self.sent.1 != self.unhealthy
    }

    pub(crate) fn beat(&mut self, tracker: &str) -> WorkerBeat {
        let is_first = self.number == 0;
        self.number += 1;
        self.sent = (self.last_change, self.unhealthy.clone());
        let is_news = |container: &FakeContainer<T>| {
            is_first || container.changed > self.answered_change || container.has_ended()
        };
        let changed = self.containers.iter().filter(|(_, container)| is_news(container));
        WorkerBeat {
            tracker: tracker.to_owned(),
            incarnation: self.incarnation,
            secret: self.secret(),
            number: self.number,
            declared: is_first.then_some(self.declared),
            is_full: is_first,
            containers: changed
                .map(|(id, container)| BeatContainer { id: *id, state: container.state.clone() })
                .collect(),
            unhealthy: self.unhealthy.clone(),
            ..WorkerBeat::default()
        }
    }

    /// Does what the answer to its last beat says; `plan` makes what the driver keeps about a launched container. Returns what is new here.
    pub(crate) fn obey(
        &mut self,
        answer: &BeatAnswer,
        mut plan: impl FnMut(&ContainerLaunch) -> T,
    ) -> Vec<ContainerId> {
        self.answered_change = self.sent.0;
        let mut launched = Vec::new();
        for launch in &answer.launches {
            if self.containers.contains_key(&launch.id) {
                continue;
            }
            self.last_change += 1;
            let (state, changed) = (BeatContainerState::Launching, self.last_change);
            let container = FakeContainer { state, kill: None, plan: plan(launch), changed };
            self.containers.insert(launch.id, container);
            launched.push(launch.id);
        }
        for kill in &answer.kills {
            let Some(container) = self.containers.get_mut(&kill.id) else { continue };
            if container.kill.as_ref().is_none_or(|before| kill.grace_ms < before.grace_ms) {
                container.kill = Some(kill.clone());
            }
        }
        for noted in &answer.noted {
            if self.containers.get(noted).is_some_and(FakeContainer::has_ended) {
                self.containers.remove(noted);
            }
        }
        launched
    }

    pub(crate) fn start(&mut self, id: ContainerId, started_ms: i64) {
        self.change(id, |state| match state {
            BeatContainerState::Launching => Some(BeatContainerState::Running { pid: 1, started_ms }),
            BeatContainerState::Running { .. } | BeatContainerState::Ended(_) => None,
        });
    }

    /// Nothing of a container is left.
    pub(crate) fn end(&mut self, id: ContainerId, end: ContainerEnd) {
        self.change(id, |state| match state {
            BeatContainerState::Ended(_) => None,
            BeatContainerState::Launching | BeatContainerState::Running { .. } => Some(BeatContainerState::Ended(end)),
        });
    }

    fn change(&mut self, id: ContainerId, next: impl FnOnce(&BeatContainerState) -> Option<BeatContainerState>) {
        let Some(container) = self.containers.get_mut(&id) else { return };
        if let Some(state) = next(&container.state) {
            self.last_change += 1;
            (container.state, container.changed) = (state, self.last_change);
        }
    }
}

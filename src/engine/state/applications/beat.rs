//! A worker's beat: what it says of its containers.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::applications::ContainerState;
use crate::api::{BeatContainer, BeatContainerState, ContainerEnd, ContainerKill, WorkerBeat};
use crate::model::{Capability, ContainerExit, ContainerId, LaunchContext, Now, TrackerId};

use super::container::ContainerStep;
use super::measured_use::MeasuredUses;
use super::table::Applications;
use super::worker::{ContainerWorker, WorkerRest};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkerPlace {
    pub(crate) tracker: TrackerId,
    /// `host:web port`.
    pub(crate) node: Arc<str>,
    pub(crate) host: Arc<str>,
    pub(crate) rack: Arc<str>,
}

/// What a beat is answered, apart from what its worker is owed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BeatNotes {
    /// Containers that the worker may forget.
    pub(crate) noted: Vec<ContainerId>,
    /// Containers of the worker that are not there.
    pub(crate) kills: Vec<ContainerKill>,
    /// What it reported and is not believed, for the log.
    pub(crate) refused_use: Option<String>,
}

/// The beat is not the first one of its worker's connection, and nothing is known of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoFirstBeat;

impl Applications {
    pub(crate) fn take_beat(
        &mut self,
        beat: WorkerBeat,
        place: WorkerPlace,
        now: Now,
    ) -> Result<BeatNotes, NoFirstBeat> {
        let name: Arc<str> = Arc::from(beat.tracker.as_str());
        self.greet(&name, &beat, place, now)?;
        self.note_what_it_has(&name, &beat);
        let refused_use = self.take_usage(&beat, now);
        let mut notes =
            BeatNotes { refused_use: refused_use.map(|refused| refused.to_string()), ..BeatNotes::default() };
        let mut listed = BTreeSet::new();
        let (mut ended, mut running) = (Vec::new(), Vec::new());
        for BeatContainer { id, state } in beat.containers {
            listed.insert(id);
            match state {
                BeatContainerState::Ended(end) => ended.push((id, end)),
                BeatContainerState::Launching => running.push((id, None)),
                BeatContainerState::Running { started_ms, .. } => running.push((id, Some(started_ms))),
            }
        }
        // Ends first: they make room.
        for (id, end) in ended {
            if self.is_here(id, &name, beat.incarnation) {
                self.note_failed_start(id, &name, &end, now);
                self.end_container(id, end, now);
            }
            notes.noted.push(id);
        }
        for (id, started_ms) in running {
            if !self.is_here(id, &name, beat.incarnation) {
                notes.kills.push(ContainerKill {
                    id,
                    exit: ContainerExit::ABORTED,
                    diagnostics: "it is not known here".to_owned(),
                    grace_ms: LaunchContext::DEFAULT_KILL_GRACE_MS,
                });
                continue;
            }
            if let Some(started_ms) = started_ms {
                self.step_container(id, ContainerStep::Started(started_ms));
                if let Some(worker) = self.workers.get_mut(&name) {
                    worker.rest.on_start();
                }
            }
        }
        if beat.is_full {
            self.compare_full_list(&name, &listed, now);
        }
        Ok(notes)
    }

    /// A worker that could not start a container, for no fault of the container and though it was not killed, rests a while.
    fn note_failed_start(&mut self, id: ContainerId, name: &Arc<str>, end: &ContainerEnd, now: Now) {
        let is_of_worker = matches!(end.exit, ContainerExit::ABORTED | ContainerExit::DISKS_FAILED);
        let was_killed = self.container(id).is_none_or(|container| container.kill.is_some());
        if let Some(worker) = self.workers.get_mut(name) {
            match end.started_ms {
                None if is_of_worker && !was_killed => worker.rest.on_failed_start(now.mono_ms),
                None => {}
                Some(_) => worker.rest.on_start(),
            }
        }
    }

    /// Notes what a worker has, before the ends that it reports have consequences: what is killed for them is on the worker,
    /// and not complete before that has ended it.
    fn note_what_it_has(&mut self, name: &Arc<str>, beat: &WorkerBeat) {
        let listed = beat.containers.iter().map(|container| container.id);
        let has: Vec<ContainerId> = listed.filter(|id| self.is_here(*id, name, beat.incarnation)).collect();
        if let Some(worker) = self.workers.get_mut(name) {
            worker.has.extend(has.iter().copied());
        }
        self.note_contexts(name, &has);
        has.into_iter().for_each(|id| self.review_what_is_owed(id));
    }

    /// Updates whether anything is owed for a container, after what its worker has has changed.
    fn review_what_is_owed(&mut self, id: ContainerId) {
        let Self { all, workers, .. } = self;
        let container = all.get(&id.application).and_then(|known| known.containers.get(&id.number));
        if let Some(container) = container
            && let Some(worker) = workers.get_mut(&container.node.tracker)
        {
            worker.note_what_is_owed(container);
        }
    }

    /// Updates what is known of a worker; a new process of it, or one on a new connection, begins with nothing sent.
    fn greet(&mut self, name: &Arc<str>, beat: &WorkerBeat, place: WorkerPlace, now: Now) -> Result<(), NoFirstBeat> {
        let before = self.workers.get(name).filter(|worker| worker.incarnation == beat.incarnation);
        if before.is_none() && !beat.is_full {
            return Err(NoFirstBeat);
        }
        // Nothing was granted to another one since this one came.
        if before.is_none() {
            self.lose_other_incarnations(name, beat.incarnation, &place, now);
        }
        let WorkerPlace { tracker, node, host, rack } = place;
        let declared = beat.declared.map(|declared| declared.capability);
        let is_new = beat.is_full || !self.workers.contains_key(name);
        self.worker_names.insert(tracker, Arc::clone(name));
        let worker = self.workers.entry(Arc::clone(name)).or_insert_with(|| ContainerWorker {
            tracker,
            incarnation: beat.incarnation,
            node: Arc::clone(&node),
            host: Arc::clone(&host),
            rack: Arc::clone(&rack),
            capability: Capability::default(),
            complaint: None,
            rest: WorkerRest::default(),
            has: BTreeSet::new(),
            owed: BTreeSet::new(),
            sent: BTreeSet::new(),
            container_use: MeasuredUses::default(),
            attempt_use: MeasuredUses::default(),
            has_lied: false,
            keeps_contexts: false,
            contexts: BTreeSet::new(),
            dropped_contexts: BTreeSet::new(),
            portion_ended_at: None,
            has_news: true,
        });
        if is_new {
            worker.has.clear();
            worker.sent.clear();
            worker.container_use = MeasuredUses::default();
            worker.attempt_use = MeasuredUses::default();
            worker.portion_ended_at = None;
            worker.has_news = true;
            worker.keeps_contexts = beat.keeps_contexts;
        }
        (worker.tracker, worker.incarnation) = (tracker, beat.incarnation);
        (worker.node, worker.host, worker.rack) = (node, host, rack);
        worker.capability = declared.unwrap_or(worker.capability);
        worker.complaint.clone_from(&beat.unhealthy);
        if is_new {
            self.list_contexts(name, &beat.contexts);
            let here: Vec<ContainerId> = self.on_tracker.get(name).into_iter().flatten().copied().collect();
            here.into_iter().for_each(|id| self.review_what_is_owed(id));
        }
        Ok(())
    }

    /// Another process of a worker has ended, and its containers with it.
    fn lose_other_incarnations(&mut self, name: &Arc<str>, incarnation: u64, place: &WorkerPlace, now: Now) {
        let lost: Vec<ContainerId> = self
            .on_tracker
            .get(name)
            .into_iter()
            .flatten()
            .copied()
            .filter(|id| self.container(*id).is_some_and(|container| container.node.incarnation != incarnation))
            .collect();
        for id in lost {
            self.end_without_report(id, ContainerExit::ABORTED, lost_text(&place.node), now);
        }
    }

    /// Containers that run by the book and are not on the whole list of their worker are gone. A launch that it lacks is
    /// given again, unless it is to be killed.
    fn compare_full_list(&mut self, name: &Arc<str>, listed: &BTreeSet<ContainerId>, now: Now) {
        let missing: Vec<ContainerId> =
            self.on_tracker.get(name).into_iter().flatten().copied().filter(|id| !listed.contains(id)).collect();
        for id in missing {
            let Some(container) = self.container(id) else { continue };
            match (&container.kill, container.state) {
                (Some(kill), ContainerState::Launching | ContainerState::Running) => {
                    let (exit, diagnostics) = (kill.exit, kill.diagnostics.clone());
                    self.end_without_report(id, exit, diagnostics, now);
                }
                (None, ContainerState::Running) => {
                    let diagnostics = "its worker no longer has it".to_owned();
                    self.end_without_report(id, ContainerExit::ABORTED, diagnostics, now);
                }
                _ => {}
            }
        }
    }

    pub(crate) fn lose_worker(&mut self, tracker: &str, now: Now) {
        self.forget_contexts_of(tracker);
        let worker = self.workers.remove(tracker);
        if let Some(worker) = &worker {
            self.worker_names.remove(&worker.tracker);
        }
        let node = worker.map(|worker| worker.node);
        let lost: Vec<ContainerId> = self.on_tracker.get(tracker).into_iter().flatten().copied().collect();
        for id in lost {
            let Some(container) = self.container(id) else { continue };
            let node = node.clone().unwrap_or_else(|| Arc::clone(&container.node.id));
            self.end_without_report(id, ContainerExit::ABORTED, lost_text(&node), now);
        }
    }

    /// The rack of a node is resolved: what is granted there from now on is there.
    pub(crate) fn move_worker(&mut self, tracker: TrackerId, rack: &str) {
        let Self { worker_names, workers, .. } = self;
        if let Some(worker) = worker_names.get(&tracker).and_then(|name| workers.get_mut(name)) {
            worker.rack = Arc::from(rack);
        }
    }

    /// The incarnation of a worker that has sent a whole list.
    pub(crate) fn incarnation(&self, tracker: &str) -> Option<u64> {
        self.workers.get(tracker).map(|worker| worker.incarnation)
    }

    pub(crate) fn trackers_with_containers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.on_tracker.keys()
    }

    pub(crate) fn containers_on(&self, tracker: &str) -> u64 {
        self.on_tracker.get(tracker).map_or(0, |here| here.len() as u64)
    }
}

fn lost_text(node: &str) -> String {
    format!("node {node} was lost")
}

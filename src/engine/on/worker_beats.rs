//! Beats of workers about their containers.

use core::net::IpAddr;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::api::WorkerBeat;
use crate::engine::core::{BeatRefusal, BeatReply, Engine, Reply, Wait, WorkerBeatEvent};
use crate::engine::state::{BeatNotes, LogLevel, NoFirstBeat, Tracker, WorkerPlace};
use crate::model::{Capability, Now, TrackerId, hex};
use crate::wire::runs_streaming_only;

impl Engine {
    pub(super) fn on_worker_beat(&mut self, event: WorkerBeatEvent, now: Now) -> (Reply, Wait) {
        let reply = match event {
            _ if !self.applications.settings.is_enabled => BeatReply::Refused(BeatRefusal::SwitchedOff),
            WorkerBeatEvent::Came { beat, address } => match self.believe(&beat, address) {
                Ok(id) => {
                    self.applications.tallies.beats += 1;
                    self.take_beat(id, *beat, now)
                }
                Err(refusal) => BeatReply::Refused(refusal),
            },
            WorkerBeatEvent::Waited { tracker, incarnation, is_over } => {
                match self.applications.incarnation(&tracker) {
                    Some(current) if current == incarnation => {
                        self.answer_beat(&tracker, BeatNotes::default(), is_over)
                    }
                    _ => BeatReply::Refused(BeatRefusal::NoFirstBeat),
                }
            }
        };
        let wait = if matches!(reply, BeatReply::Answer(_)) { Wait::All } else { Wait::Nothing };
        (Reply::Beat(reply), wait)
    }

    /// The tracker of a beat, if it is a worker's own: else any process that says its name would get its launches.
    fn believe(&self, beat: &WorkerBeat, address: Option<IpAddr>) -> Result<TrackerId, BeatRefusal> {
        let tracker = self.trackers.id_of(&beat.tracker).and_then(|id| self.trackers.get(id));
        let tracker = tracker.ok_or(BeatRefusal::NotRegistered)?;
        if !runs_streaming_only(&tracker.name) {
            return Err(BeatRefusal::NotBuiltIn);
        }
        // Before its first heartbeat since a restart nothing of it is known.
        let known_address = tracker.address.ok_or(BeatRefusal::NotRegistered)?;
        if address != Some(known_address) {
            return Err(BeatRefusal::WrongAddress);
        }
        let digest = tracker.beat_digest.as_deref().ok_or(BeatRefusal::WrongSecret)?;
        let said = hex(&Sha256::digest(beat.secret.as_bytes()));
        if said == *digest { Ok(tracker.id) } else { Err(BeatRefusal::WrongSecret) }
    }

    fn take_beat(&mut self, id: TrackerId, beat: WorkerBeat, now: Now) -> BeatReply {
        let Some(place) = self.worker_place(id) else { return BeatReply::Refused(BeatRefusal::NotRegistered) };
        let (name, is_full) = (beat.tracker.clone(), beat.is_full);
        self.check_slot(&beat);
        let mut notes = match self.applications.take_beat(beat, place, now) {
            Ok(notes) => notes,
            Err(NoFirstBeat) => return BeatReply::Refused(BeatRefusal::NoFirstBeat),
        };
        if let Some(text) = notes.refused_use.take() {
            self.outbox.log_line(LogLevel::Warning, text);
        }
        self.pass_on_changes();
        let capability = self.applications.worker(&name).map(|worker| worker.capability);
        self.cluster.scheduler.set_bag(id, capability.map(|declared| self.raised_bag(id, declared)));
        // Containers of an earlier run have no node until its worker has listed what it has.
        let restored = if is_full { self.applications.place_restored(&name, id) } else { Vec::new() };
        for container in restored {
            let request = self.applications.container(container).map(|container| container.request);
            if let Some(request) = request {
                self.cluster.scheduler.place_container(id, request);
            }
        }
        let may_take = self.may_take_containers(id, now);
        self.cluster.scheduler.set_takes_containers(id, may_take);
        self.grant_containers(now);
        self.answer_beat(&name, notes, false)
    }

    fn answer_beat(&mut self, tracker: &str, notes: BeatNotes, is_over: bool) -> BeatReply {
        self.applications.answer_beat(tracker, notes, is_over).map_or(BeatReply::Waits, BeatReply::Answer)
    }

    /// What a node has, at least the memory that its slots take. Its cores are its own word: the scheduler keeps slots beside them.
    fn raised_bag(&self, id: TrackerId, declared: Capability) -> Capability {
        let slots = self.trackers.get(id).map(|tracker| tracker.reported_slots).unwrap_or_default();
        let least = self.applications.settings.slot.times(slots.map.saturating_add(slots.reduce));
        Capability::new(declared.memory_mb.max(least.memory_mb), declared.vcores)
    }

    /// Logs that a worker reads another size of a slot than this daemon, whose counts.
    fn check_slot(&mut self, beat: &WorkerBeat) {
        let slot = self.applications.settings.slot;
        if let Some(declared) = beat.declared.filter(|declared| declared.slot != slot) {
            let text = format!(
                "{} takes a slot for {}, this JobTracker for {slot}, which counts \
                 (jobtracker.containers.slot.memory.mb)",
                beat.tracker, declared.slot
            );
            self.outbox.log_line(LogLevel::Warning, text);
        }
    }

    fn worker_place(&self, id: TrackerId) -> Option<WorkerPlace> {
        let tracker = self.trackers.get(id)?;
        let info = self.cluster.nodes.get(id)?;
        let rack = self.cluster.scheduler.topology().rack_name(info.rack);
        Some(WorkerPlace {
            tracker: id,
            node: node_id(tracker).into(),
            host: Arc::clone(&tracker.host),
            rack: Arc::from(rack),
        })
    }
}

/// A node's id, `host:web port`.
pub(super) fn node_id(tracker: &Tracker) -> String {
    format!("{}:{}", tracker.host, tracker.http_port)
}

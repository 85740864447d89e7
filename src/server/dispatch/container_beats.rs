//! Beats of built-in workers about their containers. The engine judges them; an answer is held back while the engine has
//! nothing to say, so that news reaches the worker at once and no timer is in the way.

use std::rc::Rc;
use std::sync::Arc;

use crate::api::{BeatAnswer, BeatContainerState, MOST_HELD_BEAT_MS, WorkerBeat};
use crate::engine::{BeatReply, Event, Reply, WorkerBeatEvent};
use crate::ipc::{CallAnswer, PendingCall, RemoteError};
use crate::model::FactNumber;
use crate::server::answer::answer_of;
use crate::store::FaultPoint;
use crate::wire::Text;
use crate::wire::limits::{BEAT_BYTES, BEAT_CONTAINERS, DIAGNOSTICS_BYTES, HEALTH_REPORT_BYTES, is_node_name, shorten};
use crate::wire::protocol::{ContainerBeatCall, Value};

use super::dispatcher::{Dispatcher, STORE_OVERLOADED};
use super::held_beats::HeldBeat;

/// Hexadecimal digits of a worker's secret.
const SECRET_DIGITS: usize = 64;

/// Why a beat cannot be read.
#[derive(Debug, thiserror::Error)]
enum BeatError {
    #[error("a beat has {0} bytes, the limit is {BEAT_BYTES}")]
    TooLong(usize),
    #[error("not a beat: {0}")]
    Json(#[from] serde_json::Error),
    #[error("a beat has {0} containers, the limit is {BEAT_CONTAINERS}")]
    TooManyContainers(usize),
    #[error("a beat names no TaskTracker")]
    Tracker,
    #[error("the secret of a beat must have {SECRET_DIGITS} hexadecimal digits")]
    Secret,
}

impl Dispatcher {
    pub(super) fn container_beats(&self, call: &ContainerBeatCall, pending: PendingCall) {
        let ContainerBeatCall::Beat { beat } = call;
        match read_beat(beat) {
            Ok(beat) => self.beat(beat, pending),
            Err(error) => self.refuse(pending, RemoteError::io(error)),
        }
    }

    fn beat(&self, beat: WorkerBeat, pending: PendingCall) {
        if self.owner.is_overloaded() {
            return self.refuse(pending, RemoteError::io(STORE_OVERLOADED));
        }
        let (tracker, incarnation): (Arc<str>, u64) = (beat.tracker.as_str().into(), beat.incarnation);
        let came = WorkerBeatEvent::Came { beat: Box::new(beat), address: Some(pending.address()) };
        let before = self.owner.last_fact();
        let (reply, wait_for) = self.owner.step_from(pending.address(), Event::WorkerBeat(came));
        if self.owner.last_fact() > before {
            FaultPoint::ContainerBeatDecided.pass();
        }
        // Only a worker that is believed ends the wait of its older beat.
        if let Reply::Beat(BeatReply::Answer(_) | BeatReply::Waits) = reply
            && let Some(older) = self.held_beats.take(&tracker)
        {
            self.answer_beat(older.pending, &BeatAnswer::default(), older.wait_for);
        }
        if let Reply::Beat(BeatReply::Waits) = reply {
            let (until_ms, wait_for) = (self.owner.clock().mono_ms() + MOST_HELD_BEAT_MS, self.owner.last_fact());
            return self.held_beats.hold(tracker, HeldBeat { pending, incarnation, wait_for, until_ms });
        }
        self.answer_reply(pending, reply, wait_for);
    }

    /// The engine has something to say to a worker: a beat of it that is held asks again.
    pub(in crate::server) fn worker_has_news(&self, tracker: &Arc<str>) {
        self.ask_again(tracker, false);
    }

    /// Answers held beats as their time is over. Never completes.
    pub(crate) async fn end_held_beats(self: Rc<Self>) {
        let clock = self.owner.clock();
        loop {
            let next_ms = self.held_beats.next_end_ms();
            let ended = async {
                match next_ms {
                    Some(next_ms) => tokio::time::sleep_until(clock.instant(next_ms)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = ended => {}
                () = self.held_beats.changed() => {}
            }
            while let Some(tracker) = self.held_beats.ended(clock.mono_ms()) {
                self.ask_again(&tracker, true);
                // Heartbeats go first.
                tokio::task::yield_now().await;
            }
        }
    }

    /// Answers all held beats: the server stops, or hands its connections over.
    pub(super) fn answer_held_beats(&self) {
        for tracker in self.held_beats.trackers() {
            self.ask_again(&tracker, true);
        }
    }

    fn ask_again(&self, tracker: &Arc<str>, is_over: bool) {
        let Some(held) = self.held_beats.take(tracker) else { return };
        if held.pending.has_left() {
            // Its worker comes again, and nothing that the engine has to say is lost.
            return;
        }
        let waited = WorkerBeatEvent::Waited { tracker: tracker.to_string(), incarnation: held.incarnation, is_over };
        let (reply, wait_for) = self.owner.step(Event::WorkerBeat(waited));
        if !is_over && matches!(reply, Reply::Beat(BeatReply::Answer(_))) {
            FaultPoint::ContainerBeatReleased.pass();
        }
        match reply {
            Reply::Beat(BeatReply::Waits) if !is_over => self.held_beats.hold(tracker.clone(), held),
            Reply::Beat(BeatReply::Waits) => self.answer_beat(held.pending, &BeatAnswer::default(), held.wait_for),
            reply => self.answer_reply(held.pending, reply, wait_for.max(held.wait_for)),
        }
    }

    fn answer_reply(&self, pending: PendingCall, reply: Reply, wait_for: FactNumber) {
        match reply {
            Reply::Beat(BeatReply::Answer(answer)) => self.answer_beat(pending, &answer, wait_for),
            Reply::Beat(BeatReply::Refused(refusal)) => {
                self.owner.answer(pending, CallAnswer::Error(RemoteError::io(refusal)), wait_for);
            }
            reply => self.owner.answer(pending, answer_of(reply), wait_for),
        }
    }

    fn answer_beat(&self, pending: PendingCall, answer: &BeatAnswer, wait_for: FactNumber) {
        let answer = match serde_json::to_string(answer) {
            Ok(answer) => CallAnswer::Value(Value::Text(Text(answer))),
            Err(error) => CallAnswer::Error(RemoteError::io(error)),
        };
        self.owner.answer(pending, answer, wait_for);
    }
}

/// Reads a beat. Texts that only people read are cut, all else beyond a limit is refused.
fn read_beat(text: &str) -> Result<WorkerBeat, BeatError> {
    if text.len() > BEAT_BYTES {
        return Err(BeatError::TooLong(text.len()));
    }
    let mut beat: WorkerBeat = serde_json::from_str(text)?;
    if !is_node_name(&beat.tracker) {
        return Err(BeatError::Tracker);
    }
    let is_digit = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
    if beat.secret.len() != SECRET_DIGITS || !beat.secret.bytes().all(is_digit) {
        return Err(BeatError::Secret);
    }
    if beat.containers.len() > BEAT_CONTAINERS {
        return Err(BeatError::TooManyContainers(beat.containers.len()));
    }
    for container in &mut beat.containers {
        if let BeatContainerState::Ended(end) = &mut container.state {
            shorten(&mut end.diagnostics, DIAGNOSTICS_BYTES);
        }
    }
    if let Some(why) = &mut beat.unhealthy {
        shorten(why, HEALTH_REPORT_BYTES);
    }
    Ok(beat)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn text(members: &str) -> String {
        format!(r#"{{"tracker": "tracker_h:localhost/127.0.0.1:1", "incarnation": 1, "secret": "{SECRET}"{members}}}"#)
    }

    #[test]
    fn a_beat_is_read_strictly() {
        let good = read_beat(&text(r#", "number": 1"#)).unwrap();
        assert_eq!((good.number, good.is_full, good.containers.len()), (1, false, 0));
        for bad in ["", r#", "number": 1, "number": 1"#, r#", "number": 1.5"#, r#", "number": 1, "wish": 1"#] {
            assert!(matches!(read_beat(&text(bad)), Err(BeatError::Json(_))), "{bad}");
        }
        let with = |old: &str, new: &str| read_beat(&text(r#", "number": 1"#).replace(old, new)).unwrap_err();
        assert!(matches!(with("tracker_h:", "tracker h:"), BeatError::Tracker));
        assert!(matches!(with("00112233", "0011223"), BeatError::Secret));
        assert!(matches!(with("aabbccddeeff", "AABBCCDDEEFF"), BeatError::Secret));
    }

    #[test]
    fn a_beat_has_limits() {
        let long = "x".repeat(BEAT_BYTES);
        assert!(matches!(read_beat(&text(&format!(r#", "unhealthy": "{long}""#))), Err(BeatError::TooLong(_))));
        let cut = read_beat(&text(&format!(r#", "number": 1, "unhealthy": "{}""#, "x".repeat(5_000)))).unwrap();
        assert_eq!(cut.unhealthy.unwrap().len(), HEALTH_REPORT_BYTES);
        let container = r#"{"id": "container_1_0001_01_000001", "state": "launching"}"#;
        let many = vec![container; BEAT_CONTAINERS + 1].join(",");
        let read = read_beat(&text(&format!(r#", "number": 1, "containers": [{many}]"#)));
        assert!(matches!(read, Err(BeatError::TooManyContainers(_))), "{read:?}");
    }
}

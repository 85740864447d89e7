//! Heartbeats in the name of a tracker whose own connection is open, from another connection.
//!
//! The sender may be somebody else, or the tracker itself after its network broke. A stock tracker that is refused ends for
//! good, one that is not answered waits. So the heartbeat is held until one of these is known:
//! - the own connection closes, or its peer's kernel answers nothing for 5 s: the newcomer is the tracker;
//! - the tracker speaks on its own connection, or its peer's kernel answers there and it spoke lately: the newcomer is
//!   another one, and is refused.
//!
//! It stays held where neither is known, and where the own connection itself may be the stranger's. No other heartbeat
//! waits for it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use tokio::sync::Notify;

use crate::engine::{ConnectionStatus, Refusal, Reply, TrackerConnection};
use crate::ipc::{Probe, Ticket};
use crate::model::FactNumber;
use crate::server::admission::Admitted;
use crate::wire::HeartbeatRequest;

use super::{Dispatcher, answer_of};

/// How long the peer of an own connection may take to answer, ms; and an interval of its heartbeats more to speak itself.
const PATIENCE_MS: u64 = 5_000;
/// How long a heartbeat is held for the addresses of its host, ms.
const RESOLVED_MS: u64 = 10_000;
/// Most of a client's own words that a text repeats, bytes.
const MAX_SHOWN_BYTES: usize = 64;

/// Own connections of trackers that newcomers claim to be.
#[derive(Debug, Default)]
pub(super) struct Newcomers {
    contested: RefCell<BTreeMap<u64, Weak<Contested>>>,
}

/// An own connection while somebody else claims to be one of its trackers.
#[derive(Debug)]
struct Contested {
    probe: Probe,
    /// A heartbeat has come on it, or it has closed.
    changed: Notify,
    is_logged: Cell<bool>,
}

/// What is known of a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing before this moment, ms of the monotonic clock.
    Unknown(u64),
    /// The peer of the own connection is gone.
    IsTracker,
    /// The tracker is at its own connection.
    IsAnother,
}

// === impl Newcomers ===

impl Newcomers {
    /// A heartbeat has come on a connection, or it has closed.
    pub(super) fn changed(&self, connection: u64) {
        if let Some(contested) = self.contested.borrow().get(&connection).and_then(Weak::upgrade) {
            contested.changed.notify_waiters();
        }
    }

    /// The probe of an own connection, which all that contest it share; none when it has just closed.
    fn contest(&self, own: u64, ticket: &Ticket) -> Option<Rc<Contested>> {
        let mut all = self.contested.borrow_mut();
        if let Some(contested) = all.get(&own).and_then(Weak::upgrade) {
            return Some(contested);
        }
        let probe = ticket.probe(own)?;
        let contested = Rc::new(Contested { probe, changed: Notify::new(), is_logged: Cell::new(false) });
        all.retain(|_, contested| contested.strong_count() > 0);
        all.insert(own, Rc::downgrade(&contested));
        Some(contested)
    }
}

// === impl Contested ===

impl Contested {
    /// One line for all newcomers, however often they come.
    fn log(&self, tracker: &str, newcomer: &Ticket, outcome: &str) {
        if !self.is_logged.replace(true) {
            let own = self.probe.client().map_or("a closed connection".to_owned(), |client| client.to_string());
            let (name, newcomer) = (shown(tracker), newcomer.address());
            tracing::warn!("{newcomer} claims to be {name}, which is connected from {own}: {outcome}");
        }
    }
}

// === impl Dispatcher: newcomers ===

impl Dispatcher {
    /// Holds a heartbeat until it is known who sends it.
    pub(super) async fn judge_newcomer(self: Rc<Self>, request: HeartbeatRequest, ticket: Ticket) {
        let hold = self.holds.hold(&ticket);
        let tracker = request.status.name.to_string();
        let mut contested: Option<(u64, u64, Rc<Contested>)> = None;
        loop {
            // What somebody says who has gone must not count: nothing would tell that its connection is closed.
            if ticket.has_left() {
                return;
            }
            if hold.is_given_up() {
                return ticket.hang_up();
            }
            let now = self.owner.clock().now();
            let own =
                match self.owner.with_engine(|engine| engine.connection_status(&tracker, ticket.connection(), now)) {
                    ConnectionStatus::Own | ConnectionStatus::Absent => return self.take_heartbeat(request, ticket),
                    ConnectionStatus::Elsewhere(own) => own,
                };
            if contested.as_ref().is_none_or(|(connection, _, _)| *connection != own.connection) {
                let Some(found) = self.newcomers.contest(own.connection, &ticket) else {
                    // Closed, and the engine is about to hear it.
                    tokio::task::yield_now().await;
                    continue;
                };
                contested = Some((own.connection, now.mono_ms, found));
            }
            let Some((_, began_ms, contest)) = &contested else { return };
            let patience_ms = PATIENCE_MS + self.owner.with_engine(|engine| engine.longest_interval_ms());
            let until_ms = match verdict(&own, *began_ms, now.mono_ms, patience_ms, &contest.probe) {
                Verdict::IsTracker => {
                    contest.log(&tracker, &ticket, "the peer there does not answer, so this is the tracker");
                    contest.probe.give_up();
                    now.mono_ms + patience_ms
                }
                // The engine refuses it itself, unless the one there is silent for too long.
                Verdict::IsAnother if request.initial_contact && own.is_sure => {
                    return self.take_heartbeat(request, ticket);
                }
                Verdict::IsAnother if own.is_sure && !own.is_silent => {
                    contest.log(&tracker, &ticket, "refused, for that one lives");
                    return self.refuse_newcomer(&tracker, ticket);
                }
                Verdict::IsAnother => {
                    let outcome = "not served while that connection is open, for either may be it; jobtracker.trackers.admit = \
                                   listed distinguishes them by their addresses";
                    contest.log(&tracker, &ticket, outcome);
                    now.mono_ms + patience_ms
                }
                Verdict::Unknown(until_ms) => until_ms,
            };
            tokio::select! {
                () = contest.changed.notified() => {}
                () = hold.given_up() => {}
                () = ticket.connection_changed() => {}
                () = tokio::time::sleep_until(self.owner.clock().instant(until_ms)) => {}
            }
        }
    }

    /// Refuses a heartbeat from an address that its host does not have; holds it while that is not known.
    pub(super) async fn judge_host(self: Rc<Self>, request: HeartbeatRequest, ticket: Ticket) {
        let hold = self.holds.hold(&ticket);
        let (tracker, host, address) = (&request.status.name, &request.status.host, ticket.address());
        let deadline_ms = self.owner.clock().mono_ms() + RESOLVED_MS;
        loop {
            if ticket.has_left() {
                return;
            }
            let is_late = self.owner.clock().mono_ms() >= deadline_ms;
            // A host must not speak for another's tracker either.
            let registered = self.owner.with_engine(|engine| engine.host_of_tracker(tracker));
            let other = registered.filter(|registered| **registered != **host);
            let is_of_other =
                other.is_some_and(|other| self.admission.admits(&other, address) == Admitted::WrongAddress);
            let why = match self.admission.admits(host, address) {
                Admitted::Yes if !is_of_other => {
                    drop(hold);
                    return self.judge_newcomer(request, ticket).await;
                }
                // It comes again, and is not refused before something is known.
                Admitted::Unknown if is_late || hold.is_given_up() => return ticket.hang_up(),
                Admitted::Unknown => {
                    tokio::select! {
                        () = self.admission.changed() => {}
                        () = hold.given_up() => {}
                        () = ticket.connection_changed() => {}
                        () = tokio::time::sleep_until(self.owner.clock().instant(deadline_ms)) => {}
                    }
                    continue;
                }
                Admitted::Yes => "a tracker of that name is registered from another host",
                Admitted::NotListed => "its host is not in mapred.hosts",
                Admitted::WrongAddress => "its host does not have that address",
            };
            // The words of 1.2.1, and why.
            let text = format!(
                "Tasktracker denied communication with jobtracker: {} of host {} at {address}: {why} (jobtracker.trackers.admit = \
                 listed)",
                shown(tracker),
                shown(host)
            );
            if self.admission.may_log() {
                tracing::warn!("{text}");
            }
            let answer = answer_of(Reply::Refused(Refusal::DisallowedTracker(text)));
            return self.owner.answer(ticket, answer, FactNumber::default());
        }
    }

    fn refuse_newcomer(&self, tracker: &str, ticket: Ticket) {
        let text = format!(
            "TaskTracker {} is connected already and served there, so another connection is not; give each TaskTracker a name of \
             its own (slave.host.name, mapred.task.tracker.report.address)",
            shown(tracker)
        );
        let answer = answer_of(Reply::Refused(Refusal::DisallowedTracker(text)));
        self.owner.answer(ticket, answer, FactNumber::default());
    }
}

fn verdict(own: &TrackerConnection, began_ms: u64, now_ms: u64, patience_ms: u64, probe: &Probe) -> Verdict {
    if own.last_seen_mono_ms > began_ms {
        return Verdict::IsAnother;
    }
    if now_ms < began_ms + patience_ms {
        return Verdict::Unknown(began_ms + patience_ms);
    }
    match probe.is_answered(PATIENCE_MS) {
        Some(false) => Verdict::IsTracker,
        // Where the kernel does not tell, a connection whose peer is gone has ended by now.
        Some(true) | None => Verdict::IsAnother,
    }
}

/// A tracker's name, cut and without control characters.
fn shown(tracker: &str) -> String {
    tracker[..tracker.floor_char_boundary(MAX_SHOWN_BYTES)].escape_debug().to_string()
}

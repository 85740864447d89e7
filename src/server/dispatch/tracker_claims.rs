//! Claims of a tracker's name: heartbeats from another connection while the tracker's own connection is open.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use tokio::sync::Notify;

use crate::engine::TrackerConnection;
use crate::ipc::{PendingCall, Probe};

/// Timeout for the peer of an own connection to answer, ms; for a heartbeat of it, its interval is added.
pub(super) const PROBE_TIMEOUT_MS: u64 = 5_000;
/// Maximum bytes of a client's text that a message repeats.
const MAX_SHOWN_BYTES: usize = 64;
/// Claims in progress, by the claimed tracker's own connection.
#[derive(Debug, Default)]
pub(super) struct TrackerClaims {
    claims: RefCell<BTreeMap<u64, Weak<NameClaim>>>,
}

/// A claim of a name whose tracker has its own connection.
#[derive(Debug)]
pub(super) struct NameClaim {
    pub(super) probe: Probe,
    /// A heartbeat arrived on the own connection, or it closed.
    pub(super) changed: Notify,
    is_logged: Cell<bool>,
}

/// What is known about a claimant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimDecision {
    /// Undecided until this time, ms of the monotonic clock.
    Undecided(u64),
    /// The peer of the own connection is gone.
    Tracker,
    /// The tracker is alive on its own connection.
    OtherHost,
}

impl TrackerClaims {
    /// Notifies claimants that a heartbeat arrived on a connection, or that it closed.
    pub(super) fn notify_claimants(&self, connection: u64) {
        if let Some(claim) = self.claims.borrow().get(&connection).and_then(Weak::upgrade) {
            claim.changed.notify_waiters();
        }
    }

    /// The claim on an own connection, which all its claimants share; `None` if the connection has just closed.
    pub(super) fn find_or_start(&self, own: u64, pending: &PendingCall) -> Option<Rc<NameClaim>> {
        let mut all = self.claims.borrow_mut();
        if let Some(claim) = all.get(&own).and_then(Weak::upgrade) {
            return Some(claim);
        }
        let probe = pending.probe(own)?;
        let claim = Rc::new(NameClaim { probe, changed: Notify::new(), is_logged: Cell::new(false) });
        all.retain(|_, claim| claim.strong_count() > 0);
        all.insert(own, Rc::downgrade(&claim));
        Some(claim)
    }
}

impl NameClaim {
    /// Logs one line for all claimants, however often they retry.
    pub(super) fn log(&self, tracker: &str, claimant: &PendingCall, outcome: &str) {
        if !self.is_logged.replace(true) {
            let own = self.probe.client().map_or("a closed connection".to_owned(), |client| client.to_string());
            let (name, claimant) = (shown(tracker), claimant.address());
            tracing::warn!("{claimant} claims to be {name}, which is connected from {own}: {outcome}");
        }
    }
}

pub(super) fn decide(
    own: &TrackerConnection,
    began_ms: u64,
    now_ms: u64,
    timeout_ms: u64,
    probe: &Probe,
) -> ClaimDecision {
    if own.last_seen_mono_ms > began_ms {
        return ClaimDecision::OtherHost;
    }
    if now_ms < began_ms + timeout_ms {
        return ClaimDecision::Undecided(began_ms + timeout_ms);
    }
    match probe.is_answered(PROBE_TIMEOUT_MS) {
        Some(false) => ClaimDecision::Tracker,
        // If the kernel does not report it, keepalive has closed the connection of a dead peer by now.
        Some(true) | None => ClaimDecision::OtherHost,
    }
}

/// A tracker's name, cut and without control characters.
pub(super) fn shown(tracker: &str) -> String {
    tracker[..tracker.floor_char_boundary(MAX_SHOWN_BYTES)].escape_debug().to_string()
}

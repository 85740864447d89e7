//! Connection limits per address: one host's idle clients must not block all others.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::rc::Rc;

use socket2::SockRef;

use crate::log::LogDecision;

use super::connection::{Connection, SharedServer, WaitingFor};
use super::limits::RpcLimits;
use super::origin::origin_of;

/// Minimum share of an address: connections without a heartbeat.
const MIN_SHARE: usize = 8;

impl RpcLimits {
    /// Connections without a heartbeat that one address may have: a quarter of all places.
    pub(super) fn share_of_address(&self) -> usize {
        (self.max_connections / 4).max(MIN_SHARE)
    }
}

/// Closes connections of addresses beyond their share: longest silent first, down to the share; never one that sent a
/// heartbeat, has an unanswered or unread call, or was silent for less than `idle_ms`.
pub(super) fn close_beyond_share(shared: &SharedServer, open: &[Rc<Connection>], idle_ms: u64) {
    let (share, now_ms) = (shared.limits.share_of_address(), shared.clock.mono_ms());
    let mut by_origin: BTreeMap<u128, Vec<&Rc<Connection>>> = BTreeMap::new();
    for connection in open.iter().filter(|connection| !connection.has_sent_heartbeat() && !connection.is_broken()) {
        by_origin.entry(origin_of(connection.address())).or_default().push(connection);
    }
    for connections in by_origin.into_values() {
        let Some(excess) = connections.len().checked_sub(share).filter(|excess| *excess > 0) else { continue };
        let silent = connections.iter().filter_map(|connection| match connection.waits() {
            (WaitingFor::Answer, _) => None,
            (_, since_ms) => (now_ms.saturating_sub(since_ms) >= idle_ms).then_some((since_ms, connection)),
        });
        let mut silent: Vec<_> = silent.collect();
        silent.sort_by_key(|(since_ms, _)| *since_ms);
        let closed = silent.iter().filter(|(_, connection)| !has_unread(connection)).take(excess);
        let count = closed.map(|(_, connection)| connection.abandon()).count();
        let Some(address) = connections.first().filter(|_| count > 0).map(|first| first.address()) else { continue };
        // An attacker can fill the places many times a second.
        if let LogDecision::Write { .. } = shared.log_rate.decide(address, now_ms) {
            tracing::warn!(
                "{address} has {} connections without a heartbeat, its share is {share} (a quarter of \
                 jobtracker.rpc.max-connections): closed {count} that were silent for at least {idle_ms} ms",
                connections.len(),
            );
        }
    }
}

fn has_unread(connection: &Connection) -> bool {
    let mut byte = [MaybeUninit::uninit()];
    SockRef::from(connection.socket()).peek(&mut byte).is_ok_and(|bytes| bytes > 0)
}

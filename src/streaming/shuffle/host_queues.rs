//! The fetches of one reduce that wait, by host: the next one is a lookup, whatever the number of hosts and outputs. Invariant: a host is
//! in `ready` or in `waiting` exactly while it has orders and no fetch from it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use crate::model::{AttemptId, HttpUrl};

/// One output to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchOrder {
    pub(crate) attempt: AttemptId,
    /// `http://host:port`.
    pub(crate) tracker: String,
}

#[derive(Debug, Default)]
pub(crate) struct HostQueues {
    /// By name; hosts without orders stay.
    hosts: BTreeMap<Arc<str>, FetchHost>,
    /// By map: where its orders wait. More than one only after a map has run again.
    places: BTreeMap<i32, Vec<FetchPlace>>,
    ready: BTreeSet<Arc<str>>,
    /// Hosts to fetch from at a later time, ms.
    waiting: BTreeSet<(u64, Arc<str>)>,
    /// The host of the last fetch: the search starts behind it.
    last_host: Option<Arc<str>>,
}

#[derive(Debug, Default)]
struct FetchHost {
    /// The least number is next: new orders get greater numbers than all others, retries smaller ones.
    orders: BTreeMap<i64, FetchOrder>,
    is_busy: bool,
    not_before_ms: u64,
}

/// An order by the number that it has in the queue of its host.
#[derive(Debug)]
struct FetchPlace {
    attempt: AttemptId,
    host: Arc<str>,
    number: i64,
}

impl HostQueues {
    /// Adds an order at the end of its host's queue, unless it is in the queue.
    pub(crate) fn push_back(&mut self, order: FetchOrder) {
        let name = self.intern_host(&order.tracker);
        let places = self.places.get(&order.attempt.task.number);
        let is_queued = places
            .is_some_and(|places| places.iter().any(|place| place.attempt == order.attempt && place.host == name));
        if !is_queued {
            self.insert(&name, order, |orders| orders.last_key_value().map_or(0, |(last, _)| last + 1));
        }
    }

    /// Adds an order at the front of its host's queue, in place of a queued one. Nothing is fetched from the host before `not_before_ms`.
    pub(crate) fn push_front(&mut self, order: FetchOrder, not_before_ms: u64) {
        let name = self.intern_host(&order.tracker);
        self.remove(order.attempt.task.number, |place| place.attempt == order.attempt && place.host == name);
        self.unlist(&name);
        if let Some(host) = self.hosts.get_mut(&name) {
            host.not_before_ms = not_before_ms;
        }
        self.insert(&name, order, |orders| orders.first_key_value().map_or(0, |(first, _)| first - 1));
    }

    pub(crate) fn remove_attempt(&mut self, attempt: AttemptId) {
        self.remove(attempt.task.number, |place| place.attempt == attempt);
    }

    /// Removes the orders of all attempts of a map.
    pub(crate) fn remove_map(&mut self, map: i32) {
        self.remove(map, |_| true);
    }

    /// Takes the next order; its host is busy until [`Self::release`]. `seed` chooses the first host of all.
    pub(crate) fn pop(&mut self, now_ms: u64, seed: u32) -> Option<FetchOrder> {
        while self.next_ready_ms().is_some_and(|time_ms| time_ms <= now_ms) {
            self.ready.extend(self.waiting.pop_first().map(|(_, name)| name));
        }
        let name = match &self.last_host {
            // Spread over the hosts, so that not all reduces begin with the same.
            None => self.ready.iter().nth(seed as usize % self.ready.len().max(1)),
            Some(last) => {
                let behind = (Excluded(last.clone()), Unbounded);
                self.ready.range(behind).next().or_else(|| self.ready.first())
            }
        };
        let name = name?.clone();
        self.ready.remove(&name);
        let host = self.hosts.get_mut(&name)?;
        let (number, order) = host.orders.pop_first()?;
        host.is_busy = true;
        self.forget_place(&order, &name, number);
        self.last_host = Some(name);
        Some(order)
    }

    /// When the next host can be fetched from, ms, if none can be now.
    pub(crate) fn next_ready_ms(&self) -> Option<u64> {
        self.waiting.first().map(|(time_ms, _)| *time_ms)
    }

    /// Records the end of a fetch from the host of this tracker.
    pub(crate) fn release(&mut self, tracker: &str) {
        let name = self.intern_host(tracker);
        if let Some(host) = self.hosts.get_mut(&name) {
            host.is_busy = false;
        }
        self.list(&name);
    }

    fn intern_host(&mut self, tracker: &str) -> Arc<str> {
        let name = host_of(tracker);
        if let Some((known, _)) = self.hosts.get_key_value(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.hosts.insert(name.clone(), FetchHost::default());
        name
    }

    fn insert(&mut self, name: &Arc<str>, order: FetchOrder, number: impl Fn(&BTreeMap<i64, FetchOrder>) -> i64) {
        let Some(host) = self.hosts.get_mut(name) else { return };
        let number = number(&host.orders);
        let place = FetchPlace { attempt: order.attempt, host: name.clone(), number };
        self.places.entry(order.attempt.task.number).or_default().push(place);
        host.orders.insert(number, order);
        self.list(name);
    }

    fn remove(&mut self, map: i32, is_removed: impl Fn(&FetchPlace) -> bool) {
        let (removed, kept): (Vec<FetchPlace>, Vec<FetchPlace>) =
            self.places.remove(&map).unwrap_or_default().into_iter().partition(is_removed);
        if !kept.is_empty() {
            self.places.insert(map, kept);
        }
        for place in removed {
            let Some(host) = self.hosts.get_mut(&place.host) else { continue };
            host.orders.remove(&place.number);
            if host.orders.is_empty() {
                self.unlist(&place.host);
            }
        }
    }

    fn forget_place(&mut self, order: &FetchOrder, name: &Arc<str>, number: i64) {
        let map = order.attempt.task.number;
        if let Some(places) = self.places.get_mut(&map) {
            places.retain(|place| place.number != number || place.host != *name);
            if places.is_empty() {
                self.places.remove(&map);
            }
        }
    }

    /// Makes a host available, if it has orders and no fetch from it runs.
    fn list(&mut self, name: &Arc<str>) {
        let is_open = |host: &&FetchHost| !host.is_busy && !host.orders.is_empty();
        if let Some(host) = self.hosts.get(name).filter(is_open)
            && !self.ready.contains(name)
        {
            self.waiting.insert((host.not_before_ms, name.clone()));
        }
    }

    fn unlist(&mut self, name: &Arc<str>) {
        self.ready.remove(name);
        if let Some(host) = self.hosts.get(name) {
            self.waiting.remove(&(host.not_before_ms, name.clone()));
        }
    }
}

/// The host name of a tracker's URL: one fetch at a time from all trackers of a host.
pub(crate) fn host_of(tracker: &str) -> &str {
    HttpUrl::parse(tracker).map_or(tracker, |url| url.host())
}

#[cfg(test)]
#[path = "../tests/host_queues.rs"]
mod tests;

//! A request table: how many grants are wanted on each host, in each rack and anywhere. The three levels describe the
//! same grants, so a table's size depends on hosts and racks, never on tasks.
//!
//! A table serves jobs and applications. The rows of a job are exact counts and vanish at zero ([`LevelRows::raise`],
//! [`LevelRows::lower`]). The rows of an application are what it sets, and stay at zero as closed gates ([`LevelRows::set`],
//! [`LevelRows::lower_gate`]); a name without a row is an open gate.

use std::borrow::Borrow;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::model::{Violations, lower, raise};

/// The rows of one request, by names or numbers of hosts and racks.
#[derive(Debug)]
pub(super) struct RequestTable<H, R> {
    pub(super) hosts: LevelRows<H>,
    pub(super) racks: LevelRows<R>,
    /// All that is wanted.
    pub(super) anywhere: u32,
}

#[derive(Debug)]
pub(super) struct LevelRows<K> {
    // Sorted wherever it is iterated.
    counts: FxHashMap<K, u32>,
    /// Those of them at zero.
    closed: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// There is no row.
    Open,
    /// The row is zero: no more here.
    Closed,
    /// So many more, at least one.
    Wanted(u32),
}

impl<H, R> Default for RequestTable<H, R> {
    fn default() -> Self {
        Self { hosts: LevelRows::default(), racks: LevelRows::default(), anywhere: 0 }
    }
}

impl<K> Default for LevelRows<K> {
    fn default() -> Self {
        Self { counts: FxHashMap::default(), closed: 0 }
    }
}

impl<K: Hash + Eq> LevelRows<K> {
    /// How many rows there are, closed ones included.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn gate<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Gate
    where
        K: Borrow<Q>,
    {
        match self.counts.get(key) {
            None => Gate::Open,
            Some(0) => Gate::Closed,
            Some(&count) => Gate::Wanted(count),
        }
    }

    /// Adds to an exact count.
    pub(super) fn raise(&mut self, key: K, count: u32, violations: &mut Violations) {
        raise(self.counts.entry(key).or_default(), count, violations);
    }

    /// Subtracts from an exact count, which vanishes at zero.
    pub(super) fn lower(&mut self, key: K, count: u32, violations: &mut Violations) {
        let row = self.counts.get_mut(&key);
        violations.check(row.is_some(), || format!("no row to take {count} waiting tasks from"));
        let Some(row) = row else { return };
        lower(row, count, violations);
        if *row == 0 {
            self.counts.remove(&key);
        }
    }
}

impl<K: Hash + Eq + Ord + Clone> LevelRows<K> {
    pub(super) fn set(&mut self, key: K, count: u32) {
        if self.counts.insert(key, count) == Some(0) {
            self.closed -= 1;
        }
        self.closed += usize::from(count == 0);
    }

    /// Lowers a gate by one; at zero it is closed and stays so.
    pub(super) fn lower_gate<Q: Hash + Eq + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some(count) = self.counts.get_mut(key).filter(|count| **count > 0) {
            *count -= 1;
            self.closed += usize::from(*count == 0);
        }
    }

    pub(super) fn wanted(&self) -> usize {
        self.counts.len() - self.closed
    }

    /// The hosts or racks of rows that want something, in order.
    pub(super) fn wanted_keys(&self) -> Vec<K> {
        self.wanted_where(|_| true).into_iter().cloned().collect()
    }

    pub(super) fn wanted_where(&self, is_so: impl Fn(&K) -> bool) -> Vec<&K> {
        let wanted = self.counts.iter().filter(|(key, count)| **count > 0 && is_so(key));
        let mut keys: Vec<&K> = wanted.map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys
    }

    pub(super) fn sorted(&self) -> Vec<(K, u32)> {
        let mut rows: Vec<(K, u32)> = self.counts.iter().map(|(key, count)| (key.clone(), *count)).collect();
        rows.sort_unstable();
        rows
    }
}

impl Gate {
    pub(super) fn wanted(self) -> u32 {
        match self {
            Gate::Open | Gate::Closed => 0,
            Gate::Wanted(count) => count,
        }
    }
}

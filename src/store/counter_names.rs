//! Counters as short texts: names stand once in `counter_name`, a task's counters are pairs of name and value.
//!
//! A finished task has some 25 counters whose names take 3 kB; so they take 300 bytes, and SQLite can still read them.

use std::fmt::Write;

use rusqlite::{OptionalExtension, Transaction, params};
use rustc_hash::FxHashMap;

use crate::wire::{Counter, CounterGroup, Counters};

/// Names kept in memory; beyond it the cache starts anew. Jobs can make up names without end.
const CACHE_LIMIT: usize = 20_000;

/// The names known to be in the database, with their ids.
#[derive(Debug, Default)]
pub(super) struct CounterNames {
    ids: FxHashMap<Vec<u8>, i64>,
    key: Vec<u8>,
}

// === impl CounterNames ===

impl CounterNames {
    /// The text `[[id,value],…]` of these counters, in their order. Adds the names that are not there yet.
    pub(super) fn text(&mut self, transaction: &Transaction<'_>, counters: &Counters) -> rusqlite::Result<String> {
        let mut text = String::from("[");
        for group in &counters.groups {
            if group.counters.is_empty() {
                let id = self.id(transaction, group, None)?;
                write_pair(&mut text, id, 0);
            }
            for counter in &group.counters {
                let id = self.id(transaction, group, Some(counter))?;
                write_pair(&mut text, id, counter.value);
            }
        }
        text.push(']');
        Ok(text)
    }

    /// Forgets all: a transaction that may have added names has been rolled back.
    pub(super) fn clear(&mut self) {
        self.ids.clear();
    }

    fn id(
        &mut self,
        transaction: &Transaction<'_>,
        group: &CounterGroup,
        counter: Option<&Counter>,
    ) -> rusqlite::Result<i64> {
        let name = counter.map(|counter| &counter.name.0);
        let display_name = counter.and_then(|counter| counter.display_name.as_ref()).map(|text| &text.0);
        self.key.clear();
        // Each with its length before it, so that different names never run into the same key.
        for text in [Some(&group.name.0), Some(&group.display_name.0), name, display_name] {
            self.key.extend_from_slice(&text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            self.key.extend_from_slice(text.map_or(&[], |text| text.as_bytes()));
        }
        if let Some(&id) = self.ids.get(&self.key) {
            return Ok(id);
        }
        let names = params![group.name.0, group.display_name.0, name, display_name];
        let found = transaction
            .prepare_cached(
                "SELECT id FROM counter_name
                 WHERE group_name = ?1 AND group_display = ?2 AND name IS ?3 AND display_name IS ?4",
            )?
            .query_row(names, |row| row.get(0))
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => transaction
                .prepare_cached(
                    "INSERT INTO counter_name (group_name, group_display, name, display_name) VALUES (?1, ?2, ?3, ?4)",
                )?
                .insert(names)?,
        };
        if self.ids.len() >= CACHE_LIMIT {
            self.ids.clear();
        }
        self.ids.insert(self.key.clone(), id);
        Ok(id)
    }
}

fn write_pair(text: &mut String, id: i64, value: i64) {
    let comma = if text.len() > 1 { "," } else { "" };
    let _ = write!(text, "{comma}[{id},{value}]");
}

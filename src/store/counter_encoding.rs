//! Encodes counters as short texts, and decodes them: names are once in `counter_name`, a task's counters are pairs of name id and value.
//!
//! A finished task has some 25 counters whose names take 3 kB; encoded they take 300 bytes that SQLite can still read.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use rustc_hash::FxHashMap;

use crate::mapreduce::{CounterInterner, CounterSchema, CounterValues};
use crate::wire::{Counter, CounterGroup, Counters, Text};

use super::loader::{LoadError, rows, wrong};

/// Schemas kept in memory; beyond it the cache is cleared. Jobs can make up any number of names.
const CACHE_LIMIT: usize = 1_000;

/// Names that the database has, with their ids.
#[derive(Debug, Default)]
pub(super) struct CounterNames {
    /// By the address of the schema, which is unique while the schema is kept here. Never iterated.
    known: FxHashMap<usize, KnownNames>,
}

#[derive(Debug)]
struct KnownNames {
    /// Kept for its address.
    _schema: Arc<CounterSchema>,
    ids: Vec<Id>,
}

/// Id of a counter's name, or of a group without counters.
#[derive(Clone, Copy, Debug)]
enum Id {
    Counter(i64),
    EmptyGroup(i64),
}

impl CounterNames {
    /// Encodes these counters as `[[id,value],…]`, in their order. Adds missing names.
    pub(super) fn text(&mut self, transaction: &Transaction<'_>, counters: &CounterValues) -> rusqlite::Result<String> {
        let address = Arc::as_ptr(counters.schema()).addr();
        if !self.known.contains_key(&address) {
            if self.known.len() >= CACHE_LIMIT {
                self.known.clear();
            }
            let ids = ids(transaction, counters.schema())?;
            self.known.insert(address, KnownNames { _schema: counters.schema().clone(), ids });
        }
        let ids = self.known.get(&address).map_or(&[][..], |known| &known.ids);
        let mut values = counters.values().iter();
        let mut text = String::with_capacity(2 + 16 * ids.len());
        text.push('[');
        for id in ids {
            let (id, value) = match id {
                Id::Counter(id) => (id, values.next().copied().unwrap_or(0)),
                Id::EmptyGroup(id) => (id, 0),
            };
            let comma = if text.len() > 1 { "," } else { "" };
            let _ = write!(text, "{comma}[{id},{value}]");
        }
        text.push(']');
        Ok(text)
    }

    /// Clears the cache: a transaction that may have added names was rolled back.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }
}

fn ids(transaction: &Transaction<'_>, schema: &CounterSchema) -> rusqlite::Result<Vec<Id>> {
    let mut ids = Vec::new();
    for group in &schema.names().groups {
        if group.counters.is_empty() {
            ids.push(Id::EmptyGroup(id(transaction, group, None)?));
        }
        for counter in &group.counters {
            ids.push(Id::Counter(id(transaction, group, Some(counter))?));
        }
    }
    Ok(ids)
}

fn id(transaction: &Transaction<'_>, group: &CounterGroup, counter: Option<&Counter>) -> rusqlite::Result<i64> {
    let name = counter.map(|counter| &counter.name.0);
    let display_name = counter.and_then(|counter| counter.display_name.as_ref()).map(|text| &text.0);
    let names = params![group.name.0, group.display_name.0, name, display_name];
    let found = transaction
        .prepare_cached(
            "SELECT id FROM counter_name
             WHERE group_name = ?1 AND group_display = ?2 AND name IS ?3 AND display_name IS ?4",
        )?
        .query_row(names, |row| row.get(0))
        .optional()?;
    match found {
        Some(id) => Ok(id),
        None => transaction
            .prepare_cached(
                "INSERT INTO counter_name (group_name, group_display, name, display_name) VALUES (?1, ?2, ?3, ?4)",
            )?
            .insert(names),
    }
}

struct NameRow {
    group: String,
    group_display: String,
    /// None for a group without counters.
    counter: Option<Counter>,
}

/// Decodes counters; name lists that many tasks share are built once.
#[derive(Default)]
pub(super) struct StoredCounters {
    names: BTreeMap<i64, NameRow>,
    /// By the ids of a text, counters with these names.
    known: BTreeMap<Vec<i64>, CounterValues>,
    pub(super) interner: CounterInterner,
}

impl StoredCounters {
    pub(super) fn load(database: &Connection) -> Result<Self, LoadError> {
        let sql = "SELECT id, group_name, group_display, name, display_name FROM counter_name";
        let names = rows(database, sql, [], |row| {
            let display_name: Option<String> = row.get(4)?;
            let counter = row.get::<_, Option<String>>(3)?.map(|name| Counter {
                name: Text(name),
                display_name: display_name.map(Text),
                value: 0,
            });
            Ok((row.get(0)?, NameRow { group: row.get(1)?, group_display: row.get(2)?, counter }))
        })?;
        Ok(Self { names: names.into_iter().collect(), ..Self::default() })
    }

    /// Decodes a text `[[id,value],…]` of `column`.
    pub(super) fn of(&mut self, column: &'static str, text: String) -> Result<CounterValues, LoadError> {
        const EXPECTED: &str = "a JSON list of pairs: an id of counter_name and a value";
        let Ok(pairs) = serde_json::from_str::<Vec<(i64, i64)>>(&text) else {
            return Err(wrong(column, text, EXPECTED));
        };
        let is_counter = |id: &i64| self.names.get(id).is_none_or(|name| name.counter.is_some());
        let values: Vec<i64> = pairs.iter().filter(|(id, _)| is_counter(id)).map(|(_, value)| *value).collect();
        let ids: Vec<i64> = pairs.into_iter().map(|(id, _)| id).collect();
        if let Some(known) = self.known.get(&ids) {
            return Ok(known.with_values(values));
        }
        let Some(named) = self.named(&ids) else { return Err(wrong(column, text, EXPECTED)) };
        let counters = self.interner.intern(&(&named).into());
        self.known.insert(ids, counters.clone());
        Ok(counters.with_values(values))
    }

    /// The names of these ids, which are in the order of their groups; none if an id is unknown.
    fn named(&self, ids: &[i64]) -> Option<Counters> {
        let mut groups: Vec<CounterGroup> = Vec::new();
        for id in ids {
            let name = self.names.get(id)?;
            let is_same = |last: &&mut CounterGroup| {
                last.name.0 == name.group && last.display_name.0 == name.group_display && name.counter.is_some()
            };
            match groups.last_mut().filter(is_same) {
                Some(last) => last.counters.extend(name.counter.clone()),
                None => groups.push(CounterGroup {
                    name: Text(name.group.clone()),
                    display_name: Text(name.group_display.clone()),
                    counters: name.counter.iter().cloned().collect(),
                }),
            }
        }
        Some(Counters { groups })
    }
}

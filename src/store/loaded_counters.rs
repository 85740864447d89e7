//! Decodes stored counters: texts of ids and values, with the names of `counter_name`.

use std::collections::BTreeMap;

use rusqlite::Row;

use crate::mapreduce::{CounterInterner, CounterValues};
use crate::wire::{Counter, CounterGroup, Counters, Text};

use super::error::StoreError;
use super::loader::Loader;

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
    pub(super) fn load(loader: &Loader<'_>) -> Result<Self, StoreError> {
        let sql = "SELECT id, group_name, group_display, name, display_name FROM counter_name";
        let read = |row: &Row<'_>| {
            let display_name: Option<String> = row.get(4)?;
            let counter = row.get::<_, Option<String>>(3)?.map(|name| Counter {
                name: Text(name),
                display_name: display_name.map(Text),
                value: 0,
            });
            Ok((row.get(0)?, NameRow { group: row.get(1)?, group_display: row.get(2)?, counter }))
        };
        Ok(Self { names: loader.rows(sql, read)?.into_iter().collect(), ..Self::default() })
    }

    /// Decodes a text `[[id,value],…]` of `column`.
    pub(super) fn of(
        &mut self,
        loader: &Loader<'_>,
        column: &'static str,
        text: String,
    ) -> Result<CounterValues, StoreError> {
        const EXPECTED: &str = "a JSON list of pairs: an id of counter_name and a value";
        let Ok(pairs) = serde_json::from_str::<Vec<(i64, i64)>>(&text) else {
            return Err(loader.wrong(column, text, EXPECTED));
        };
        let is_counter = |id: &i64| self.names.get(id).is_none_or(|name| name.counter.is_some());
        let values: Vec<i64> = pairs.iter().filter(|(id, _)| is_counter(id)).map(|(_, value)| *value).collect();
        let ids: Vec<i64> = pairs.into_iter().map(|(id, _)| id).collect();
        if let Some(known) = self.known.get(&ids) {
            return Ok(known.with_values(values));
        }
        let Some(named) = self.named(&ids) else { return Err(loader.wrong(column, text, EXPECTED)) };
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

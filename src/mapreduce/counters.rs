//! Compact counters: names are stored once for all tasks that count the same things.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};

use crate::wire::{Counter, CounterGroup, Counters, ReportedCounters, Text};

/// Names of counters in the order in which a task sends them; their values are stored separately, in the same order.
#[derive(Debug, Default)]
pub struct CounterSchema {
    encoded: Box<[u8]>,
    /// All values zero.
    names: Counters,
    /// Place of the value of a map's output.
    map_output_bytes: Option<usize>,
    /// Place of the value of what a reduce has copied.
    reduce_shuffle_bytes: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct CounterValues {
    schema: Arc<CounterSchema>,
    // Shared with the fact that persists them.
    values: Arc<[i64]>,
}

/// Creates [`CounterValues`]; owns the names.
#[derive(Debug)]
pub struct CounterInterner {
    // Looked up by the hash of the names; iterated only to drop entries, where order does not matter.
    schemas: FxHashMap<u64, Vec<Arc<CounterSchema>>>,
    bytes: usize,
    /// Size at which unused names are dropped.
    shrink_at_bytes: usize,
    /// Size of the names refused since the last time unused ones were dropped.
    refused_bytes: usize,
}

/// Below this size nothing is dropped; about a hundred times what usual tasks need.
const MIN_SHRINK_BYTES: usize = 1 << 20;

/// Most names stored: counters with further names count as empty, until jobs that use names are gone.
const MAX_NAMES_BYTES: usize = 64 << 20;

/// A running sum over the counters of many attempts.
///
/// Attempts of a job send mostly the same names; where each sends its own, those beyond `MAX_SCHEMAS` are added by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterSum {
    parts: Vec<SchemaSum>,
    by_name: Option<Box<CounterTotal>>,
}

/// The sum over attempts with the same schema.
#[derive(Clone, Debug)]
struct SchemaSum {
    schema: Arc<CounterSchema>,
    sums: Box<[i64]>,
    /// Counters added minus counters subtracted; at zero the names are not shown either.
    added: i64,
}

/// The group of the framework's counters (1.2.1 `Task.Counter`).
const TASK_GROUP: &str = "org.apache.hadoop.mapred.Task$Counter";

/// Most sums that are stored by schema.
const MAX_SCHEMAS: usize = 32;

impl Default for CounterInterner {
    fn default() -> Self {
        Self { schemas: FxHashMap::default(), bytes: 0, shrink_at_bytes: MIN_SHRINK_BYTES, refused_bytes: 0 }
    }
}

impl CounterInterner {
    /// Stores the values of `counters`, and their names when they are new. Names that no attempt uses any more are
    /// dropped whenever the total has doubled.
    pub fn intern(&mut self, counters: &ReportedCounters) -> CounterValues {
        if self.bytes >= self.shrink_at_bytes || self.refused_bytes > MAX_NAMES_BYTES / 8 {
            self.shrink();
            self.shrink_at_bytes = (2 * self.bytes).max(MIN_SHRINK_BYTES);
            self.refused_bytes = 0;
        }
        let mut hasher = FxHasher::default();
        counters.names().hash(&mut hasher);
        let values = counters.values().into();
        let same_hash = self.schemas.entry(hasher.finish()).or_default();
        if let Some(schema) = same_hash.iter().find(|schema| *schema.encoded == *counters.names()) {
            return CounterValues { schema: schema.clone(), values };
        }
        let mut names = counters.to_counters();
        for counter in names.groups.iter_mut().flat_map(|group| &mut group.counters) {
            counter.value = 0;
        }
        let schema = Arc::new(CounterSchema::new(counters.names().into(), names));
        let bytes = schema.bytes();
        if self.bytes + bytes > MAX_NAMES_BYTES {
            self.refused_bytes += bytes;
            return CounterValues { schema: Arc::default(), values: Arc::new([]) };
        }
        same_hash.push(schema.clone());
        self.bytes += bytes;
        CounterValues { schema, values }
    }

    fn shrink(&mut self) {
        let mut bytes = 0;
        self.schemas.retain(|_, schemas| {
            schemas.retain(|schema| Arc::strong_count(schema) > 1);
            bytes += schemas.iter().map(|schema| schema.bytes()).sum::<usize>();
            !schemas.is_empty()
        });
        self.bytes = bytes;
    }
}

impl CounterValues {
    pub fn to_counters(&self) -> Counters {
        let mut counters = self.schema.names.clone();
        let slots = counters.groups.iter_mut().flat_map(|group| &mut group.counters);
        for (counter, value) in slots.zip(&*self.values) {
            counter.value = *value;
        }
        counters
    }

    /// Other values under the same names; there must be as many.
    #[must_use]
    pub(crate) fn with_values(&self, values: impl Into<Arc<[i64]>>) -> Self {
        Self { schema: self.schema.clone(), values: values.into() }
    }

    /// Their names. Attempts that count the same things share them.
    pub fn schema(&self) -> &Arc<CounterSchema> {
        &self.schema
    }

    /// Output of a map before it is combined, if it was counted.
    pub(super) fn map_output_bytes(&self) -> Option<u64> {
        self.count_at(self.schema.map_output_bytes)
    }

    /// What a reduce has copied, if it was counted.
    pub(super) fn reduce_shuffle_bytes(&self) -> Option<u64> {
        self.count_at(self.schema.reduce_shuffle_bytes)
    }

    fn count_at(&self, place: Option<usize>) -> Option<u64> {
        u64::try_from(*self.values.get(place?)?).ok()
    }

    /// Address of the values: equal only for clones of each other.
    pub(super) fn values_at(&self) -> *const [i64] {
        Arc::as_ptr(&self.values)
    }

    pub(crate) fn values(&self) -> &[i64] {
        &self.values
    }
}

impl CounterSum {
    pub(crate) fn add(&mut self, values: &CounterValues) {
        self.apply(values, i64::wrapping_add, 1);
    }

    pub(crate) fn subtract(&mut self, values: &CounterValues) {
        self.apply(values, i64::wrapping_sub, -1);
    }

    fn apply(&mut self, values: &CounterValues, operation: fn(i64, i64) -> i64, added: i64) {
        let known = self.parts.iter().position(|part| Arc::ptr_eq(&part.schema, &values.schema));
        if let Some(part) = known.and_then(|index| self.parts.get_mut(index)) {
            for (sum, value) in part.sums.iter_mut().zip(&*values.values) {
                *sum = operation(*sum, *value);
            }
            part.added += added;
            // Counters added by name may be subtracted here, so the values decide too.
            if part.added == 0 && part.sums.iter().all(|sum| *sum == 0) {
                self.parts.retain(|part| !Arc::ptr_eq(&part.schema, &values.schema));
            }
        } else if self.parts.len() < MAX_SCHEMAS {
            let sums = values.values.iter().map(|value| operation(0, *value));
            self.parts.push(SchemaSum { schema: values.schema.clone(), sums: sums.collect(), added });
        } else {
            let total = self.by_name.get_or_insert_default();
            for ((group, counter), value) in values.schema.named().zip(&*values.values) {
                total.add(group, counter, operation(0, *value));
            }
        }
    }

    pub(crate) fn add_to(&self, total: &mut CounterTotal) {
        for SchemaSum { schema, sums, .. } in &self.parts {
            for ((group, counter), sum) in schema.named().zip(sums) {
                total.add(group, counter, *sum);
            }
        }
        if let Some(by_name) = &self.by_name {
            total.merge(by_name);
        }
    }
}

impl CounterSchema {
    fn new(encoded: Box<[u8]>, names: Counters) -> Self {
        let mut schema = Self { encoded, names, map_output_bytes: None, reduce_shuffle_bytes: None };
        let place = |name: &str| {
            schema.named().position(|(group, counter)| *group.name.0 == *TASK_GROUP && *counter.name.0 == *name)
        };
        (schema.map_output_bytes, schema.reduce_shuffle_bytes) =
            (place("MAP_OUTPUT_BYTES"), place("REDUCE_SHUFFLE_BYTES"));
        schema
    }

    /// Approximate memory: each name is stored encoded and decoded.
    fn bytes(&self) -> usize {
        let counters: usize = self.names.groups.iter().map(|group| 1 + group.counters.len()).sum();
        2 * self.encoded.len() + counters * size_of::<Counter>() + size_of::<Self>()
    }

    pub(crate) fn names(&self) -> &Counters {
        &self.names
    }

    fn named(&self) -> impl Iterator<Item = (&CounterGroup, &Counter)> {
        self.names.groups.iter().flat_map(|group| group.counters.iter().map(move |counter| (group, counter)))
    }
}

/// Counters added up by group and name (1.2.1 `Counters.incrAllCounters`).
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterTotal {
    groups: BTreeMap<String, (Text, BTreeMap<String, Counter>)>,
}

impl CounterTotal {
    /// Adds one value; the first display names are kept.
    pub(crate) fn add(&mut self, group: &CounterGroup, counter: &Counter, value: i64) {
        let (_, counters) =
            self.groups.entry(group.name.0.clone()).or_insert_with(|| (group.display_name.clone(), BTreeMap::new()));
        counters
            .entry(counter.name.0.clone())
            .and_modify(|sum| sum.value = sum.value.wrapping_add(value))
            .or_insert_with(|| Counter { value, ..counter.clone() });
    }

    fn merge(&mut self, other: &CounterTotal) {
        for (name, (display_name, counters)) in &other.groups {
            let (_, own) = self.groups.entry(name.clone()).or_insert_with(|| (display_name.clone(), BTreeMap::new()));
            for (name, counter) in counters {
                own.entry(name.clone())
                    .and_modify(|sum| sum.value = sum.value.wrapping_add(counter.value))
                    .or_insert_with(|| counter.clone());
            }
        }
    }

    /// In the wire type, ordered by name.
    pub(crate) fn into_counters(self) -> Counters {
        let groups = self.groups.into_iter().map(|(name, (display_name, counters))| CounterGroup {
            name: Text(name),
            display_name,
            counters: counters.into_values().collect(),
        });
        Counters { groups: groups.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(values: &[(&str, &str, i64)]) -> Counters {
        let mut counters = Counters::default();
        for (group, name, value) in values {
            let counter = Counter { name: (*name).into(), display_name: None, value: *value };
            match counters.groups.iter_mut().find(|known| known.name.0 == *group) {
                Some(known) => known.counters.push(counter),
                None => counters.groups.push(CounterGroup {
                    name: (*group).into(),
                    display_name: (*group).into(),
                    counters: vec![counter],
                }),
            }
        }
        counters
    }

    fn reported(values: &[(&str, &str, i64)]) -> ReportedCounters {
        ReportedCounters::from(&counters(values))
    }

    #[test]
    fn names_are_stored_once() {
        let mut interner = CounterInterner::default();
        let first = interner.intern(&reported(&[("g", "a", 1), ("g", "b", 2)]));
        let second = interner.intern(&reported(&[("g", "a", 3), ("g", "b", 4)]));
        let other = interner.intern(&reported(&[("g", "b", 4), ("g", "a", 3)]));
        assert!(Arc::ptr_eq(&first.schema, &second.schema));
        assert!(!Arc::ptr_eq(&first.schema, &other.schema));
        assert_eq!(second.to_counters(), counters(&[("g", "a", 3), ("g", "b", 4)]));
    }

    #[test]
    fn sums_go_up_and_down_and_merge_by_name() {
        let mut interner = CounterInterner::default();
        let first = interner.intern(&reported(&[("g", "a", 1), ("h", "b", 2)]));
        let second = interner.intern(&reported(&[("g", "a", 10)]));
        let third = interner.intern(&reported(&[("g", "a", 100)]));
        let mut sum = CounterSum::default();
        sum.add(&first);
        sum.add(&second);
        sum.add(&third);
        sum.subtract(&second);
        let mut total = CounterTotal::default();
        sum.add_to(&mut total);
        assert_eq!(total.into_counters(), counters(&[("g", "a", 101), ("h", "b", 2)]));
    }

    #[test]
    fn names_without_counters_are_dropped() {
        let mut interner = CounterInterner::default();
        let early = interner.intern(&reported(&[("g", "early", 0)]));
        let late = interner.intern(&reported(&[("g", "late", 7)]));
        let mut sum = CounterSum::default();
        sum.add(&early);
        sum.add(&late);
        sum.subtract(&early);
        let mut total = CounterTotal::default();
        sum.add_to(&mut total);
        assert_eq!(total.into_counters(), counters(&[("g", "late", 7)]));
    }

    #[test]
    fn a_sum_of_many_kinds_of_counters_is_the_same_sum() {
        let mut interner = CounterInterner::default();
        let attempts = 5 * MAX_SCHEMAS;
        let mut of = |number: usize| {
            let own = format!("only {number}");
            interner.intern(&reported(&[("g", "shared", 2), ("g", &own, number as i64)]))
        };
        let mut sum = CounterSum::default();
        (0..attempts).for_each(|number| sum.add(&of(number)));
        assert_eq!(sum.parts.len(), MAX_SCHEMAS);
        (0..attempts).step_by(2).for_each(|number| sum.subtract(&of(number)));
        let mut total = CounterTotal::default();
        sum.add_to(&mut total);
        let sums = total.into_counters().groups.remove(0).counters;
        let value = |name: &str| sums.iter().find(|counter| &*counter.name == name).map(|counter| counter.value);
        assert_eq!(value("shared"), Some(attempts as i64));
        assert_eq!((value("only 6"), value("only 151")), (None, Some(151)), "one without attempts is gone");
    }

    #[test]
    fn names_beyond_the_limit_count_as_none_until_there_is_room() {
        let mut interner = CounterInterner::default();
        let long = "n".repeat(1 << 20);
        let counts = |number: usize| reported(&[("g", &format!("{long}{number}"), 1)]);
        let mut kept: Vec<_> = (0..100).map(|number| interner.intern(&counts(number))).collect();
        let named = |values: &CounterValues| !values.to_counters().groups.is_empty();
        let first = kept.iter().filter(|values| named(values)).count();
        assert!((10..40).contains(&first) && interner.bytes <= MAX_NAMES_BYTES, "{first}");
        assert!(named(&interner.intern(&counts(0))), "what is known stays known");
        kept.clear();
        let again = (100..200).filter(|number| named(&interner.intern(&counts(*number)))).count();
        assert!(again > 80, "{again}");
    }

    #[test]
    fn unused_names_are_dropped() {
        let mut interner = CounterInterner::default();
        let kept = interner.intern(&reported(&[("g", "a", 1)]));
        let long = "n".repeat(MIN_SHRINK_BYTES / 10);
        for number in 0..100 {
            drop(interner.intern(&reported(&[("g", &format!("{long}{number}"), 1)])));
        }
        let left: usize = interner.schemas.values().flatten().map(|schema| schema.bytes()).sum();
        assert!(left == interner.bytes && left < 2 * MIN_SHRINK_BYTES, "{left} bytes");
        assert!(Arc::ptr_eq(&kept.schema, &interner.intern(&reported(&[("g", "a", 1)])).schema));
    }
}

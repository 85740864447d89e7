//! Counters on the wire: groups of named 64-bit sums; as a task reports them with names apart from values, so that the names of many
//! tasks can be stored once.

use super::fields::fields;
use super::limits::COUNTER_NAMES_BYTES;
use super::{Decode, Encode, Reader, Text, WireError, Writer};

/// All counters of a task or job.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// In order of arrival; Hadoop prescribes none.
    pub groups: Vec<CounterGroup>,
}

/// A group, for example `org.apache.hadoop.mapred.Task$Counter`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CounterGroup {
    /// Class name of the enum, or free text.
    pub name: Text,
    /// Display name, from the sender.
    pub display_name: Text,
    /// The counters of the group.
    pub counters: Vec<Counter>,
}

/// One counter.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counter {
    /// Its name within the group.
    pub name: Text,
    /// Display name, when it differs from the name.
    pub display_name: Option<Text>,
    /// The sum.
    pub value: i64,
}

fields! {
    Counters, 4;
    groups: &list "number of counter groups",
}

impl Decode for CounterGroup {
    const MIN_BYTES: usize = 3;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let name = reader.text("name of a counter group")?;
        let display_name = reader.text("display name of a counter group")?;
        Ok(Self { name, display_name, counters: reader.vint_list("number of counters")? })
    }
}

impl CounterGroup {
    /// Writes the fields before its counters.
    fn encode_head(&self, writer: &mut Writer<'_>) {
        writer.text(&self.name);
        writer.text(&self.display_name);
        writer.vint_count(self.counters.len());
    }
}

impl Encode for CounterGroup {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.encode_head(writer);
        writer.elements(&self.counters);
    }
}

impl Decode for Counter {
    const MIN_BYTES: usize = 3;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let name = reader.text("name of a counter")?;
        let distinct = reader.bool("display name flag of a counter")?;
        let display_name = if distinct { Some(reader.text("display name of a counter")?) } else { None };
        Ok(Self { name, display_name, value: reader.vlong("value of a counter")? })
    }
}

impl Counter {
    /// Writes the fields before its value.
    fn encode_names(&self, writer: &mut Writer<'_>) {
        writer.text(&self.name);
        writer.bool(self.display_name.is_some());
        if let Some(display_name) = &self.display_name {
            writer.text(display_name);
        }
    }
}

impl Encode for Counter {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.encode_names(writer);
        writer.vlong(self.value);
    }
}

/// The counters of one report. A finished map has some 25, whose 50 names hardly ever differ from the last map's: they
/// stay encoded, are compared as a whole, and are decoded only when they are new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedCounters {
    /// The encoding without the values. Invariant: well formed, with as many counters as there are values.
    names: Vec<u8>,
    values: Vec<i64>,
}

/// Memory reserved for names at first, bytes.
const NAMES_ROOM_BYTES: usize = 1024;

impl ReportedCounters {
    /// The names, encoded: equal for tasks that count the same things in the same order.
    pub(crate) fn names(&self) -> &[u8] {
        &self.names
    }

    /// The values, in the order of the names.
    pub(crate) fn values(&self) -> &[i64] {
        &self.values
    }

    /// Names and values together.
    pub(crate) fn to_counters(&self) -> Counters {
        let mut encoded = Vec::with_capacity(self.names.len() + 4 * self.values.len());
        self.encode(&mut Writer::new(&mut encoded));
        Counters::decode(&mut Reader::new(&encoded)).unwrap_or_default()
    }
}

impl Default for ReportedCounters {
    fn default() -> Self {
        Self::from(&Counters::default())
    }
}

impl From<&Counters> for ReportedCounters {
    fn from(counters: &Counters) -> Self {
        let mut names = Vec::new();
        let mut writer = Writer::new(&mut names);
        writer.count(counters.groups.len());
        for group in &counters.groups {
            group.encode_head(&mut writer);
            group.counters.iter().for_each(|counter| counter.encode_names(&mut writer));
        }
        let values = counters.groups.iter().flat_map(|group| &group.counters).map(|counter| counter.value).collect();
        Self { names, values }
    }
}

/// Visits encoded names and calls `value` at the position of each value.
fn visit_values<'a>(
    reader: &mut Reader<'a>,
    mut value: impl FnMut(&mut Reader<'a>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let groups = reader.i32("number of counter groups")?;
    for _ in 0..reader.count(groups, CounterGroup::MIN_BYTES, "number of counter groups")? {
        reader.vint_bytes("name of a counter group")?;
        reader.vint_bytes("display name of a counter group")?;
        let counters = reader.vint("number of counters")?;
        // Names alone take a byte less than a counter.
        for _ in 0..reader.count(counters, Counter::MIN_BYTES - 1, "number of counters")? {
            reader.vint_bytes("name of a counter")?;
            if reader.bool("display name flag of a counter")? {
                reader.vint_bytes("display name of a counter")?;
            }
            value(reader)?;
        }
    }
    Ok(())
}

impl ReportedCounters {
    /// Reads the counters of a report; `None` when their names exceed [`COUNTER_NAMES_BYTES`].
    pub(crate) fn decode_within_limit(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let start = reader.clone();
        // The frame hardly ever has more bytes left than the limit, so this costs nothing.
        if reader.left() > COUNTER_NAMES_BYTES {
            visit_values(reader, |reader| reader.vlong("value of a counter").map(drop))?;
            if start.bytes_until(reader).len() > COUNTER_NAMES_BYTES {
                return Ok(None);
            }
            *reader = start;
        }
        Self::decode(reader).map(Some)
    }
}

impl Decode for ReportedCounters {
    const MIN_BYTES: usize = Counters::MIN_BYTES;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let room = if reader.clone().i32("number of counter groups")? == 0 { 4 } else { NAMES_ROOM_BYTES };
        let mut names = Vec::with_capacity(room.min(reader.left()));
        let mut values = Vec::new();
        let mut begin = reader.clone();
        visit_values(reader, |reader| {
            names.extend_from_slice(begin.bytes_until(reader));
            values.push(reader.vlong("value of a counter")?);
            begin = reader.clone();
            Ok(())
        })?;
        names.extend_from_slice(begin.bytes_until(reader));
        Ok(Self { names, values })
    }
}

impl Encode for ReportedCounters {
    fn encode(&self, writer: &mut Writer<'_>) {
        let mut reader = Reader::new(&self.names);
        let mut begin = reader.clone();
        let mut values = self.values.iter();
        // Cannot fail: the names are well formed.
        let _ = visit_values(&mut reader, |reader| {
            writer.bytes(begin.bytes_until(reader));
            begin = reader.clone();
            writer.vlong(values.next().copied().unwrap_or(0));
            Ok(())
        });
        writer.bytes(begin.bytes_until(&reader));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::wire::Text;

    use super::*;

    fn counters() -> impl Strategy<Value = Counters> {
        let counter =
            (".{0,4}", proptest::option::of(".{0,4}"), any::<i64>()).prop_map(|(name, display_name, value)| Counter {
                name: Text(name),
                display_name: display_name.map(Text),
                value,
            });
        let group = (".{0,4}", ".{0,4}", proptest::collection::vec(counter, 0..4)).prop_map(
            |(name, display_name, counters)| CounterGroup {
                name: Text(name),
                display_name: Text(display_name),
                counters,
            },
        );
        proptest::collection::vec(group, 0..4).prop_map(|groups| Counters { groups })
    }

    #[test]
    fn counters_beyond_the_limit_of_names_are_ignored() {
        for (name_bytes, is_kept) in [(COUNTER_NAMES_BYTES - 100, true), (COUNTER_NAMES_BYTES + 1, false)] {
            let counter = Counter { name: Text("n".repeat(name_bytes)), display_name: None, value: 7 };
            let group = CounterGroup { name: "g".into(), display_name: "G".into(), counters: vec![counter] };
            let mut sent = Vec::new();
            Counters { groups: vec![group] }.encode(&mut Writer::new(&mut sent));
            sent.extend([9; 200]);
            let mut reader = Reader::new(&sent);
            let kept = ReportedCounters::decode_within_limit(&mut reader).unwrap();
            assert_eq!((kept.is_some(), reader.left()), (is_kept, 200), "{name_bytes}");
        }
    }

    proptest! {
        #[test]
        fn they_are_encoded_as_plain_counters(counters in counters()) {
            let encoded = |value: &dyn Fn(&mut Writer<'_>)| {
                let mut bytes = Vec::new();
                value(&mut Writer::new(&mut bytes));
                bytes
            };
            let plain = encoded(&|writer| counters.encode(writer));
            let reported = ReportedCounters::from(&counters);
            prop_assert_eq!(&encoded(&|writer| reported.encode(writer)), &plain);
            prop_assert_eq!(&ReportedCounters::decode(&mut Reader::new(&plain)).unwrap(), &reported);
            prop_assert_eq!(reported.to_counters(), counters);
        }

        #[test]
        fn what_is_cut_off_is_refused(counters in counters(), cut in 1_usize..50) {
            let mut plain = Vec::new();
            counters.encode(&mut Writer::new(&mut plain));
            plain.truncate(plain.len().saturating_sub(cut));
            prop_assert!(ReportedCounters::decode(&mut Reader::new(&plain)).is_err());
        }
    }
}

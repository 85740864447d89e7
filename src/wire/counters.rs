//! Counters on the wire: groups of named 64-bit sums.

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

impl Decode for Counters {
    const MIN_BYTES: usize = 4;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let groups = reader.i32("number of counter groups")?;
        Ok(Self { groups: reader.list(groups, "number of counter groups")? })
    }
}

impl Encode for Counters {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.count(self.groups.len());
        writer.list(&self.groups);
    }
}

impl Decode for CounterGroup {
    const MIN_BYTES: usize = 3;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let name = reader.text("name of a counter group")?;
        let display_name = reader.text("display name of a counter group")?;
        let counters = reader.vint("number of counters")?;
        Ok(Self { name, display_name, counters: reader.list(counters, "number of counters")? })
    }
}

impl CounterGroup {
    /// Writes the fields before its counters.
    pub(super) fn encode_head(&self, writer: &mut Writer<'_>) {
        writer.text(&self.name);
        writer.text(&self.display_name);
        writer.vint_count(self.counters.len());
    }
}

impl Encode for CounterGroup {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.encode_head(writer);
        writer.list(&self.counters);
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
    pub(super) fn encode_names(&self, writer: &mut Writer<'_>) {
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

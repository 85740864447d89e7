//! Counters as they travel: groups of named 64-bit sums.

use super::Text;

/// All counters of a task or job.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// In the order in which they came; Hadoop prescribes none.
    pub groups: Vec<CounterGroup>,
}

/// A group, for example `org.apache.hadoop.mapred.Task$Counter`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CounterGroup {
    /// Class name of the enum, or free text.
    pub name: Text,
    /// What people are shown, sent by whoever made the group.
    pub display_name: Text,
    /// The counters of the group.
    pub counters: Vec<Counter>,
}

/// One counter.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counter {
    /// Its name within the group.
    pub name: Text,
    /// What people are shown, when it differs from the name.
    pub display_name: Option<Text>,
    /// The sum.
    pub value: i64,
}

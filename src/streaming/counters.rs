//! Counters of a running attempt, under Hadoop's names.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::fs::FileUri;
use crate::wire;
use crate::wire::{CounterGroup, Text};

/// Counters of one attempt at most (1.2.1 `Counters`, `mapreduce.job.counters.limit`).
const MOST_COUNTERS: usize = 120;
const MOST_GROUPS: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameworkCounter {
    MapInputRecords,
    MapInputBytes,
    MapOutputRecords,
    MapOutputBytes,
    MapOutputMaterializedBytes,
    SplitRawBytes,
    CombineInputRecords,
    CombineOutputRecords,
    ReduceShuffleBytes,
    ReduceInputGroups,
    ReduceInputRecords,
    ReduceOutputRecords,
    SpilledRecords,
    CpuMilliseconds,
    PhysicalMemoryBytes,
    VirtualMemoryBytes,
    BytesRead,
    BytesWritten,
    FileBytesRead,
    FileBytesWritten,
    HdfsBytesRead,
    HdfsBytesWritten,
}

impl FrameworkCounter {
    /// The bytes read from the file system of this file (1.2.1 `Task.getFileSystemCounterNames`).
    pub(crate) fn bytes_read_from(file: &FileUri) -> Self {
        if file.namenode().is_some() { Self::HdfsBytesRead } else { Self::FileBytesRead }
    }

    /// The bytes written to the file system of this file.
    pub(crate) fn bytes_written_to(file: &FileUri) -> Self {
        if file.namenode().is_some() { Self::HdfsBytesWritten } else { Self::FileBytesWritten }
    }
}

const TASK: &str = "org.apache.hadoop.mapred.Task$Counter";
const INPUT: &str = "org.apache.hadoop.mapred.FileInputFormat$Counter";
const OUTPUT: &str = "org.apache.hadoop.mapred.FileOutputFormat$Counter";
const FILES: &str = "FileSystemCounters";

/// Groups with their display names.
const GROUPS: [(&str, &str); 4] = [
    (TASK, "Map-Reduce Framework"),
    (INPUT, "File Input Format Counters "),
    (OUTPUT, "File Output Format Counters "),
    (FILES, FILES),
];

/// Counter, group, name, display name (empty: the name).
const TABLE: [(FrameworkCounter, &str, &str, &str); 22] = [
    (FrameworkCounter::MapInputRecords, TASK, "MAP_INPUT_RECORDS", "Map input records"),
    (FrameworkCounter::MapInputBytes, TASK, "MAP_INPUT_BYTES", "Map input bytes"),
    (FrameworkCounter::MapOutputRecords, TASK, "MAP_OUTPUT_RECORDS", "Map output records"),
    (FrameworkCounter::MapOutputBytes, TASK, "MAP_OUTPUT_BYTES", "Map output bytes"),
    (
        FrameworkCounter::MapOutputMaterializedBytes,
        TASK,
        "MAP_OUTPUT_MATERIALIZED_BYTES",
        "Map output materialized bytes",
    ),
    (FrameworkCounter::SplitRawBytes, TASK, "SPLIT_RAW_BYTES", ""),
    (FrameworkCounter::CombineInputRecords, TASK, "COMBINE_INPUT_RECORDS", "Combine input records"),
    (FrameworkCounter::CombineOutputRecords, TASK, "COMBINE_OUTPUT_RECORDS", "Combine output records"),
    (FrameworkCounter::ReduceShuffleBytes, TASK, "REDUCE_SHUFFLE_BYTES", "Reduce shuffle bytes"),
    (FrameworkCounter::ReduceInputGroups, TASK, "REDUCE_INPUT_GROUPS", "Reduce input groups"),
    (FrameworkCounter::ReduceInputRecords, TASK, "REDUCE_INPUT_RECORDS", "Reduce input records"),
    (FrameworkCounter::ReduceOutputRecords, TASK, "REDUCE_OUTPUT_RECORDS", "Reduce output records"),
    (FrameworkCounter::SpilledRecords, TASK, "SPILLED_RECORDS", "Spilled Records"),
    (FrameworkCounter::CpuMilliseconds, TASK, "CPU_MILLISECONDS", "CPU time spent (ms)"),
    (FrameworkCounter::PhysicalMemoryBytes, TASK, "PHYSICAL_MEMORY_BYTES", "Physical memory (bytes) snapshot"),
    (FrameworkCounter::VirtualMemoryBytes, TASK, "VIRTUAL_MEMORY_BYTES", "Virtual memory (bytes) snapshot"),
    (FrameworkCounter::BytesRead, INPUT, "BYTES_READ", "Bytes Read"),
    (FrameworkCounter::BytesWritten, OUTPUT, "BYTES_WRITTEN", "Bytes Written"),
    (FrameworkCounter::FileBytesRead, FILES, "FILE_BYTES_READ", ""),
    (FrameworkCounter::FileBytesWritten, FILES, "FILE_BYTES_WRITTEN", ""),
    (FrameworkCounter::HdfsBytesRead, FILES, "HDFS_BYTES_READ", ""),
    (FrameworkCounter::HdfsBytesWritten, FILES, "HDFS_BYTES_WRITTEN", ""),
];

/// All values of an attempt's counters, on their way from its process to the worker's.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct StreamingCounterValues {
    /// In the order of [`FrameworkCounter`].
    framework: Vec<i64>,
    /// Group, name and value of each.
    of_command: Vec<(String, String, i64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Error: Exceeded counter limits - {what}={found} Limit: {most}")]
pub struct TooManyCounters {
    what: &'static str,
    found: usize,
    most: usize,
}

/// The counters of one attempt; any thread may add.
#[derive(Debug)]
pub(crate) struct TaskCounters {
    /// In the order of [`TABLE`]; negative: not used by this kind of task.
    framework: [AtomicI64; TABLE.len()],
    of_command: Mutex<BTreeMap<(String, String), i64>>,
}

/// Not reported.
const UNUSED: i64 = i64::MIN;

impl Default for TaskCounters {
    fn default() -> Self {
        Self { framework: [const { AtomicI64::new(UNUSED) }; TABLE.len()], of_command: Mutex::default() }
    }
}

impl TaskCounters {
    /// Adds to a counter of the framework; 0 makes it known.
    pub(crate) fn add(&self, counter: FrameworkCounter, count: u64) {
        let slot = &self.framework[counter as usize];
        // The first addition replaces the mark.
        let _ = slot.compare_exchange(UNUSED, 0, Ordering::Relaxed, Ordering::Relaxed);
        slot.fetch_add(i64::try_from(count).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Sets a counter of the framework that is a snapshot, not a sum.
    pub(crate) fn set(&self, counter: FrameworkCounter, value: u64) {
        self.framework[counter as usize].store(i64::try_from(value).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// A counter of the framework; 0 when nothing was added.
    pub(crate) fn get(&self, counter: FrameworkCounter) -> i64 {
        self.framework[counter as usize].load(Ordering::Relaxed).max(0)
    }

    /// Adds to a counter that the command names. Errors: [`TooManyCounters`] when it would be one too many.
    pub(crate) fn add_of_command(&self, group: &str, name: &str, count: i64) -> Result<(), TooManyCounters> {
        let mut counters = self.of_command.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (group.to_owned(), name.to_owned());
        if let Some(sum) = counters.get_mut(&key) {
            *sum = sum.wrapping_add(count);
            return Ok(());
        }
        if counters.len() + TABLE.len() >= MOST_COUNTERS {
            return Err(TooManyCounters { what: "Counters", found: MOST_COUNTERS + 1, most: MOST_COUNTERS });
        }
        let mut groups: Vec<&str> = counters.keys().map(|(group, _)| group.as_str()).collect();
        groups.dedup();
        if !groups.contains(&group) && groups.len() + GROUPS.len() >= MOST_GROUPS {
            return Err(TooManyCounters { what: "Groups", found: MOST_GROUPS + 1, most: MOST_GROUPS });
        }
        counters.insert(key, count);
        Ok(())
    }

    /// All of them, for [`Self::set_values`] of another process.
    pub(crate) fn values(&self) -> StreamingCounterValues {
        let of_command = self.of_command.lock().unwrap_or_else(PoisonError::into_inner);
        let of_command = of_command.iter().map(|((group, name), value)| (group.clone(), name.clone(), *value));
        StreamingCounterValues {
            framework: self.framework.iter().map(|value| value.load(Ordering::Relaxed)).collect(),
            of_command: of_command.collect(),
        }
    }

    /// Replaces all of them; of the command's no more than an attempt may have.
    pub(crate) fn set_values(&self, values: StreamingCounterValues) {
        for (counter, value) in self.framework.iter().zip(values.framework) {
            counter.store(value, Ordering::Relaxed);
        }
        let of_command = values.of_command.into_iter().take(MOST_COUNTERS);
        *self.of_command.lock().unwrap_or_else(PoisonError::into_inner) =
            of_command.map(|(group, name, value)| ((group, name), value)).collect();
    }

    pub(crate) fn snapshot(&self) -> wire::Counters {
        let mut groups: Vec<CounterGroup> = Vec::new();
        for (name, shown) in GROUPS {
            let of_group = TABLE.iter().filter(|(_, group, ..)| *group == name);
            let counters = of_group.filter_map(|(counter, _, name, shown)| {
                let value = self.framework[*counter as usize].load(Ordering::Relaxed);
                let display_name = (!shown.is_empty()).then(|| Text::from(*shown));
                (value != UNUSED).then(|| wire::Counter { name: (*name).into(), display_name, value })
            });
            let counters: Vec<wire::Counter> = counters.collect();
            if !counters.is_empty() {
                groups.push(CounterGroup { name: name.into(), display_name: shown.into(), counters });
            }
        }
        let of_command = self.of_command.lock().unwrap_or_else(PoisonError::into_inner);
        for ((group, name), value) in of_command.iter() {
            let counter = wire::Counter { name: name.as_str().into(), display_name: None, value: *value };
            match groups.iter_mut().find(|known| *known.name == **group) {
                Some(known) => match known.counters.iter_mut().find(|known| *known.name == **name) {
                    Some(known) => known.value = known.value.wrapping_add(*value),
                    None => known.counters.push(counter),
                },
                None => {
                    let name = Text::from(group.as_str());
                    groups.push(CounterGroup { display_name: name.clone(), name, counters: vec![counter] });
                }
            }
        }
        wire::Counters { groups }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_counters() {
        for (at, (counter, ..)) in TABLE.iter().enumerate() {
            assert_eq!(*counter as usize, at);
        }
    }

    #[test]
    fn counters_are_reported_under_hadoops_names() {
        let counters = TaskCounters::default();
        counters.add(FrameworkCounter::SpilledRecords, 0);
        counters.add(FrameworkCounter::MapInputRecords, 2);
        counters.add(FrameworkCounter::MapInputRecords, 1);
        counters.add_of_command("My Group", "lines", -2).unwrap();
        counters.add_of_command("My Group", "lines", 1).unwrap();
        counters.add_of_command(TASK, "MAP_INPUT_RECORDS", 10).unwrap();
        let names: Vec<String> = counters
            .snapshot()
            .groups
            .iter()
            .flat_map(|group| group.counters.iter().map(move |counter| (group, counter)))
            .map(|(group, counter)| format!("{} {} {}", &*group.display_name, &*counter.name, counter.value))
            .collect();
        assert_eq!(
            names,
            [
                "Map-Reduce Framework MAP_INPUT_RECORDS 13",
                "Map-Reduce Framework SPILLED_RECORDS 0",
                "My Group lines -1"
            ]
        );
        assert_eq!(counters.get(FrameworkCounter::BytesRead), 0);
    }

    #[test]
    fn too_many_are_refused() {
        let counters = TaskCounters::default();
        let added = (0..200).take_while(|n| counters.add_of_command("g", &n.to_string(), 1).is_ok()).count();
        assert_eq!(added, MOST_COUNTERS - TABLE.len());
        let error = counters.add_of_command("g", "x", 1).unwrap_err();
        assert_eq!(error.to_string(), "Error: Exceeded counter limits - Counters=121 Limit: 120");
        let counters = TaskCounters::default();
        let added = (0..200).take_while(|n| counters.add_of_command(&n.to_string(), "x", 1).is_ok()).count();
        assert_eq!(added, MOST_GROUPS - GROUPS.len());
    }
}

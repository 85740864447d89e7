//! The output of a map: sorted by partition and key within a limit of memory, spilled, merged, and left as `file.out` with
//! `file.out.index` (1.2.1 `MapTask.MapOutputBuffer`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::codec::Codec;
use super::command_stream::{Combiner, unreadable};
use super::counters::FrameworkCounter;
use super::failure::TaskFailure;
use super::key_order::Partitioner;
use super::merge::{Merge, MergeRules, SortedRun, copy_records};
use super::plan::SortPlan;
use super::private_files::{create_file, write_file};
use super::progress::Progress;
use super::segment_reader::Records;
use super::segment_writer::{SegmentWriter, text_bytes};
use super::sort_buffer::SortBuffer;
use super::spill_index::{IndexEntry, write_index};

/// The file that reduces fetch from.
pub(crate) const OUTPUT_FILE: &str = "file.out";
/// The position of each reduce's part in it.
pub(crate) const INDEX_FILE: &str = "file.out.index";

/// Records between two updates of the counters.
const RECORDS_BETWEEN_COUNTER_UPDATES: u64 = 1 << 12;

#[derive(Clone, Copy)]
pub struct OutputRules<'a> {
    /// The job's way from maps to reduces.
    pub sort: &'a SortPlan,
    pub combiner: Option<Combiner<'a>>,
    /// A folder of the attempt's own, which exists.
    pub folder: &'a Path,
}

/// Takes the records of one map.
pub struct MapOutput<'a> {
    rules: OutputRules<'a>,
    progress: &'a Progress,
    buffer: SortBuffer,
    spills: Vec<Spill>,
    /// Not yet in the counters.
    records: u64,
    bytes: u64,
}

/// One sorted run of all partitions.
#[derive(Debug)]
struct Spill {
    path: PathBuf,
    entries: Vec<IndexEntry>,
}

/// Writes one file of segments.
struct SpillWriter<'a> {
    path: PathBuf,
    file: Option<File>,
    codec: Option<Codec>,
    entries: Vec<IndexEntry>,
    end_bytes: u64,
    progress: &'a Progress,
}

impl<'a> SpillWriter<'a> {
    fn create(path: PathBuf, codec: Option<Codec>, progress: &'a Progress) -> Result<Self, TaskFailure> {
        let file = create_file(&path).map_err(TaskFailure::file("write", &path))?;
        Ok(Self { path, file: Some(file), codec, entries: Vec::new(), end_bytes: 0, progress })
    }

    fn segment(
        &mut self,
        write: impl FnOnce(&mut SegmentWriter<File>) -> Result<(), TaskFailure>,
    ) -> Result<(), TaskFailure> {
        let closed = || TaskFailure::Unusable { what: self.path.display().to_string(), reason: "is closed".to_owned() };
        let file = self.file.take().ok_or_else(closed)?;
        let mut writer = SegmentWriter::new(file, self.codec);
        write(&mut writer)?;
        self.progress.counters().add(FrameworkCounter::SpilledRecords, writer.records());
        self.progress.record_activity();
        self.progress.check()?;
        let (file, lengths) = writer.finish().map_err(TaskFailure::file("write", &self.path))?;
        self.progress.counters().add(FrameworkCounter::FileBytesWritten, lengths.stored_bytes);
        self.file = Some(file);
        self.entries.push(IndexEntry { start_bytes: self.end_bytes, lengths });
        self.end_bytes += lengths.stored_bytes;
        Ok(())
    }

    fn finish(self) -> Spill {
        Spill { path: self.path, entries: self.entries }
    }
}

impl<'a> MapOutput<'a> {
    pub fn new(rules: OutputRules<'a>, progress: &'a Progress) -> Self {
        let counters = progress.counters();
        let used = [
            FrameworkCounter::MapOutputRecords,
            FrameworkCounter::MapOutputBytes,
            FrameworkCounter::MapOutputMaterializedBytes,
            FrameworkCounter::CombineInputRecords,
            FrameworkCounter::CombineOutputRecords,
            FrameworkCounter::SpilledRecords,
        ];
        used.into_iter().for_each(|counter| counters.add(counter, 0));
        let buffer = SortBuffer::new(rules.sort.reduces, rules.sort.spill_at_bytes);
        Self { rules, progress, buffer, spills: Vec::new(), records: 0, bytes: 0 }
    }

    /// Adds one record.
    #[inline]
    pub fn collect(&mut self, key: &[u8], value: &[u8]) -> Result<(), TaskFailure> {
        let SortPlan { reduces, partitioner, spill_at_bytes, .. } = self.rules.sort;
        let partition = match partitioner {
            _ if *reduces == 1 => 0,
            Partitioner::Hash => Partitioner::Hash.partition(key, *reduces),
            fields @ Partitioner::Fields(_) => fields.partition(key, *reduces),
        };
        if !self.buffer.push(partition, key, value) {
            self.spill()?;
            if !self.buffer.push(partition, key, value) {
                let what = "a record of the mapper's output".to_owned();
                return Err(TaskFailure::Unusable { what, reason: "is longer than 4 GB".to_owned() });
            }
        }
        self.records += 1;
        self.bytes += (text_bytes(key) + text_bytes(value)) as u64;
        if self.records >= RECORDS_BETWEEN_COUNTER_UPDATES {
            self.count();
        }
        if self.buffer.used_bytes() >= *spill_at_bytes {
            self.spill()?;
        }
        Ok(())
    }

    fn count(&mut self) {
        let counters = self.progress.counters();
        counters.add(FrameworkCounter::MapOutputRecords, std::mem::take(&mut self.records));
        counters.add(FrameworkCounter::MapOutputBytes, std::mem::take(&mut self.bytes));
        self.progress.record_activity();
    }

    /// Sorts what is in memory and writes it to disk.
    fn spill(&mut self) -> Result<(), TaskFailure> {
        let path = self.rules.folder.join(format!("spill{}.out", self.spills.len()));
        let spill = self.write_buffer(path)?;
        self.spills.push(spill);
        Ok(())
    }

    fn write_buffer(&mut self, path: PathBuf) -> Result<Spill, TaskFailure> {
        let SortPlan { reduces, order, codec, .. } = self.rules.sort;
        self.buffer.sort(order);
        let mut writer = SpillWriter::create(path, *codec, self.progress)?;
        for partition in 0..*reduces {
            let mut sorted = self.buffer.partition(partition);
            let combiner = self.rules.combiner.filter(|_| sorted.count() > 0);
            writer.segment(|segment| match combiner {
                Some(combiner) => combine(&combiner, &mut sorted, segment, self.progress),
                None => copy_records(&mut sorted, segment, self.progress).map_err(TaskFailure::SortedRecords),
            })?;
        }
        self.buffer.clear();
        Ok(writer.finish())
    }

    /// Writes `file.out` and `file.out.index`; returns the length of the former.
    pub fn finish(mut self) -> Result<u64, TaskFailure> {
        self.count();
        let path = self.rules.folder.join(OUTPUT_FILE);
        let output = if self.spills.is_empty() {
            // One sorted run needs no merge.
            self.write_buffer(path)?
        } else {
            if !self.buffer.is_empty() {
                self.spill()?;
            }
            drop(std::mem::replace(&mut self.buffer, SortBuffer::new(0, 0)));
            self.merge_spills(path)?
        };
        let index = self.rules.folder.join(INDEX_FILE);
        let entries = write_index(&output.entries);
        let written = write_file(&index, &entries);
        written.map_err(TaskFailure::file("write", &index))?;
        self.progress.counters().add(FrameworkCounter::FileBytesWritten, entries.len() as u64);
        let bytes = output.entries.iter().map(|entry| entry.lengths.stored_bytes).sum();
        self.progress.counters().add(FrameworkCounter::MapOutputMaterializedBytes, bytes);
        Ok(bytes)
    }

    fn merge_spills(&self, path: PathBuf) -> Result<Spill, TaskFailure> {
        let SortPlan { reduces, order, codec, factor, least_spills_to_combine, .. } = self.rules.sort;
        if let [only] = &self.spills[..] {
            fs::rename(&only.path, &path).map_err(TaskFailure::file("rename", &only.path))?;
            return Ok(Spill { path, entries: only.entries.clone() });
        }
        let mut writer = SpillWriter::create(path, *codec, self.progress)?;
        let combiner = self.rules.combiner.filter(|_| self.spills.len() >= *least_spills_to_combine);
        for partition in 0..*reduces {
            let name = format!("intermediate{partition}");
            let folder = self.rules.folder;
            let rules =
                MergeRules { order, codec: *codec, factor: *factor, folder, name: &name, progress: self.progress };
            let mut spilled = 0;
            let mut merge = Merge::in_steps(self.runs(partition), &rules, &mut spilled).map_err(unreadable)?;
            self.progress.counters().add(FrameworkCounter::SpilledRecords, spilled);
            let combiner = combiner.filter(|_| !merge.is_empty());
            writer.segment(|segment| match combiner {
                Some(combiner) => combine(&combiner, &mut merge, segment, self.progress),
                None => copy_records(&mut merge, segment, self.progress).map_err(TaskFailure::SortedRecords),
            })?;
        }
        for spill in &self.spills {
            fs::remove_file(&spill.path).map_err(TaskFailure::file("remove", &spill.path))?;
        }
        Ok(writer.finish())
    }

    /// The sorted runs of a partition that hold something.
    fn runs(&self, partition: u32) -> Vec<SortedRun> {
        let entries = self.spills.iter().filter_map(|spill| Some((spill, spill.entries.get(partition as usize)?)));
        // The end mark alone is 2 bytes.
        let full = entries.filter(|(_, entry)| entry.lengths.raw_bytes > 2);
        full.map(|(spill, entry)| SortedRun::File {
            path: spill.path.clone(),
            start_bytes: entry.start_bytes,
            lengths: entry.lengths,
            is_temporary: false,
        })
        .collect()
    }
}

fn combine(
    combiner: &Combiner<'_>,
    records: &mut (dyn Records + Send),
    segment: &mut SegmentWriter<File>,
    progress: &Progress,
) -> Result<(), TaskFailure> {
    let before = segment.records();
    let read =
        combiner.combine(records, |key, value| segment.append(key, value).map_err(TaskFailure::SortedRecords))?;
    progress.counters().add(FrameworkCounter::CombineInputRecords, read);
    progress.counters().add(FrameworkCounter::CombineOutputRecords, segment.records() - before);
    Ok(())
}

#[cfg(test)]
#[path = "tests/map_output.rs"]
mod tests;

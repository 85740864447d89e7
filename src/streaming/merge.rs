//! Sorted runs into one (1.2.1 `Merger`): as many at a time as `io.sort.factor` allows, with runs in between on disk.

use std::cmp::Ordering;
use std::io;
use std::path::{Path, PathBuf};

use super::codec::Codec;
use super::counters::FrameworkCounter;
use super::key_order::KeyOrder;
use super::private_files::create_new_file;
use super::progress::Progress;
use super::segment_reader::{Records, SegmentReader};
use super::segment_writer::{SegmentLengths, SegmentWriter};
use super::sort_buffer::prefix;

/// Records between two checks for a stop.
const RECORDS_BETWEEN_STOP_CHECKS: u32 = 1 << 14;

/// A sorted run that is not open yet.
#[derive(Debug)]
pub(crate) enum SortedRun {
    /// Records in memory, end mark included.
    Memory(Vec<u8>),
    File {
        path: PathBuf,
        /// Where the segment begins.
        start_bytes: u64,
        lengths: SegmentLengths,
        /// Whether the file holds only this segment and is removed once it is open: it is read once.
        is_temporary: bool,
    },
}

/// Several runs as one. Equal keys come in the order of their runs.
#[derive(Debug)]
pub(crate) struct Merge<'a> {
    order: &'a KeyOrder,
    runs: Vec<SegmentReader>,
    /// A heap, the least on top; the top is the current record.
    heap: Vec<RunHead>,
    total_bytes: u64,
    finished_bytes: u64,
    records_of_memory: u64,
    has_begun: bool,
}

/// The current record of a run, with the part of its key that decides most comparisons.
#[derive(Clone, Copy, Debug)]
struct RunHead {
    prefix: u64,
    /// Of the key; [`UNKNOWN`] where bytes do not decide.
    key_bytes: usize,
    /// Its place in `runs`.
    run: usize,
}

/// The length of keys that are not ordered by their bytes: longer than any prefix.
const UNKNOWN: usize = usize::MAX;
/// Keys up to this length are known from their prefix.
const PREFIX_BYTES: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(crate) struct MergeRules<'a> {
    pub(crate) order: &'a KeyOrder,
    pub(crate) codec: Option<Codec>,
    /// Runs merged at a time, at least 2.
    pub(crate) factor: usize,
    /// Where intermediate runs go.
    pub(crate) folder: &'a Path,
    /// Prefix of their names; concurrent merges need different ones.
    pub(crate) name: &'a str,
    /// Receives activity; stops the merge.
    pub(crate) progress: &'a Progress,
}

impl SortedRun {
    fn open(self, codec: Option<Codec>) -> io::Result<SegmentReader> {
        match self {
            SortedRun::Memory(bytes) => Ok(SegmentReader::in_memory(bytes)),
            SortedRun::File { path, start_bytes, lengths, is_temporary } => {
                let reader = SegmentReader::open(&path, start_bytes, lengths, codec)?;
                if is_temporary {
                    std::fs::remove_file(&path)?;
                }
                Ok(reader)
            }
        }
    }

    /// Bytes it takes, in memory or on disk.
    pub(crate) fn stored_bytes(&self) -> u64 {
        match self {
            SortedRun::Memory(bytes) => bytes.len() as u64,
            SortedRun::File { lengths, .. } => lengths.stored_bytes,
        }
    }

    fn file_bytes(&self) -> u64 {
        if matches!(self, SortedRun::File { .. }) { self.stored_bytes() } else { 0 }
    }
}

impl<'a> Merge<'a> {
    /// All runs at once; counts what of them is read from files.
    pub(crate) fn of(
        runs: Vec<SortedRun>,
        order: &'a KeyOrder,
        codec: Option<Codec>,
        progress: &Progress,
    ) -> io::Result<Self> {
        progress.counters().add(FrameworkCounter::FileBytesRead, runs.iter().map(SortedRun::file_bytes).sum());
        let open: io::Result<Vec<SegmentReader>> = runs.into_iter().map(|run| run.open(codec)).collect();
        Self::new(open?, order)
    }

    fn new(mut runs: Vec<SegmentReader>, order: &'a KeyOrder) -> io::Result<Self> {
        let mut live = Vec::with_capacity(runs.len());
        for mut run in runs.drain(..) {
            if run.advance()? {
                live.push(run);
            }
        }
        let total_bytes = live.iter().map(SegmentReader::raw_bytes).sum();
        let mut merge = Self {
            order,
            runs: live,
            heap: Vec::new(),
            total_bytes,
            finished_bytes: 0,
            records_of_memory: 0,
            has_begun: false,
        };
        merge.heap = (0..merge.runs.len()).map(|run| merge.head(run)).collect();
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(at);
        }
        Ok(merge)
    }

    /// Merges in several steps if there are more runs than `factor`; counts records of intermediate runs in `spilled`.
    pub(crate) fn in_steps(runs: Vec<SortedRun>, rules: &MergeRules<'a>, spilled: &mut u64) -> io::Result<Self> {
        Merge::of(merge_down(runs, rules, spilled)?, rules.order, rules.codec, rules.progress)
    }

    /// Copies all records that are left.
    pub(crate) fn write_to<W: io::Write>(
        mut self,
        writer: &mut SegmentWriter<W>,
        progress: &Progress,
    ) -> io::Result<()> {
        copy_records(&mut self, writer, progress)
    }

    /// Whether no record is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// How many of the records so far lay in memory.
    pub(crate) fn records_of_memory(&self) -> u64 {
        self.records_of_memory
    }

    /// Share of the bytes that have been passed, 0 to 1000.
    pub(crate) fn passed_thousandths(&self) -> u64 {
        let passed: u64 = self.heap.iter().map(|head| self.runs[head.run].consumed_bytes()).sum();
        ((self.finished_bytes + passed) * 1000).checked_div(self.total_bytes).unwrap_or(1000).min(1000)
    }

    fn head(&self, run: usize) -> RunHead {
        match self.order {
            KeyOrder::Bytes => {
                let key = self.runs[run].key();
                RunHead { prefix: prefix(key), key_bytes: key.len(), run }
            }
            KeyOrder::Fields(_) => RunHead { prefix: 0, key_bytes: UNKNOWN, run },
        }
    }

    #[inline]
    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.heap[a], &self.heap[b]);
        let order = a.prefix.cmp(&b.prefix).then_with(|| {
            if a.key_bytes <= PREFIX_BYTES && b.key_bytes <= PREFIX_BYTES {
                a.key_bytes.cmp(&b.key_bytes)
            } else {
                self.order.compare(self.runs[a.run].key(), self.runs[b.run].key())
            }
        });
        order.then(a.run.cmp(&b.run)) == Ordering::Less
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_before(child, least) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    fn top(&self) -> &SegmentReader {
        // Called only while there is a current record.
        &self.runs[self.heap.first().map_or(0, |head| head.run)]
    }
}

impl Records for Merge<'_> {
    #[inline]
    fn advance(&mut self) -> io::Result<bool> {
        if self.has_begun {
            let Some(&last) = self.heap.first() else { return Ok(false) };
            if self.runs[last.run].advance()? {
                let head = self.head(last.run);
                self.heap[0] = head;
                // The same key of the same run is still the least.
                let is_same = head.prefix == last.prefix && head.key_bytes == last.key_bytes;
                if !is_same || head.key_bytes > PREFIX_BYTES {
                    self.sift_down(0);
                }
            } else {
                self.finished_bytes += self.runs[last.run].raw_bytes();
                self.heap.swap_remove(0);
                self.sift_down(0);
            }
        }
        self.has_begun = true;
        let Some(head) = self.heap.first() else { return Ok(false) };
        self.records_of_memory += u64::from(self.runs[head.run].is_in_memory());
        Ok(true)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.top().key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.top().value()
    }

    #[inline]
    fn framed(&self) -> &[u8] {
        self.top().framed()
    }
}

/// Copies all records that are left, as they are. Errors: those of reading and writing; when the attempt is stopped.
pub(crate) fn copy_records<W: io::Write>(
    records: &mut impl Records,
    writer: &mut SegmentWriter<W>,
    progress: &Progress,
) -> io::Result<()> {
    let mut until_check = RECORDS_BETWEEN_STOP_CHECKS;
    while records.advance()? {
        writer.append_framed(records.framed())?;
        until_check -= 1;
        if until_check == 0 {
            until_check = RECORDS_BETWEEN_STOP_CHECKS;
            progress.record_activity();
            if progress.is_stopped() {
                return Err(io::Error::other("the attempt is stopped"));
            }
        }
    }
    Ok(())
}

/// Merges some of the runs until there are no more than `factor`; counts the records of new ones in `spilled`.
pub(crate) fn merge_down(
    mut runs: Vec<SortedRun>,
    rules: &MergeRules<'_>,
    spilled: &mut u64,
) -> io::Result<Vec<SortedRun>> {
    let factor = rules.factor.max(2);
    // The first step merges as many as make all later ones full.
    let mut take = match runs.len().saturating_sub(1) % (factor - 1) {
        0 => factor,
        rest => rest + 1,
    };
    let mut step = 0;
    while runs.len() > factor {
        let some = Merge::of(runs.drain(..take).collect(), rules.order, rules.codec, rules.progress)?;
        let (run, records) =
            write_run(some, &rules.folder.join(format!("{}.{step}", rules.name)), rules.codec, rules.progress)?;
        *spilled += records;
        runs.push(run);
        runs.sort_by_key(SortedRun::stored_bytes);
        (take, step) = (factor, step + 1);
    }
    Ok(runs)
}

/// A file that holds one merged run, and how many records it has.
pub(crate) fn write_run(
    merge: Merge<'_>,
    path: &Path,
    codec: Option<Codec>,
    progress: &Progress,
) -> io::Result<(SortedRun, u64)> {
    let mut writer = SegmentWriter::new(create_new_file(path)?, codec);
    merge.write_to(&mut writer, progress)?;
    let records = writer.records();
    let (_, lengths) = writer.finish()?;
    progress.counters().add(FrameworkCounter::FileBytesWritten, lengths.stored_bytes);
    Ok((SortedRun::File { path: path.to_owned(), start_bytes: 0, lengths, is_temporary: true }, records))
}

#[cfg(test)]
mod tests {
    use super::super::stage::{attempt_id, progress_of};
    use super::*;

    fn run(keys: &[&str]) -> SortedRun {
        let mut writer = SegmentWriter::new(Vec::new(), None);
        for key in keys {
            writer.append(key.as_bytes(), b"").unwrap();
        }
        let (mut bytes, _) = writer.finish().unwrap();
        bytes.truncate(bytes.len() - 4);
        SortedRun::Memory(bytes)
    }

    fn keys(mut merge: Merge<'_>) -> String {
        let mut keys = String::new();
        while merge.advance().unwrap() {
            keys += std::str::from_utf8(merge.key()).unwrap();
        }
        assert_eq!(merge.passed_thousandths(), 1000);
        keys
    }

    #[test]
    fn runs_merge_in_steps_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for factor in [2, 3, 4, 10] {
            let progress = progress_of(attempt_id('m', 0), None);
            let runs = vec![run(&["b", "f"]), run(&[]), run(&["a", "c"]), run(&["a", "e"]), run(&["d"]), run(&["g"])];
            let rules = MergeRules {
                order: &KeyOrder::Bytes,
                codec: (factor == 3).then_some(Codec::Zlib),
                factor,
                folder: folder.path(),
                name: "x",
                progress: &progress,
            };
            let mut spilled = 0;
            let merge = Merge::in_steps(runs, &rules, &mut spilled).unwrap();
            assert_eq!(keys(merge), "aabcdefg", "{factor}");
            assert_eq!(spilled > 0, factor < 6);
            // Runs in between are written once and read once, all of each.
            let bytes = |counter| progress.counters().get(counter);
            assert_eq!(bytes(FrameworkCounter::FileBytesWritten) > 0, spilled > 0);
            assert_eq!(bytes(FrameworkCounter::FileBytesWritten), bytes(FrameworkCounter::FileBytesRead));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn nothing_merges_to_nothing() {
        let progress = progress_of(attempt_id('m', 0), None);
        assert_eq!(keys(Merge::of(vec![run(&[])], &KeyOrder::Bytes, None, &progress).unwrap()), "");
    }
}

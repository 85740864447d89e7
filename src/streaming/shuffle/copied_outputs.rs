//! Outputs that a reduce has fetched: small ones in memory, large ones on disk, and what memory cannot hold is merged to disk
//! (1.2.1 `ReduceTask.ShuffleRamManager`, `InMemFSMergeThread`).

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::codec::{Codec, Decoder};
use super::super::command_stream::unreadable;
use super::super::counters::FrameworkCounter;
use super::super::failure::TaskFailure;
use super::super::key_order::KeyOrder;
use super::super::merge::{Merge, SortedRun, write_run};
use super::super::private_files::create_file;
use super::super::progress::Progress;
use super::super::segment_reader::CrcReader;
use super::super::segment_writer::TRAILER_BYTES;
use super::fetch::{FetchError, Fetched};

/// An output larger than memory divided by this goes to disk at once.
const LEAST_OUTPUTS_IN_MEMORY: u64 = 4;

/// How much stays in memory, and where the rest goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyRules<'a> {
    pub(crate) memory_bytes: u64,
    /// Bytes in memory from which on they are merged to disk.
    pub(crate) merge_at_bytes: u64,
    /// Outputs in memory from which on they are merged to disk.
    pub(crate) merge_at_outputs: usize,
    pub(crate) order: &'a KeyOrder,
    /// How outputs are compressed, on the wire and on disk.
    pub(crate) codec: Option<Codec>,
    /// A folder of the attempt's own, which exists.
    pub(crate) folder: &'a Path,
}

pub(crate) struct CopiedOutputs<'a> {
    rules: CopyRules<'a>,
    progress: &'a Progress,
    state: Mutex<BufferState>,
}

#[derive(Debug, Default)]
struct BufferState {
    memory: Vec<Vec<u8>>,
    /// Of `memory`, and reserved for running fetches.
    used_bytes: u64,
    disk: Vec<SortedRun>,
    files: u32,
}

/// A verified output that is not part of the result yet.
#[derive(Debug)]
pub(crate) struct BufferedSegment {
    run: SortedRun,
    stored_bytes: u64,
}

#[derive(Debug)]
pub(crate) enum BufferError {
    /// The fetch failed: a retry may help.
    Fetch(FetchError),
    /// Nothing more can be stored.
    Failed(TaskFailure),
}

impl BufferedSegment {
    /// Bytes that came over the wire.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }
}

impl<'a> CopiedOutputs<'a> {
    pub(crate) fn new(rules: CopyRules<'a>, progress: &'a Progress) -> Self {
        progress.counters().add(FrameworkCounter::ReduceShuffleBytes, 0);
        Self { rules, progress, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, BufferState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads an output to its end and verifies it.
    pub(crate) fn buffer(&self, fetched: Fetched<'_>) -> Result<BufferedSegment, BufferError> {
        let lengths = fetched.lengths;
        let (run, stored_bytes) = if self.reserve(lengths.raw_bytes).map_err(BufferError::Failed)? {
            match into_memory(fetched, self.rules.codec) {
                Ok(bytes) => (SortedRun::Memory(bytes), lengths.stored_bytes),
                Err(error) => {
                    self.state().used_bytes -= lengths.raw_bytes;
                    return Err(BufferError::Fetch(FetchError::Read(error)));
                }
            }
        } else {
            (self.onto_disk(fetched)?, lengths.stored_bytes)
        };
        Ok(BufferedSegment { run, stored_bytes })
    }

    /// Reserves memory for an output; `false`: it goes to disk.
    fn reserve(&self, raw_bytes: u64) -> Result<bool, TaskFailure> {
        let CopyRules { memory_bytes, .. } = self.rules;
        if raw_bytes > memory_bytes / LEAST_OUTPUTS_IN_MEMORY {
            return Ok(false);
        }
        let mut state = self.state();
        if state.used_bytes + raw_bytes > memory_bytes {
            self.merge_memory(&mut state)?;
        }
        let fits = state.used_bytes + raw_bytes <= memory_bytes;
        if fits {
            state.used_bytes += raw_bytes;
        }
        Ok(fits)
    }

    fn onto_disk(&self, fetched: Fetched<'_>) -> Result<SortedRun, BufferError> {
        let number = {
            let mut state = self.state();
            state.files += 1;
            state.files
        };
        let path = self.rules.folder.join(format!("map_{number}.out"));
        let failed = |error| BufferError::Failed(TaskFailure::file("write", &path)(error));
        let mut file = create_file(&path).map_err(failed)?;
        let mut body = fetched.body;
        let mut checked = CrcReader::new(TeeReader::new(&mut body, &mut file), fetched.lengths.stored_bytes);
        match io::copy(&mut checked, &mut io::sink()) {
            Ok(_) => {
                let lengths = fetched.lengths;
                self.progress.counters().add(FrameworkCounter::FileBytesWritten, lengths.stored_bytes);
                Ok(SortedRun::File { path, start_bytes: 0, lengths, is_temporary: true })
            }
            Err(error) => {
                let is_ours = checked.source().write_failed;
                let _ = std::fs::remove_file(&path);
                Err(if is_ours { failed(error) } else { BufferError::Fetch(FetchError::Read(error)) })
            }
        }
    }

    pub(crate) fn add(&self, segment: BufferedSegment) -> Result<(), TaskFailure> {
        self.progress.counters().add(FrameworkCounter::ReduceShuffleBytes, segment.stored_bytes);
        let mut state = self.state();
        match segment.run {
            SortedRun::Memory(bytes) => {
                state.memory.push(bytes);
                let bytes: u64 = state.memory.iter().map(|output| output.len() as u64).sum();
                if bytes >= self.rules.merge_at_bytes || state.memory.len() >= self.rules.merge_at_outputs {
                    self.merge_memory(&mut state)?;
                }
            }
            run @ SortedRun::File { .. } => state.disk.push(run),
        }
        Ok(())
    }

    /// Drops an unwanted output and releases its memory or file.
    pub(crate) fn discard(&self, segment: BufferedSegment) {
        match segment.run {
            SortedRun::Memory(bytes) => self.state().used_bytes -= bytes.len() as u64,
            SortedRun::File { path, .. } => drop(std::fs::remove_file(path)),
        }
    }

    fn merge_memory(&self, state: &mut BufferState) -> Result<(), TaskFailure> {
        if state.memory.is_empty() {
            return Ok(());
        }
        let outputs = std::mem::take(&mut state.memory);
        let bytes: u64 = outputs.iter().map(|output| output.len() as u64).sum();
        state.files += 1;
        let path = self.rules.folder.join(format!("merged_{}.out", state.files));
        let runs = outputs.into_iter().map(SortedRun::Memory).collect();
        let merge = Merge::of(runs, self.rules.order, self.rules.codec, self.progress).map_err(unreadable)?;
        let (run, records) =
            write_run(merge, &path, self.rules.codec, self.progress).map_err(TaskFailure::file("write", &path))?;
        self.progress.counters().add(FrameworkCounter::SpilledRecords, records);
        state.disk.push(run);
        state.used_bytes -= bytes;
        Ok(())
    }

    /// The result: the runs in memory, and those on disk.
    pub(crate) fn into_runs(self) -> (Vec<SortedRun>, Vec<SortedRun>) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        (state.memory.into_iter().map(SortedRun::Memory).collect(), state.disk)
    }
}

fn into_memory(fetched: Fetched<'_>, codec: Option<Codec>) -> io::Result<Vec<u8>> {
    let lengths = fetched.lengths;
    let mut decoder = Decoder::new(codec, CrcReader::new(fetched.body, lengths.stored_bytes));
    let mut bytes = Vec::with_capacity(usize::try_from(lengths.raw_bytes).unwrap_or(0));
    // One byte more, to see whether it is longer than announced.
    (&mut decoder).take(lengths.raw_bytes + 1).read_to_end(&mut bytes)?;
    io::copy(decoder.source_mut(), &mut io::sink())?;
    if bytes.len() as u64 != lengths.raw_bytes || lengths.stored_bytes < TRAILER_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "an output of another length than its tracker says"));
    }
    Ok(bytes)
}

/// Passes bytes on and writes them to a file.
struct TeeReader<'a, R: Read> {
    source: BufReader<R>,
    file: &'a mut File,
    write_failed: bool,
}

impl<'a, R: Read> TeeReader<'a, R> {
    fn new(source: R, file: &'a mut File) -> Self {
        Self { source: BufReader::with_capacity(64 << 10, source), file, write_failed: false }
    }
}

impl<R: Read> Read for TeeReader<'_, R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(room)?;
        self.file.write_all(&room[..read]).inspect_err(|_| self.write_failed = true)?;
        Ok(read)
    }
}

#[cfg(test)]
#[path = "../tests/copied_outputs.rs"]
mod tests;

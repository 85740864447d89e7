//! A map: its split through the mapper, into sorted output or straight into the job's.

use std::io::Read;

use super::attempt::{AttemptContext, RECORDS_BETWEEN_REPORTS};
use super::command_stream::{Combiner, CommandInput, CommandStream, read_records};
use super::counters::FrameworkCounter;
use super::failure::TaskFailure;
use super::map_output::{MapOutput, OutputRules};
pub(crate) use super::map_split::MapSplit;
use super::plan::SortedStep;
use super::split_reader::SplitReader;
use crate::wire::Phase;

use super::private_files::make_folder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapResult {
    /// Length of `file.out` in the attempt's folder; `None`: the map wrote the job's output, which is to be committed.
    pub(crate) output_bytes: Option<u64>,
}

/// Runs a map. A failed one leaves nothing in the job's output folder.
pub(crate) fn run(attempt: &AttemptContext<'_>, split: &MapSplit) -> Result<MapResult, TaskFailure> {
    attempt.run_with_cleanup(|| {
        let progress = attempt.progress;
        progress.enter_phase(Phase::Map, &format!("{}:{}+{}", split.uri, split.start_bytes, split.length_bytes));
        let counters = progress.counters();
        for counter in
            [FrameworkCounter::MapInputRecords, FrameworkCounter::MapInputBytes, FrameworkCounter::MapOutputRecords]
        {
            counters.add(counter, 0);
        }
        counters.add(FrameworkCounter::SplitRawBytes, split.raw_bytes);
        counters.add(FrameworkCounter::SpilledRecords, 0);
        let output_bytes = match &attempt.plan.sort {
            Some(_) => Some(run_sorted(attempt, split)?),
            None => {
                run_straight(attempt, split)?;
                None
            }
        };
        progress.check()?;
        progress.set_done_thousandths(1000);
        Ok(MapResult { output_bytes })
    })
}

fn run_sorted(attempt: &AttemptContext<'_>, split: &MapSplit) -> Result<u64, TaskFailure> {
    let process = &attempt.plan.process;
    let Some(sort) = &attempt.plan.sort else { return Ok(0) };
    let command = match &sort.combine {
        Some(SortedStep::Command(plan)) => Some(attempt.command(&plan.command, process.map_ulimit_kb, false)),
        Some(SortedStep::Aggregate(_)) | None => None,
    };
    let combiner = match (&sort.combine, &command) {
        (Some(SortedStep::Command(plan)), Some(command)) => {
            Some(Combiner::Command { command, input_separator: &plan.input_separator, output: &plan.output })
        }
        (Some(SortedStep::Aggregate(rules)), _) => {
            Some(Combiner::Aggregate { order: &sort.order, rules: *rules, progress: attempt.progress })
        }
        _ => None,
    };
    make_folder(attempt.folder).map_err(TaskFailure::file("make", attempt.folder))?;
    let rules = OutputRules { sort, combiner, folder: attempt.folder };
    let mut output = MapOutput::new(rules, attempt.progress);
    stream(attempt, split, |key, value| output.collect(key, value))?;
    output.finish()
}

fn run_straight(attempt: &AttemptContext<'_>, split: &MapSplit) -> Result<(), TaskFailure> {
    let mut output = attempt.output()?;
    let unwritable = |error| TaskFailure::file("write", &attempt.plan.output.folder.shown_path())(error);
    let counters = attempt.progress.counters();
    let mut written = 0;
    stream(attempt, split, |key, value| {
        written += 1;
        if written == RECORDS_BETWEEN_REPORTS {
            counters.add(FrameworkCounter::MapOutputRecords, std::mem::take(&mut written));
        }
        output.write(key, value).map_err(unwritable)
    })?;
    counters.add(FrameworkCounter::MapOutputRecords, written);
    let written_bytes = output.finish().map_err(unwritable)?;
    counters.add(FrameworkCounter::BytesWritten, written_bytes);
    counters.add(FrameworkCounter::bytes_written_to(&attempt.plan.output.folder), written_bytes);
    Ok(())
}

fn stream(
    attempt: &AttemptContext<'_>,
    split: &MapSplit,
    mut collect: impl FnMut(&[u8], &[u8]) -> Result<(), TaskFailure>,
) -> Result<(), TaskFailure> {
    let (plan, progress) = (attempt.plan, attempt.progress);
    let counters = progress.counters();
    let unreadable = |error| TaskFailure::file("read", &split.file.shown_path())(error);
    let bytes = split.start_bytes..split.start_bytes.saturating_add(split.length_bytes);
    let mut reader = SplitReader::open(attempt.files, &split.file, bytes, plan.read).map_err(unreadable)?;
    let command = attempt.command(&plan.map.command, plan.process.map_ulimit_kb, true);
    let mut feed = |stdin: &mut CommandInput<'_>| {
        let (mut records, mut bytes) = (0, 0);
        let mut fed = || {
            while let Some(consumed_bytes) = reader.advance().map_err(unreadable)? {
                records += 1;
                bytes += consumed_bytes;
                reader.write_record(plan.input, &plan.map.input_separator, stdin).map_err(TaskFailure::Pipe)?;
                if records == RECORDS_BETWEEN_REPORTS {
                    counters.add(FrameworkCounter::MapInputRecords, std::mem::take(&mut records));
                    counters.add(FrameworkCounter::MapInputBytes, std::mem::take(&mut bytes));
                    progress.set_done_thousandths(reader.read_thousandths());
                }
            }
            Ok(())
        };
        let fed = fed();
        counters.add(FrameworkCounter::MapInputRecords, records);
        counters.add(FrameworkCounter::MapInputBytes, bytes);
        counters.add(FrameworkCounter::BytesRead, reader.read_bytes());
        // What a stock task reads of job.split counts only on HDFS.
        let split_bytes = if split.file.namenode().is_some() { split.raw_bytes } else { 0 };
        counters.add(FrameworkCounter::bytes_read_from(&split.file), reader.read_bytes() + split_bytes);
        fed
    };
    let mut written = 0_u64;
    let mut take = |stdout: &mut dyn Read| {
        read_records(stdout, &plan.map.output, |key, value| {
            if written.is_multiple_of(RECORDS_BETWEEN_REPORTS) {
                progress.set_status(|| {
                    format!("Records R/W={}/{}", counters.get(FrameworkCounter::MapInputRecords), written + 1)
                });
            }
            written += 1;
            collect(key, value)
        })
    };
    command.stream(&mut feed, &mut take)
}

#[cfg(test)]
#[path = "tests/map_task.rs"]
mod tests;

//! A reduce: the output of all maps fetched, merged, through the reducer, into a file of the job's output.

use std::io::Read;

use crate::wire::Phase;

use super::aggregate::{AggregateGroup, Aggregation};
use super::attempt::{AttemptContext, RECORDS_BETWEEN_REPORTS};
use super::command_stream::{CommandInput, CommandStream, read_records, unreadable, write_record};
use super::committer::TextOutput;
use super::counters::FrameworkCounter;
use super::failure::TaskFailure;
use super::merge::{Merge, MergeRules, SortedRun, merge_down};
use super::plan::{CommandPlan, SortPlan, SortedStep};
use super::private_files::make_folder;
use super::progress::Progress;
use super::segment_reader::Records;
use super::shuffle::copied_outputs::{CopiedOutputs, CopyRules};
use super::shuffle::copy_phase::{MapCompletionFeed, copy_map_outputs};
use super::shuffle::fetch::FetchMapOutput;
use super::shuffle::fetch_schedule::ScheduleRules;

/// Fetching, merging and reducing are a third of the progress each, as stock reduces report it.
const THIRD: u64 = 333;

/// The merged input, counted while it is read.
struct ReduceInput<'a> {
    records: Merge<'a>,
    sort: &'a SortPlan,
    progress: &'a Progress,
    last_key: Vec<u8>,
    /// Not yet in the counters.
    counted: u64,
    groups: u64,
    spilled: u64,
    has_begun: bool,
}

/// Runs a reduce of a job with `maps` maps. `feed` delivers their completion events, `fetcher` their outputs. Its output must be
/// committed; a failed one leaves nothing.
pub(crate) fn run(
    attempt: &AttemptContext<'_>,
    maps: u32,
    feed: &MapCompletionFeed,
    fetcher: &dyn FetchMapOutput,
) -> Result<(), TaskFailure> {
    let Some(sort) = &attempt.plan.sort else {
        let what = "a reduce of a job that has none".to_owned();
        return Err(TaskFailure::Unusable { what, reason: "cannot be run".to_owned() });
    };
    attempt.run_with_cleanup(|| {
        let progress = attempt.progress;
        declare_counters(progress);
        make_folder(attempt.folder).map_err(TaskFailure::file("make", attempt.folder))?;
        let (memory, disk) = shuffle(attempt, sort, maps, feed, fetcher)?;
        progress.enter_phase(Phase::Sort, "reduce > sort");
        let rules = MergeRules {
            order: &sort.order,
            codec: sort.codec,
            factor: sort.factor,
            folder: attempt.folder,
            name: "intermediate",
            progress,
        };
        let mut spilled = 0;
        let disk = merge_down(disk, &rules, &mut spilled).map_err(unreadable)?;
        progress.counters().add(FrameworkCounter::SpilledRecords, spilled);
        let runs = memory.into_iter().chain(disk).collect();
        let records = Merge::of(runs, &sort.order, sort.codec, progress).map_err(unreadable)?;
        progress.check()?;
        progress.enter_phase(Phase::Reduce, "reduce > reduce");
        progress.set_done_thousandths(2 * THIRD);
        reduce(attempt, ReduceInput::new(records, sort, progress))?;
        progress.check()?;
        progress.set_done_thousandths(1000);
        Ok(())
    })
}

fn declare_counters(progress: &Progress) {
    let used = [
        FrameworkCounter::ReduceShuffleBytes,
        FrameworkCounter::ReduceInputGroups,
        FrameworkCounter::ReduceInputRecords,
        FrameworkCounter::ReduceOutputRecords,
        FrameworkCounter::SpilledRecords,
        FrameworkCounter::CombineInputRecords,
        FrameworkCounter::CombineOutputRecords,
    ];
    used.into_iter().for_each(|counter| progress.counters().add(counter, 0));
}

fn shuffle(
    attempt: &AttemptContext<'_>,
    sort: &SortPlan,
    maps: u32,
    feed: &MapCompletionFeed,
    fetcher: &dyn FetchMapOutput,
) -> Result<(Vec<SortedRun>, Vec<SortedRun>), TaskFailure> {
    let (progress, plan) = (attempt.progress, &attempt.plan.shuffle);
    progress.enter_phase(Phase::Shuffle, "reduce > copy");
    let rules = CopyRules {
        memory_bytes: plan.memory_bytes,
        merge_at_bytes: plan.merge_at_bytes,
        merge_at_outputs: plan.merge_at_outputs,
        order: &sort.order,
        codec: sort.codec,
        folder: attempt.folder,
    };
    let copied = CopiedOutputs::new(rules, progress);
    let rules = ScheduleRules {
        maps,
        max_fetch_failures: plan.max_fetch_failures,
        notifies_read_errors: plan.notifies_read_errors,
        seed: attempt.partition,
    };
    copy_map_outputs(rules, plan.parallel_copies, feed, fetcher, &copied, progress)?;
    Ok(copied.into_runs())
}

/// Runs the merged input through the reducer, or copies it.
fn reduce(attempt: &AttemptContext<'_>, mut input: ReduceInput<'_>) -> Result<(), TaskFailure> {
    let counters = attempt.progress.counters();
    let mut output = attempt.output()?;
    let mut written = 0;
    match &attempt.plan.reduce {
        Some(SortedStep::Command(plan)) => run_command(attempt, plan, &mut input, &mut output, &mut written)?,
        Some(SortedStep::Aggregate(rules)) => {
            let mut report = |group: AggregateGroup| {
                write(attempt, &mut output, &mut written, group.name(), group.report().as_bytes())
            };
            let mut aggregation = Aggregation::new(&input.sort.order, *rules);
            while input.advance()? {
                let ended = aggregation.add(input.records.key(), input.records.value())?;
                ended.map_or(Ok(()), &mut report)?;
            }
            aggregation.finish().map_or(Ok(()), report)?;
        }
        None => {
            while input.advance()? {
                write(attempt, &mut output, &mut written, input.records.key(), input.records.value())?;
            }
        }
    }
    input.count();
    counters.add(FrameworkCounter::ReduceOutputRecords, written % RECORDS_BETWEEN_REPORTS);
    let folder = &attempt.plan.output.folder.shown_path();
    let written_bytes = output.finish().map_err(TaskFailure::file("write", folder))?;
    counters.add(FrameworkCounter::BytesWritten, written_bytes);
    counters.add(FrameworkCounter::bytes_written_to(&attempt.plan.output.folder), written_bytes);
    Ok(())
}

fn run_command(
    attempt: &AttemptContext<'_>,
    plan: &CommandPlan,
    input: &mut ReduceInput<'_>,
    output: &mut TextOutput,
    written: &mut u64,
) -> Result<(), TaskFailure> {
    // As in stock reduces: without input the command runs and its output is dropped.
    let is_empty = input.records.is_empty();
    let command = attempt.command(&plan.command, attempt.plan.process.reduce_ulimit_kb, true);
    let mut feed = |stdin: &mut CommandInput<'_>| {
        while input.advance()? {
            write_record(stdin, input.records.key(), &plan.input_separator, input.records.value())?;
        }
        Ok(())
    };
    let mut take =
        |stdout: &mut dyn Read| {
            read_records(stdout, &plan.output, |key, value| {
                if is_empty { Ok(()) } else { write(attempt, output, written, key, value) }
            })
        };
    command.stream(&mut feed, &mut take)
}

fn write(
    attempt: &AttemptContext<'_>,
    output: &mut TextOutput,
    written: &mut u64,
    key: &[u8],
    value: &[u8],
) -> Result<(), TaskFailure> {
    let counters = attempt.progress.counters();
    if written.is_multiple_of(RECORDS_BETWEEN_REPORTS) {
        let read = || counters.get(FrameworkCounter::ReduceInputRecords);
        attempt.progress.set_status(|| format!("Records R/W={}/{} > reduce", read(), *written + 1));
    }
    *written += 1;
    if written.is_multiple_of(RECORDS_BETWEEN_REPORTS) {
        counters.add(FrameworkCounter::ReduceOutputRecords, RECORDS_BETWEEN_REPORTS);
    }
    output
        .write(key, value)
        .map_err(|error| TaskFailure::file("write", &attempt.plan.output.folder.shown_path())(error))
}

impl<'a> ReduceInput<'a> {
    fn new(records: Merge<'a>, sort: &'a SortPlan, progress: &'a Progress) -> Self {
        Self { records, sort, progress, last_key: Vec::new(), counted: 0, groups: 0, spilled: 0, has_begun: false }
    }

    /// Advances to the next record and counts it.
    #[inline]
    fn advance(&mut self) -> Result<bool, TaskFailure> {
        if !self.records.advance().map_err(unreadable)? {
            return Ok(false);
        }
        let key = self.records.key();
        if !self.has_begun || !self.sort.order.same_group(&self.last_key, key) {
            self.groups += 1;
            self.has_begun = true;
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
        }
        self.counted += 1;
        if self.counted == RECORDS_BETWEEN_REPORTS {
            self.count();
            self.progress.set_done_thousandths(2 * THIRD + self.records.passed_thousandths() / 3);
            self.progress.check()?;
        }
        Ok(true)
    }

    fn count(&mut self) {
        let counters = self.progress.counters();
        counters.add(FrameworkCounter::ReduceInputRecords, std::mem::take(&mut self.counted));
        counters.add(FrameworkCounter::ReduceInputGroups, std::mem::take(&mut self.groups));
        // A stock reduce writes what it holds in memory to disk before it begins, and counts that; here it stays in memory.
        let spilled = self.records.records_of_memory();
        counters.add(FrameworkCounter::SpilledRecords, spilled - self.spilled);
        self.spilled = spilled;
    }
}

#[cfg(test)]
#[path = "tests/reduce_task.rs"]
mod tests;

//! What maps and reduces have in common when they run: the job's plan, folders, environment, and how their commands are started.

use std::path::Path;

use super::child::{ChildCommand, ChildRules, StderrLog};
use super::command_line::CommandLine;
use super::committer::OutputCommitter;
use super::failure::TaskFailure;
use super::plan::StreamingPlan;
use super::progress::Progress;
use super::text_output::TextOutput;

/// One attempt that is to run.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The job.
    pub plan: &'a StreamingPlan,
    /// Index of the task within its kind.
    pub partition: u32,
    /// A folder of its own, which exists: intermediate files lie in it.
    pub folder: &'a Path,
    /// The working directory of its commands, prepared.
    pub work_folder: &'a Path,
    /// The whole environment of its commands.
    pub environment: &'a [(String, String)],
    /// The program that keeps its commands ([`crate::supervisor::process`]); without one only their process groups are ended.
    pub keeper: Option<&'a Path>,
    /// Where words on standard error go.
    pub log: Option<&'a StderrLog>,
    /// What it tells and obeys.
    pub progress: &'a Progress,
}

/// Records between two looks at the clock, the counters and the order to end.
pub(crate) const RECORDS_BETWEEN_REPORTS: u64 = 1 << 10;

// === impl Attempt ===

impl<'a> Attempt<'a> {
    /// A command of this attempt. Reports of a combiner do not count, as in stock tasks.
    pub(crate) fn command(
        &self,
        line: &'a CommandLine,
        ulimit_kb: Option<u64>,
        reports_count: bool,
    ) -> ChildCommand<'a> {
        let process = &self.plan.process;
        let path = self.environment.iter().find(|(name, _)| name == "PATH").map_or("", |(_, path)| path.as_str());
        ChildCommand {
            program: line.program(self.work_folder, path),
            arguments: line.words().get(1..).unwrap_or_default(),
            folder: self.work_folder.to_owned(),
            environment: self.environment,
            keeper: self.keeper,
            rules: ChildRules {
                non_zero_exit_is_failure: process.non_zero_exit_is_failure,
                reporter_prefix: &process.reporter_prefix,
                reports_count,
                kill_delay: process.kill_delay,
                join_delay: process.join_delay,
                ulimit_kb,
            },
            progress: self.progress,
            log: self.log,
        }
    }

    pub(crate) fn committer(&self) -> OutputCommitter {
        OutputCommitter::new(self.plan.output.folder.clone())
    }

    /// Its part of the job's output, not yet committed.
    pub(crate) fn output(&self) -> Result<TextOutput, TaskFailure> {
        let folder = self.committer().set_up_attempt(self.progress.attempt())?;
        let path = folder.join(&self.plan.part_name(self.partition))?;
        let output = &self.plan.output;
        TextOutput::create(path.as_path(), output.codec, &output.separator)
            .map_err(TaskFailure::file("write", path.as_path()))
    }

    /// Runs `work` under the time limit; what a failure leaves of the output is removed.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> Result<T, TaskFailure>) -> Result<T, TaskFailure> {
        // Whatever an attempt that was told to end stumbled over, that is why it ended.
        let result = self.progress.watched(|| {
            let result = work();
            if result.is_err() || self.progress.is_stopped() {
                // As Hadoop: that this fails too is nobody's business any more.
                let _ = self.committer().abort(self.progress.attempt());
            }
            result
        });
        let result = if self.progress.is_stopped() { result.and(Err(self.progress.reason())) } else { result };
        result.map_err(|failure| failure.in_folder(self.folder))
    }
}

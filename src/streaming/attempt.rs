//! What map and reduce attempts share: the job's plan, folders, environment, and how their commands start.

use std::path::Path;

use crate::fs::FileSystems;

use super::child::{ChildCommand, ChildRules, StderrLog};
use super::command_line::CommandLine;
use super::committer::{OutputCommitter, TextOutput};
use super::failure::TaskFailure;
use super::plan::StreamingPlan;
use super::progress::Progress;

/// Everything that one attempt runs with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptContext<'a> {
    pub(crate) plan: &'a StreamingPlan,
    /// The file systems, as the job's user.
    pub(crate) files: &'a FileSystems,
    pub(crate) partition: u32,
    /// The attempt's own folder for intermediate files; exists.
    pub(crate) folder: &'a Path,
    /// The working directory of its commands; prepared.
    pub(crate) work_folder: &'a Path,
    /// The whole environment of its commands.
    pub(crate) environment: &'a [(String, String)],
    /// The supervisor program ([`crate::supervisor::process`]); without one only process groups are killed.
    pub(crate) supervisor: Option<&'a Path>,
    pub(crate) log: Option<&'a StderrLog>,
    pub(crate) progress: &'a Progress,
}

/// Records between two updates of counters, and checks for a stop.
pub(crate) const RECORDS_BETWEEN_REPORTS: u64 = 1 << 10;

impl<'a> AttemptContext<'a> {
    /// Builds a command of this attempt. Reports of a combiner are ignored, as in stock tasks.
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
            line: line.words(),
            folder: self.work_folder.to_owned(),
            environment: self.environment,
            supervisor: self.supervisor,
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
        OutputCommitter::new(self.files, self.plan.output.folder.clone())
    }

    /// Creates its part of the job's output, not yet committed.
    pub(crate) fn output(&self) -> Result<TextOutput, TaskFailure> {
        let folder = self.committer().set_up_attempt(self.progress.attempt())?;
        let path = folder.join(&self.plan.part_name(self.partition))?;
        let output = &self.plan.output;
        Ok(TextOutput::new(self.files.of(&path).create(&path)?, output.codec, &output.separator))
    }

    /// Runs `work` under the time limit; removes the output of a failed attempt.
    pub(crate) fn run_with_cleanup<T>(&self, work: impl FnOnce() -> Result<T, TaskFailure>) -> Result<T, TaskFailure> {
        // Once the attempt is stopped, the reason for the stop is the reason of the failure.
        let result = self.progress.run_with_time_limit(|| {
            let result = work();
            if result.is_err() || self.progress.is_stopped() {
                // As Hadoop: an error here is ignored.
                let _ = self.committer().abort(self.progress.attempt());
            }
            result
        });
        let result = if self.progress.is_stopped() { result.and(Err(self.progress.stop_reason())) } else { result };
        result.map_err(|failure| failure.in_folder(self.folder))
    }
}

//! What a container writes, passed on as it comes: each byte once, unchanged.

use std::io::{self, Write};

use crate::api::applications::{ContainerReport, ContainerState};
use crate::cli::app::AppCommandError;
use crate::cli::terminal::print_error;
use crate::client::applications::{ApplicationClient, ApplicationClientError, ContainerLog, LogName};
use crate::model::{ContainerId, LaunchContext};

/// Where output goes.
pub(super) struct Outputs<'a> {
    pub(super) stdout: &'a mut dyn Write,
    pub(super) stderr: &'a mut dyn Write,
}

/// Passes on what containers of an application write, one after the other.
pub(super) struct OutputPrinter<'a, 'o> {
    client: &'a ApplicationClient,
    outputs: Outputs<'o>,
    /// Whether standard output and standard error output go to logs, which can be read.
    is_logged: [bool; 2],
    current: Option<Current<'a>>,
    /// Whether some of what the last container has written could not be read after its end.
    pub(super) is_incomplete: bool,
}

struct Current<'a> {
    container: ContainerReport,
    logs: Vec<(ContainerLog<'a>, LogName, u64)>,
    /// Whether it has ended, and what it has written was read to the end, or in vain.
    is_closed: bool,
}

impl<'a, 'o> OutputPrinter<'a, 'o> {
    pub(super) fn new(client: &'a ApplicationClient, context: &LaunchContext, outputs: Outputs<'o>) -> Self {
        let is_logged = [context.stdout.is_log(), context.stderr.is_log()];
        Self { client, outputs, is_logged, current: None, is_incomplete: false }
    }

    /// The container that has come last.
    pub(super) fn container(&self) -> Option<&ContainerReport> {
        self.current.as_ref().map(|current| &current.container)
    }

    pub(super) fn is_running(&self) -> bool {
        self.container().is_some_and(|container| container.state == ContainerState::Running)
    }

    /// The number of the container that has come last.
    pub(super) fn known(&self) -> Option<ContainerId> {
        self.container().map(|container| container.container_id)
    }

    /// Turns to a container, or sees how far the present one is.
    pub(super) fn turn_to(&mut self, container: ContainerReport) {
        if let Some(current) = self.current.as_mut().filter(|c| c.container.container_id == container.container_id) {
            current.container = container;
            return;
        }
        let id = container.container_id;
        let names = [LogName::Stdout, LogName::Stderr].into_iter().zip(self.is_logged);
        let logs = names.filter(|(_, is_logged)| *is_logged);
        let logs = logs.map(|(name, _)| (ContainerLog::new(self.client, id, name), name, 0)).collect();
        self.current = Some(Current { container, logs, is_closed: false });
    }

    /// Passes on the rest of what a container has written that has ended, once.
    pub(super) async fn close(&mut self) -> Result<(), AppCommandError> {
        if self.current.as_ref().is_none_or(|current| current.is_closed) {
            return Ok(());
        }
        let read = self.print_news().await?;
        if let Err(error) = &read {
            print_error(&format!("jobtracker: warning: {error}"));
        }
        self.is_incomplete = read.is_err();
        if let Some(current) = &mut self.current {
            current.is_closed = true;
        }
        Ok(())
    }

    /// Passes on what is new. Errors: the outer one: the output cannot be written. The inner one: a log cannot be read now.
    pub(super) async fn print_news(&mut self) -> Result<Result<(), ApplicationClientError>, AppCommandError> {
        let Some(current) = &mut self.current else { return Ok(Ok(())) };
        let mut outcome = Ok(());
        for (log, name, printed_bytes) in &mut current.logs {
            match log.read_from(*printed_bytes).await {
                Ok(part) => {
                    let output = match name {
                        LogName::Stdout => &mut *self.outputs.stdout,
                        LogName::Stderr => &mut *self.outputs.stderr,
                    };
                    write(output, &part).map_err(AppCommandError::Output)?;
                    *printed_bytes += part.len() as u64;
                }
                Err(error) => outcome = Err(error),
            }
        }
        Ok(outcome)
    }
}

fn write(output: &mut dyn Write, part: &[u8]) -> io::Result<()> {
    if part.is_empty() {
        return Ok(());
    }
    output.write_all(part)?;
    output.flush()
}

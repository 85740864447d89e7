//! Follows one command: its output and exit code become ours.

use std::io::ErrorKind;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::api::applications::{ApplicationReport, ContainerState};
use crate::cli::app::{AppCommandError, waiting_text};
use crate::cli::terminal::print_error;
use crate::client::applications::{ApplicationClient, ConnectionNews, ContainerQuery};
use crate::model::{ApplicationId, LaunchContext};

use super::interrupts::{INTERRUPTED_BASE, Interrupts};
use super::output::{OutputPrinter, Outputs};

/// Pause between two looks at the output.
const LOG_PAUSE: Duration = Duration::from_millis(250);
/// Time without a container after which it is said why.
const WAITING_TIME: Duration = Duration::from_secs(5);
/// Exit code of a command that could not run, or was ended by others than itself.
const ENDED_FROM_OUTSIDE: u8 = 1;
/// Exit code when all went well but for the output, which cannot be read.
const OUTPUT_LOST: u8 = 4;
/// The signal of a program that writes to a closed pipe.
const SIGPIPE: u8 = 13;

/// Shows the output of a command until it has ended; returns the exit code. The first interrupt kills it, the second leaves it to its end.
pub(super) async fn follow_command(
    client: &ApplicationClient,
    application: ApplicationId,
    context: &LaunchContext,
    outputs: Outputs<'_>,
    interrupts: &mut Interrupts,
) -> Result<u8, AppCommandError> {
    let mut printer = OutputPrinter::new(client, context, outputs);
    match follow(client, application, &mut printer, interrupts).await {
        // Nothing reads the output any more, as behind `head`: then a command ends.
        Err(AppCommandError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => {
            client.kill(application).await?;
            Ok(INTERRUPTED_BASE + SIGPIPE)
        }
        outcome => outcome,
    }
}

async fn follow(
    client: &ApplicationClient,
    application: ApplicationId,
    printer: &mut OutputPrinter<'_, '_>,
    interrupts: &mut Interrupts,
) -> Result<u8, AppCommandError> {
    let mut known: Option<ApplicationReport> = None;
    let mut signal = None;
    let mut explain_at = Some(Instant::now() + WAITING_TIME);
    loop {
        let version = known.as_ref().map(|report| report.version);
        let mut next = pin!(client.next_report(application, version, |news| say(application, news)));
        let report = loop {
            tokio::select! {
                report = &mut next => break report?,
                Some(number) = interrupts.recv() => {
                    if signal.replace(number).is_some() {
                        return Ok(INTERRUPTED_BASE.saturating_add(number));
                    }
                    client.kill(application).await?;
                }
                // What cannot be read now is read later.
                () = sleep(LOG_PAUSE), if printer.is_running() => drop(printer.print_news().await?),
                () = sleep_until(explain_at.unwrap_or_else(Instant::now)), if explain_at.is_some() => {
                    explain_at = None;
                    if !printer.is_running() {
                        print_error(&waiting_line(application, known.as_ref()));
                    }
                }
            }
        };
        let before = (printer.known(), printer.is_running());
        look(client, application, printer).await?;
        if (printer.known(), printer.is_running()) != before {
            // One that others have ended may be followed by another wait.
            explain_at = Some(Instant::now() + WAITING_TIME);
        }
        if is_finished(&report) {
            return Ok(match signal {
                Some(number) => INTERRUPTED_BASE.saturating_add(number),
                None => match exit_code(&report, printer) {
                    0 if printer.is_incomplete => OUTPUT_LOST,
                    code => code,
                },
            });
        }
        known = Some(report);
    }
}

/// Looks which containers there are: one that others have ended is followed by another.
async fn look(
    client: &ApplicationClient,
    application: ApplicationId,
    printer: &mut OutputPrinter<'_, '_>,
) -> Result<(), AppCommandError> {
    let containers = client.containers(application, ContainerQuery::default()).await?;
    let mut of_others: Option<String> = None;
    let known = printer.known();
    for container in containers.into_iter().filter(|container| Some(container.container_id) >= known) {
        if let Some(text) = of_others.take() {
            print_error(&text);
        }
        let has_ended = container.state == ContainerState::Complete;
        if has_ended {
            let (id, why) = (container.container_id, &container.diagnostics);
            of_others = Some(format!("jobtracker: {id} has ended: {why}; the command runs again"));
        }
        printer.turn_to(container);
        if has_ended {
            printer.close().await?;
        }
    }
    Ok(())
}

/// The exit code of the command; on stderr why it has none of its own.
fn exit_code(report: &ApplicationReport, printer: &OutputPrinter<'_, '_>) -> u8 {
    let ApplicationReport { id, diagnostics, .. } = report;
    let Some(container) = printer.container() else {
        let why = if diagnostics.is_empty() { report.state.name() } else { diagnostics };
        print_error(&format!("jobtracker: {id} has ended before the command ran: {why}"));
        return ENDED_FROM_OUTSIDE;
    };
    if let Ok(code) = u8::try_from(container.exit_status.0) {
        return code;
    }
    let (status, diagnostics) = (container.exit_status.0, &container.diagnostics);
    print_error(&format!("jobtracker: {} ended with {status}: {diagnostics}", container.container_id));
    ENDED_FROM_OUTSIDE
}

/// Whether it is over, and nothing of it runs any more: a killed one is over before its containers are.
pub(super) fn is_finished(report: &ApplicationReport) -> bool {
    report.state.is_over() && report.running_containers == 0
}

fn waiting_line(application: ApplicationId, known: Option<&ApplicationReport>) -> String {
    let why = known.and_then(|report| report.why.first());
    if let Some(why) = known.and_then(|report| report.cannot_run.as_ref()) {
        return format!("{application} waits: {why}");
    }
    match why {
        Some(why) => format!("{application} waits: {}", waiting_text(why)),
        None => format!("{application} waits for a container"),
    }
}

pub(super) fn say(application: ApplicationId, news: ConnectionNews) {
    print_error(&match news {
        ConnectionNews::Lost(reason) => format!("{reason}; {application} continues, waiting for the JobTracker"),
        ConnectionNews::Back => "the JobTracker answers again".to_owned(),
    });
}

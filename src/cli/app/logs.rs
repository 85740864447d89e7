//! `jobtracker app logs`: prints what containers have written.

use std::time::Duration;

use tokio::time::sleep;

use crate::api::applications::{ContainerReport, ContainerState};
use crate::cli::market_command::MarketArguments;
use crate::cli::market_text::{OutputForm, json};
use crate::cli::terminal::{one_line, print, print_error, whole_characters};
use crate::cli::values::whole_number;
use crate::client::applications::{ApplicationClient, ApplicationClientError, ContainerLog, ContainerQuery, LogName};
use crate::model::{ApplicationId, ContainerId};

use super::connection::{AppCommandError, client_of};
use super::failures::failure_text;

/// Pause between two looks at a log that is followed.
const PAUSE: Duration = Duration::from_millis(500);
/// Most containers whose logs are printed at once.
const MOST_CONTAINERS: usize = 1_000;

/// Options of `app logs`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AppLogsArguments {
    /// Application id, such as application_1700000000000_0001: its only container, or those that have failed
    #[arg(value_name = "APPLICATION")]
    application: ApplicationId,
    /// Print the log of the last container of this item
    #[arg(long, value_name = "N", conflicts_with = "container", value_parser = whole_number::<0>)]
    item: Option<u32>,
    /// Print the log of this container, such as container_1700000000000_0001_00_000001
    #[arg(long, value_name = "CONTAINER")]
    container: Option<ContainerId>,
    /// Print what is added to the log of one container until it has ended; an item that has none yet is waited for
    #[arg(long, conflicts_with = "json")]
    follow: bool,
    /// Print the standard error output instead of the standard output
    #[arg(long)]
    stderr: bool,
    /// Server, signer, output form.
    #[command(flatten)]
    pub(super) market: MarketArguments,
}

/// What a container has written.
struct Written {
    container: ContainerReport,
    log: Result<Vec<u8>, ApplicationClientError>,
}

pub(super) async fn logs(arguments: &AppLogsArguments) -> Result<String, AppCommandError> {
    let AppLogsArguments { follow, stderr, market, .. } = arguments;
    let client = client_of(market)?;
    let name = if *stderr { LogName::Stderr } else { LogName::Stdout };
    let containers = chosen(&client, arguments).await?;
    if *follow {
        let [container] = containers.as_slice() else {
            let text = format!("--follow follows one container, not {}: give --item or --container", containers.len());
            return Err(AppCommandError::Argument(text));
        };
        follow_log(&client, container.container_id, name).await?;
        return Ok(String::new());
    }
    let mut written = Vec::with_capacity(containers.len());
    for container in containers {
        let log = ContainerLog::new(&client, container.container_id, name).read_from(0).await;
        written.push(Written { container, log });
    }
    // An unreachable worker affects only its own logs.
    if written.iter().all(|written| written.log.is_err())
        && let Some(Written { log: Err(error), .. }) = written.pop()
    {
        return Err(error.into());
    }
    let is_chosen = arguments.item.is_some() || arguments.container.is_some();
    if !is_chosen && market.form() == OutputForm::Table && written.iter().any(|one| one.container.item.is_some()) {
        let failures = failure_text(&client, arguments.application).await?;
        // Beside the logs, which may be piped on.
        failures.lines().for_each(print_error);
    }
    if let ([one], OutputForm::Table) = (&written[..], market.form())
        && let Some(note) = emptiness(one, name)
    {
        print_error(&note);
    }
    Ok(render_logs(&written, name, market.form()))
}

/// That a container which has ended wrote nothing here, and why, or where else it may have.
fn emptiness(Written { container, log }: &Written, name: LogName) -> Option<String> {
    let has_ended = container.state == ContainerState::Complete;
    log.as_ref().ok().filter(|log| log.is_empty() && has_ended && container.exit_status.0 != 0)?;
    let id = container.container_id;
    let why = container.diagnostics.lines().next().map(|line| format!(": {}", one_line(line))).unwrap_or_default();
    let other = match name {
        LogName::Stdout => "; its standard error output: --stderr",
        LogName::Stderr => "",
    };
    Some(format!("{id} wrote nothing to its {} and ended with {}{why}{other}", name.name(), container.exit_status.0))
}

/// The containers that the options mean.
async fn chosen(
    client: &ApplicationClient,
    arguments: &AppLogsArguments,
) -> Result<Vec<ContainerReport>, AppCommandError> {
    let AppLogsArguments { application, item, container, follow, .. } = arguments;
    if let Some(container) = container {
        if container.application != *application {
            return Err(AppCommandError::Argument(format!("--container {container} is not of {application}")));
        }
        return Ok(vec![client.container(*container).await?]);
    }
    if let Some(item) = item {
        return Ok(vec![last_of_item(client, *application, *item, *follow).await?]);
    }
    let first_two = ContainerQuery { limit: Some(2), ..ContainerQuery::default() };
    let first = client.containers(*application, first_two).await?;
    if first.len() < 2 {
        return Ok(first);
    }
    let failed = ContainerQuery { failed_only: true, limit: Some(MOST_CONTAINERS), ..ContainerQuery::default() };
    Ok(client.containers(*application, failed).await?)
}

/// The last container of an item; `waits` for the first one for as long as the application may start it.
async fn last_of_item(
    client: &ApplicationClient,
    application: ApplicationId,
    item: u32,
    waits: bool,
) -> Result<ContainerReport, AppCommandError> {
    loop {
        // Asked before: one that starts meanwhile is then found.
        let may_come = waits && !client.report(application).await?.state.is_over();
        let query = ContainerQuery { item: Some(item), ..ContainerQuery::default() };
        match client.containers(application, query).await?.pop() {
            Some(container) => return Ok(container),
            None if may_come => sleep(PAUSE).await,
            None => {
                let text = format!("--item {item}: {application} has no container of it");
                return Err(AppCommandError::Argument(text));
            }
        }
    }
}

/// Prints a log as it grows, until its container has ended.
async fn follow_log(client: &ApplicationClient, id: ContainerId, name: LogName) -> Result<(), AppCommandError> {
    let mut log = ContainerLog::new(client, id, name);
    let mut printed_bytes = 0;
    loop {
        // Asked before the log is read: what it has written until its end is then read, too.
        let has_ended = client.container(id).await?.state == ContainerState::Complete;
        let part = log.read_from(printed_bytes).await?;
        let whole = if has_ended { &part[..] } else { whole_characters(&part) };
        print(&String::from_utf8_lossy(whole))?;
        printed_bytes += whole.len() as u64;
        if has_ended {
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}

fn render_logs(written: &[Written], name: LogName, form: OutputForm) -> String {
    let text_of = |log: &Result<Vec<u8>, _>| log.as_ref().ok().map(|log| String::from_utf8_lossy(log).into_owned());
    if form == OutputForm::Json {
        let object = |Written { container, log }: &Written| {
            serde_json::json!({
                "container": container.container_id, "item": container.item, "node": container.node_id,
                "log": name.name(), "text": text_of(log), "error": log.as_ref().err().map(ToString::to_string),
            })
        };
        return json(&written.iter().map(object).collect::<Vec<_>>());
    }
    match written {
        [] => "no container has failed; for others give --item or --container\n".to_owned(),
        [Written { log: Ok(log), .. }] => String::from_utf8_lossy(log).into_owned(),
        several => several.iter().map(|written| heading(written) + &body(written, &text_of)).collect(),
    }
}

fn heading(Written { container, .. }: &Written) -> String {
    let item = container.item.map(|item| format!(" item {item}")).unwrap_or_default();
    let ended = match container.state {
        ContainerState::Complete => format!(" exit {}", container.exit_status.0),
        _ => String::new(),
    };
    format!("--- {}{item} on {}{ended}\n", container.container_id, container.node_id)
}

fn body(
    Written { log, container }: &Written,
    text_of: &impl Fn(&Result<Vec<u8>, ApplicationClientError>) -> Option<String>,
) -> String {
    match (text_of(log), log) {
        // Often it never ran.
        (Some(text), _) if text.is_empty() && !container.diagnostics.is_empty() => {
            container.diagnostics.lines().map(|line| format!("  {}\n", one_line(line))).collect()
        }
        (Some(text), _) if text.is_empty() || text.ends_with('\n') => text,
        (Some(text), _) => text + "\n",
        (None, Err(error)) => format!("  {error}\n"),
        (None, Ok(_)) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::applications::tests::example_container;
    use crate::model::ContainerExit;

    #[test]
    fn one_log_is_printed_as_it_is_and_several_with_headings() {
        let failed = |number, text: &[u8]| Written {
            container: ContainerReport {
                state: ContainerState::Complete,
                exit_status: ContainerExit(1),
                item: Some(7),
                ..example_container(number)
            },
            log: Ok(text.to_vec()),
        };
        let logs = [failed(1, b"one"), failed(2, b"two\n")];
        assert_eq!(render_logs(&logs[..1], LogName::Stdout, OutputForm::Table), "one");
        insta::assert_snapshot!(render_logs(&logs, LogName::Stdout, OutputForm::Table), @r"
        --- container_1700000000000_0001_00_000001 item 7 on h1:50060 exit 1
        one
        --- container_1700000000000_0001_00_000002 item 7 on h1:50060 exit 1
        two
        ");
        insta::assert_snapshot!(render_logs(&logs[..1], LogName::Stderr, OutputForm::Json), @r#"
        [
          {
            "container": "container_1700000000000_0001_00_000001",
            "error": null,
            "item": 7,
            "log": "stderr",
            "node": "h1:50060",
            "text": "one"
          }
        ]
        "#);
        let mut silent = [failed(1, b""), failed(2, b"")];
        silent[0].container.diagnostics = "the program \"./x\" cannot be started: No such file".to_owned();
        insta::assert_snapshot!(render_logs(&silent, LogName::Stdout, OutputForm::Table), @r#"
        --- container_1700000000000_0001_00_000001 item 7 on h1:50060 exit 1
          the program "./x" cannot be started: No such file
        --- container_1700000000000_0001_00_000002 item 7 on h1:50060 exit 1
        "#);
        let said = emptiness(&silent[0], LogName::Stdout).unwrap();
        assert!(said.ends_with("cannot be started: No such file; its standard error output: --stderr"), "{said}");
        assert_eq!(emptiness(&logs[0], LogName::Stdout), None);
        assert!(render_logs(&[], LogName::Stdout, OutputForm::Table).starts_with("no container has failed"));
    }
}

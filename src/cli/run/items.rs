//! Follows many items to their end.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use tokio::time::sleep;

use crate::api::applications::{ApplicationReport, ContainerReport, ContainerState, ReportedFinalStatus};
use crate::cli::app::{AppCommandError, failure_text};
use crate::cli::market_text::{OutputForm, json};
use crate::cli::pasted::{pasted, pasted_at};
use crate::cli::prompts::Choice;
use crate::cli::terminal::print_error;
use crate::client::applications::{ApplicationClient, ContainerQuery, WorkItems, items_without};
use crate::model::{ApplicationId, ContainerExit};

use super::interrupts::{INTERRUPTED_BASE, Interrupts};
use super::one_command::{is_finished, say};
use super::progress::ItemProgress;

/// Pause between two reports: thousands of items end in a second.
const PAUSE: Duration = Duration::from_millis(100);
/// Most items of which those that are not done are named.
const MOST_ITEMS_AGAIN: u64 = 100_000;
/// Exit code unless every item has ended with 0.
const ITEMS_FAILED: u8 = 1;

/// Shows progress until all items have ended; returns the text to print and the exit code. An interrupt asks what to
/// do; where there is no terminal to ask, the first kills all of it, and the second leaves it to its end.
pub(super) async fn follow_items(
    client: &ApplicationClient,
    application: ApplicationId,
    work: &WorkItems,
    form: OutputForm,
    interrupts: &mut Interrupts,
    ask: impl AsyncFn() -> Option<Choice>,
) -> Result<(String, u8), AppCommandError> {
    let mut progress = ItemProgress::new(work.count);
    let mut known = None;
    let mut signal = None;
    loop {
        let mut next = pin!(client.next_report(application, known, |news| say(application, news)));
        let report = loop {
            tokio::select! {
                report = &mut next => break report?,
                Some(number) = interrupts.recv() => {
                    let choice = ask().await.unwrap_or(Choice::Kill);
                    // Ctrl-C at the prompt has come here, too.
                    while interrupts.try_recv().is_ok() {}
                    match choice {
                        Choice::Continue => {}
                        Choice::Kill if signal.replace(number).is_none() => drop(client.kill(application).await?),
                        Choice::Kill => return Ok((String::new(), INTERRUPTED_BASE.saturating_add(number))),
                        Choice::Detach => {
                            progress.end();
                            print_error(&detached(application, client.server()));
                            return Ok((String::new(), 0));
                        }
                    }
                }
            }
        };
        progress.show(&report);
        if is_finished(&report) {
            progress.end();
            let has_failures = form == OutputForm::Table && !report.failed_items.is_empty();
            let failures = if has_failures { failure_text(client, application).await? } else { String::new() };
            let code = match (signal, report.final_status) {
                (Some(number), _) => INTERRUPTED_BASE.saturating_add(number),
                (None, ReportedFinalStatus::Succeeded) => 0,
                (None, _) => ITEMS_FAILED,
            };
            let again =
                if code == 0 || form == OutputForm::Json { None } else { again(client, application, work).await };
            return Ok((render_end(&report, &failures, again.as_deref(), work.count, form), code));
        }
        known = Some(report.version);
        sleep(PAUSE).await;
    }
}

fn detached(application: ApplicationId, server: &str) -> String {
    let command =
        |verb: &str| pasted_at(&format!("jobtracker app {verb} {application}"), &format!("--server {server}"));
    format!("{application} keeps running; see it with `{}`, kill it with `{}`", command("status"), command("kill"))
}

/// The items that are not done, those that never ran among them; none if they are too many to look at.
async fn again(client: &ApplicationClient, application: ApplicationId, work: &WorkItems) -> Option<String> {
    let containers = client.containers(application, ContainerQuery::default()).await.ok()?;
    let is_done = |container: &ContainerReport| {
        container.state == ContainerState::Complete && container.exit_status == ContainerExit::SUCCESS
    };
    let done: BTreeSet<u32> =
        containers.iter().filter(|container| is_done(container)).filter_map(|container| container.item).collect();
    items_without(&work.items, &done, MOST_ITEMS_AGAIN)
}

/// `failures`: why items failed, in whole lines; `again`: the items that are not done, where that is known.
fn render_end(report: &ApplicationReport, failures: &str, again: Option<&str>, count: u64, form: OutputForm) -> String {
    let ApplicationReport { id, state, final_status, failed_items, diagnostics, cost, .. } = report;
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    if form == OutputForm::Json {
        return json(&serde_json::json!({
            "application": id, "items": count, "state": state, "final_status": final_status,
            "completed_containers": report.completed_containers, "failed_containers": report.failed_containers,
            "failed_items": given(failed_items), "diagnostics": given(diagnostics), "elapsed_ms": report.elapsed_time,
            "cost": cost,
        }));
    }
    let why = given(diagnostics).map(|why| format!(": {}", why.trim_end())).unwrap_or_default();
    let mut text = format!("{id} {}{why}\n{failures}", final_status.name());
    if !failed_items.is_empty() {
        text += &format!("failed  {failed_items}\n");
        text += &format!("logs    {}\n", pasted(&format!("jobtracker app logs {id}")));
    }
    let again = again.unwrap_or(failed_items);
    if !again.is_empty() {
        text += &format!("again   --array {again}\n");
    }
    if let Some(cost) = cost {
        text += &format!("cost    {cost}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::applications::ApplicationState;
    use crate::client::applications::tests::example_application;

    #[test]
    fn failed_items_are_written_as_array_takes_them() {
        let failed = ApplicationReport {
            state: ApplicationState::Finished,
            final_status: ReportedFinalStatus::Failed,
            failed_items: "7,19-21".to_owned(),
            cost: Some("1.5".parse().unwrap()),
            ..example_application()
        };
        let text = render_end(&failed, "", Some("7,19-21,90-100"), 100, OutputForm::Table);
        assert!(text.contains("again   --array 7,19-21,90-100\n"), "those that never ran too: {text}");
        insta::assert_snapshot!(render_end(&failed, "item 7: exit code 3\n", None, 100, OutputForm::Table), @r"
        application_1700000000000_0001 FAILED
        item 7: exit code 3
        failed  7,19-21
        logs    jobtracker app logs application_1700000000000_0001
        again   --array 7,19-21
        cost    1.5
        ");
        insta::assert_snapshot!(render_end(&failed, "", None, 100, OutputForm::Json), @r#"
        {
          "application": "application_1700000000000_0001",
          "completed_containers": 0,
          "cost": "1.5",
          "diagnostics": null,
          "elapsed_ms": 65000,
          "failed_containers": 0,
          "failed_items": "7,19-21",
          "final_status": "FAILED",
          "items": 100,
          "state": "FINISHED"
        }
        "#);
        let (final_status, failed_items) = (ReportedFinalStatus::Succeeded, String::new());
        let good = ApplicationReport { final_status, failed_items, cost: None, ..failed };
        insta::assert_snapshot!(render_end(&good, "", None, 100, OutputForm::Table), @"application_1700000000000_0001 SUCCEEDED");
    }
}

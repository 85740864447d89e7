//! `jobtracker app status`: shows an application.

use std::fmt::{self, Write as _};

use crate::api::applications::{
    ApplicationReport, ApplicationStatus, ContainerReport, ContainerRow, ItemCounts, ReportedFinalStatus,
    UnlaunchedHold,
};
use crate::cli::market_command::MarketArguments;
use crate::cli::market_text::{OutputForm, format_duration, json};
use crate::cli::time_text::format_time;
use crate::client::applications::ContainerQuery;
use crate::model::ApplicationId;

use super::connection::{AppCommandError, client_of};
use super::container_table::{render_containers, waiting_text};
use super::failures::failure_text;
use crate::cli::terminal::one_line;

/// Options of `app status`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AppStatusArguments {
    /// Application id, such as application_1700000000000_0001
    #[arg(value_name = "APPLICATION")]
    application: ApplicationId,
    /// List its containers
    #[arg(long)]
    containers: bool,
    /// List its containers that have failed
    #[arg(long)]
    failed: bool,
    /// Server, signer, output form.
    #[command(flatten)]
    pub(super) market: MarketArguments,
}

pub(super) async fn status(arguments: &AppStatusArguments) -> Result<String, AppCommandError> {
    let AppStatusArguments { application, containers, failed, market } = arguments;
    let client = client_of(market)?;
    let report = client.report(*application).await?;
    let listed = match (containers, failed) {
        (false, false) => None,
        (_, failed_only) => {
            let query = ContainerQuery { failed_only: *failed_only, ..ContainerQuery::default() };
            Some(client.containers(*application, query).await?)
        }
    };
    let mut text = render_status(&report, listed.as_deref(), market.form());
    if listed.is_none() && market.form() == OutputForm::Table && !report.failed_items.is_empty() {
        text += &failure_text(&client, *application).await?;
    }
    Ok(text)
}

fn render_status(report: &ApplicationReport, containers: Option<&[ContainerReport]>, form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(&status_json(report, containers));
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_title(&mut text, report)
        .and_then(|()| write_containers(&mut text, report))
        .and_then(|()| write_course(&mut text, report))
        .and_then(|()| write_obstacles(&mut text, report));
    match containers {
        None => text,
        Some([]) => text + "\nno such containers\n",
        Some(containers) => text + "\n" + &render_containers(containers),
    }
}

fn write_title(text: &mut String, report: &ApplicationReport) -> fmt::Result {
    let ApplicationReport { id, name, user, queue, .. } = report;
    let result = match report.final_status {
        ReportedFinalStatus::Undefined => String::new(),
        status if status.name() == report.state.name() => String::new(),
        status => format!(" ({})", status.name()),
    };
    writeln!(text, "{id} {}{result}: {name:?} of {} in queue {}", report.state.name(), one_line(user), one_line(queue))
}

/// How many containers and items there are, and what they hold and use.
fn write_containers(text: &mut String, report: &ApplicationReport) -> fmt::Result {
    let ApplicationReport { running_containers, pending_containers, completed_containers, .. } = report;
    write!(
        text,
        "  containers  {running_containers} running, {pending_containers} waiting, {completed_containers} complete"
    )?;
    for (count, what) in [(report.failed_containers, "failed"), (report.preempted_containers, "preempted")] {
        if count > 0 {
            write!(text, ", {count} of them {what}")?;
        }
    }
    text.push('\n');
    if let Some(ItemCounts { total, done }) = report.items {
        writeln!(text, "  items       {done} of {total} done")?;
    }
    if *running_containers > 0 {
        let cores = if report.allocated_vcores == 1 { "core" } else { "cores" };
        writeln!(text, "  holds       {} MB, {} {cores}", report.allocated_mb, report.allocated_vcores)?;
    }
    if report.live_memory_mb > 0 || report.live_cpu_ms > 0 {
        let cpu_s = format!("{}.{:03}", report.live_cpu_ms / 1000, report.live_cpu_ms % 1000);
        writeln!(text, "  uses        {} MB, {cpu_s} s of CPU so far", report.live_memory_mb)?;
    }
    if let Some(UnlaunchedHold { containers, slots, until, .. }) = report.unlaunched {
        let until = format_time(until);
        writeln!(
            text,
            "  unlaunched  {containers} containers of {slots} slots; it loses them from {until} on unless it calls"
        )?;
    }
    Ok(())
}

/// Its times, progress, page and cost, and which items failed.
fn write_course(text: &mut String, report: &ApplicationReport) -> fmt::Result {
    let ApplicationReport { started_time, finished_time, elapsed_time, .. } = report;
    let ended = if *finished_time > 0 { format!(", ended {}", format_time(*finished_time)) } else { String::new() };
    let took = format_duration(u64::try_from(elapsed_time / 1000).ok());
    writeln!(text, "  started     {}{ended}, {took}", format_time(*started_time))?;
    if report.attempt > 0 {
        writeln!(text, "  progress    {:.0}%, attempt {}", report.progress, report.attempt)?;
    }
    if !report.tracking_url.is_empty() {
        writeln!(text, "  page        {}", one_line(&report.tracking_url))?;
    }
    if let Some(cost) = report.cost {
        writeln!(text, "  cost        {cost}")?;
    }
    if !report.failed_items.is_empty() {
        writeln!(text, "  failed      {}", one_line(&report.failed_items))?;
    }
    Ok(())
}

/// What it waits for, and why it ended as it did.
fn write_obstacles(text: &mut String, report: &ApplicationReport) -> fmt::Result {
    if let Some(why) = report.cannot_run.as_ref().filter(|_| !report.state.is_over()) {
        writeln!(text, "  waits       {why}")?;
    }
    // What no worker can run, or is paused, waits for nothing else.
    for waiting in report.why.iter().filter(|_| !report.state.is_over() && report.cannot_run.is_none()) {
        writeln!(text, "  waits       {}", waiting_text(waiting))?;
    }
    if let Some(UnlaunchedHold { applications, containers, slots, until }) = report.held_by_others {
        let until = format_time(until);
        let of = if applications == 1 { "another application has" } else { "other applications have" };
        writeln!(
            text,
            "  held        {slots} slots by {containers} containers that {of} not launched, until {until} at most"
        )?;
    }
    if !report.diagnostics.is_empty() {
        // Further lines stand below the text, never where this program writes words of its own.
        let lines: Vec<String> = report.diagnostics.trim_end().lines().map(one_line).collect();
        writeln!(text, "  why         {}", lines.join("\n              "))?;
    }
    Ok(())
}

fn status_json(report: &ApplicationReport, containers: Option<&[ContainerReport]>) -> serde_json::Value {
    let containers = containers.map(|containers| containers.iter().map(ContainerRow::from).collect());
    serde_json::json!(ApplicationStatus { containers, ..ApplicationStatus::from(report) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::applications::{ApplicationState, WaitingReason, WaitingRequest};
    use crate::client::applications::tests::{example_application, example_container};
    use crate::model::Capability;

    #[test]
    fn an_application_is_shown_with_what_it_waits_for() {
        let capability = Capability::new(1024, 1);
        let why = vec![WaitingRequest {
            priority: 1,
            capability,
            reason: WaitingReason::NoneFree,
            unmet_rows: 0,
            unmet: Vec::new(),
        }];
        let waiting = ApplicationReport { why, cost: Some("1.5".parse().unwrap()), ..example_application() };
        insta::assert_snapshot!(render_status(&waiting, Some(&[example_container(1)]), OutputForm::Table), @r#"
        application_1700000000000_0001 ACCEPTED: "simulate" of alice in queue default
          containers  1 running, 2 waiting, 0 complete
          holds       1024 MB, 1 core
          started     2023-11-14T22:13:20Z, 1m 5s
          cost        1.5
          waits       containers of 1024 MB, 1 core at priority 1: no worker has as much free

        CONTAINER                               STATE    NODE      STARTED               RAN  EXIT  WHY
        container_1700000000000_0001_00_000001  RUNNING  h1:50060  2023-11-14T22:13:20Z  -    -
        "#);
        let ill = "none of the 1 connected workers can run it: w1: its disks have less free room";
        let nowhere = ApplicationReport { cannot_run: Some(ill.to_owned()), ..waiting.clone() };
        let text = render_status(&nowhere, None, OutputForm::Table);
        let waits: Vec<&str> = text.lines().filter(|line| line.contains("  waits  ")).collect();
        assert_eq!(waits, [format!("  waits       {ill}")]);
        let ended = ApplicationReport {
            state: ApplicationState::Finished,
            final_status: ReportedFinalStatus::Failed,
            finished_time: waiting.started_time + 90_000,
            running_containers: 0,
            diagnostics: "2 items have failed".to_owned(),
            failed_items: "7,19".to_owned(),
            completed_containers: 8,
            preempted_containers: 4,
            items: Some(ItemCounts { total: 24, done: 2 }),
            ..waiting
        };
        insta::assert_snapshot!(render_status(&ended, Some(&[]), OutputForm::Table), @r#"
        application_1700000000000_0001 FINISHED (FAILED): "simulate" of alice in queue default
          containers  0 running, 2 waiting, 8 complete, 4 of them preempted
          items       2 of 24 done
          started     2023-11-14T22:13:20Z, ended 2023-11-14T22:14:50Z, 1m 5s
          cost        1.5
          failed      7,19
          why         2 items have failed

        no such containers
        "#);
    }

    #[test]
    fn programs_read_one_spelling() {
        insta::assert_snapshot!(render_status(&example_application(), Some(&[example_container(1)]), OutputForm::Json), @r#"
        {
          "application": "application_1700000000000_0001",
          "attempt": 0,
          "cannot_run": null,
          "completed_containers": 0,
          "containers": [
            {
              "container": "container_1700000000000_0001_00_000001",
              "cores": 1,
              "cpu_ms": 34,
              "diagnostics": null,
              "exit_status": null,
              "finished_ms": null,
              "granted_ms": 1700000000100,
              "item": null,
              "item_attempt": null,
              "live_memory_mb": 0,
              "memory_mb": 1024,
              "node": "h1:50060",
              "peak_memory_mb": 12,
              "rack": "/default-rack",
              "started_ms": 1700000000300,
              "state": "RUNNING"
            }
          ],
          "core_s": 65,
          "cores": 1,
          "cost": null,
          "diagnostics": null,
          "elapsed_ms": 65000,
          "failed_containers": 0,
          "failed_items": null,
          "final_status": "UNDEFINED",
          "finished_ms": null,
          "held_by_others": null,
          "items": null,
          "live_cpu_ms": 0,
          "live_memory_mb": 0,
          "memory_mb": 1024,
          "memory_mb_s": 66560,
          "name": "simulate",
          "pending_containers": 2,
          "preempted_containers": 0,
          "progress_percent": 0.0,
          "queue": "default",
          "requests": [
            {
              "allocation_request_id": 0,
              "containers": 2,
              "cores": 1,
              "items": null,
              "memory_mb": 1024,
              "priority": 1,
              "relax_locality": true,
              "resource_name": "*"
            }
          ],
          "running_containers": 1,
          "slots": 1,
          "started_ms": 1700000000000,
          "state": "ACCEPTED",
          "type": "run",
          "unattended": true,
          "unlaunched": null,
          "url": null,
          "user": "alice",
          "why": []
        }
        "#);
    }
}

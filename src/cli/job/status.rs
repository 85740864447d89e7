//! `jobtracker job status`: shows a job's progress and cost. Progress comes by RPC, cost by HTTP, which only this JobTracker serves. Where
//! only a web server is named, as by `--server`, both come by HTTP.

use std::fmt::Write as _;

use crate::cli::explain::{explanation, render_status};
use crate::cli::market_text::{OutputForm, format_duration, json};
use crate::cli::time_text::{format_time, with_shown_times};
use crate::client::job::view::{DeadlineLine, JobEvent, JobLine, JobState, TaskTally};
use crate::client::job::watch::JobCostState;
use crate::client::job::{JobClientError, JobId, JobTrackerClient, Kind};

use super::connection::{ConnectionArguments, JobCommandError};
use super::failures::AttemptFailures;
use super::progress::render_lost;
use super::submit_arguments::due_text;
use super::times::{ListedJob, Times, add_cost, render_cost_line};

/// Failed attempts that are looked at.
const MOST_FAILURES: usize = 100;

/// Events of a job that has not failed that are looked at for failed attempts.
const MOST_EVENTS: u32 = 10_000;

/// Options of `job status`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StatusArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn status(arguments: &StatusArguments) -> Result<String, JobCommandError> {
    let StatusArguments { job, connection } = arguments;
    let place = connection.market.place.find(&[])?;
    let is_rpc_named = place.has_rpc();
    if place.named_http().is_some() && !is_rpc_named {
        return Ok(render_status(&explanation(&job.to_string(), &connection.market).await?, connection.form()));
    }
    match by_rpc(*job, connection).await {
        // No RPC address is given: the web server may be at its default address.
        Err(JobCommandError::Client(unreachable @ JobClientError::Unreachable { .. })) if !is_rpc_named => {
            let explained = explanation(&job.to_string(), &connection.market).await;
            explained.map(|explained| render_status(&explained, connection.form())).map_err(|_| unreachable.into())
        }
        other => other,
    }
}

async fn by_rpc(id: JobId, connection: &ConnectionArguments) -> Result<String, JobCommandError> {
    let mut jobtracker = connection.jobtracker().await?;
    let job = jobtracker.job(id).await?;
    let map = job.tally_at_end(Kind::Map, jobtracker.tally(id, Kind::Map).await?);
    let reduce = job.tally_at_end(Kind::Reduce, jobtracker.tally(id, Kind::Reduce).await?);
    let cost = connection.costs(&job)?.cost_of(id, &JobCostState::None).await;
    let (failures, shown) = match job.state {
        JobState::Failed => first_failures(&mut jobtracker, id, u32::MAX).await?,
        // It may be on its way there: what failed is worth a word, and no refusal.
        JobState::Running | JobState::Killed => {
            first_failures(&mut jobtracker, id, MOST_EVENTS).await.unwrap_or_default()
        }
        _ => (AttemptFailures::default(), String::new()),
    };
    let reason = failures.reason(&job, &map, &reduce);
    let shown = if job.state == JobState::Failed { shown } else { failures.count_text() + &shown };
    let form = connection.form();
    let times = Times::of(connection, std::slice::from_ref(&job)).await?;
    let text = render_job(&times.timed(&job), &map, &reduce, &cost, reason.as_deref(), form);
    Ok(if form == OutputForm::Json { text } else { text + &shown })
}

/// The failures of a job in its first events, so many at most, and the text of them.
async fn first_failures(
    jobtracker: &mut JobTrackerClient,
    job: JobId,
    most_events: u32,
) -> Result<(AttemptFailures, String), JobCommandError> {
    let mut failures = AttemptFailures::default();
    let mut text = String::new();
    let events = jobtracker.events(job, 0, most_events).await?;
    for event in events.iter().filter(|event| event.has_failed()).take(MOST_FAILURES) {
        let diagnostics = jobtracker.diagnostics(event.attempt).await?;
        if !JobEvent::was_stopped(&diagnostics) {
            text.extend(failures.add(event, &diagnostics).map(|shown| shown + "\n"));
        }
    }
    text += &failures.render_rest();
    Ok((failures, text))
}

fn render_job(
    timed: &ListedJob<'_>,
    map: &TaskTally,
    reduce: &TaskTally,
    cost: &JobCostState,
    reason: Option<&str>,
    form: OutputForm,
) -> String {
    let ListedJob { job, finish_ms, elapsed_ms, end_notification, .. } = timed;
    if form == OutputForm::Json {
        let mut object = serde_json::json!({
            "job": job.job, "name": job.name, "user": job.user, "queue": job.queue, "state": job.state,
            "priority": job.priority, "started_ms": job.started_ms, "finish_ms": finish_ms, "elapsed_ms": elapsed_ms, "failure": job.failure, "killed_by": job.killed_by, "url": job.url,
            "held": job.held, "cannot_run": job.cannot_run, "may_not_begin": job.may_not_begin, "deadline": job.deadline, "end_notification": end_notification, "tasks": { "map": map, "reduce": reduce },
        });
        add_cost(&mut object, cost);
        return json(&object);
    }
    let JobLine { job: id, state, name, user, queue, started_ms, .. } = job;
    let mut text = format!("{id} {}: {name:?} of {user} in queue {queue}\n", state.name());
    // Writing to a string cannot fail.
    let kinds = [("maps", map), ("reduces", reduce)];
    for (what, tally) in kinds.into_iter().filter(|(_, tally)| tally.total > 0 || *state == JobState::Prep) {
        let TaskTally { total, finished, running, pending, .. } = tally;
        let _ = write!(text, "  {what:<8} {finished} of {total} done, {running} running, {pending} waiting");
        text += &(render_lost(tally) + "\n");
    }
    let took = elapsed_ms.and_then(|ms| u64::try_from(ms / 1000).ok());
    let ended = finish_ms.map(|ms| format!(", ended {}", format_time(ms))).unwrap_or_default();
    let took = took.map(|s| format!(", {}", format_duration(Some(s)))).unwrap_or_default();
    let _ = writeln!(text, "  started  {}{ended}{took}", format_time(*started_ms));
    if let Some(why) = job.why_it_waits() {
        let _ = writeln!(text, "  waits    {why}");
    }
    if let Some(deadline @ DeadlineLine { state, plan, .. }) = &job.deadline {
        let due = due_text(deadline, *started_ms);
        let _ = match job.late_by() {
            // The time left is that of its end.
            Some(late) => writeln!(text, "  deadline {}, {late}", due.split(" (").next().unwrap_or_default()),
            None => writeln!(text, "  deadline {due}, {state}: {}", with_shown_times(plan)),
        };
    }
    if let Some(why) = end_notification {
        let _ = writeln!(text, "  notified {why}");
    }
    if let Some(cost) = render_cost_line(cost) {
        let _ = writeln!(text, "  cost     {cost}");
    }
    if let Some(reason) = reason {
        let _ = writeln!(text, "  why      {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_shown_as_over_http() {
        let job = JobLine {
            state: JobState::Failed,
            map_percent: None,
            reduce_percent: None,
            deadline: Some(DeadlineLine::example()),
            failure: Some("# of failed Map Tasks exceeded allowed limit\n".into()),
            ..JobLine::example()
        };
        let map = TaskTally { total: 5, finished: 3, pending: 1, failed: 1, ..TaskTally::default() };
        let reduce = TaskTally { total: 1, pending: 1, ..TaskTally::default() };
        let reason = AttemptFailures::default().reason(&job, &map, &reduce);
        let timed = ListedJob {
            job: &job,
            finish_ms: Some(job.started_ms + 65_000),
            elapsed_ms: Some(65_000),
            cost: None,
            cost_error: None,
            end_notification: Some("not yet: 2 calls failed, the last one: the server answered 500".to_owned()),
        };
        let text = render_job(
            &timed,
            &map,
            &reduce,
            &JobCostState::UpToLastTick("0.75".to_owned()),
            reason.as_deref(),
            OutputForm::Table,
        );
        // As the clock of this machine's zone shows it.
        let due = due_text(&DeadlineLine::example(), job.started_ms);
        insta::assert_snapshot!(text.replace(&due, "DUE"), @r#"
        job_202611211200_0001 FAILED: "word count" of alice in queue alice
          maps     3 of 5 done, 0 running, 1 waiting, 1 failed
          reduces  0 of 1 done, 0 running, 1 waiting
          started  2023-11-14T22:13:20Z, ended 2023-11-14T22:14:25Z, 1m 5s
          deadline DUE, ON_TIME: Maps 6/6 minimum. Reduces 0/6 minimum. Reduce start limit 331.9 s.
          notified not yet: 2 calls failed, the last one: the server answered 500
          cost     0.75 up to the last tick
          why      # of failed Map Tasks exceeded allowed limit
        "#);
    }
}

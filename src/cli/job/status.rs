//! `jobtracker job status`: shows a job's progress and cost.
//!
//! Progress comes by RPC, cost by HTTP, which only this JobTracker serves. With `--server` alone, both come by HTTP.

use std::fmt::Write as _;

use crate::cli::explain::explanation;
use crate::cli::explain_text::render_status;
use crate::cli::market_text::{Form, json};
use crate::client::job::deadline_line::DeadlineLine;
use crate::client::job::view::{JobLine, TaskTally};
use crate::client::job::{JobClientError, JobId, Kind};

use super::connection::ConnectionArguments;
use super::error::JobCommandError;

/// Options of `job status`.
#[derive(Clone, Debug, clap::Args)]
pub struct StatusArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn status(arguments: &StatusArguments) -> Result<String, JobCommandError> {
    let StatusArguments { job, connection } = arguments;
    let is_rpc_named = connection.jobtracker.is_some() || connection.conf.is_some();
    if connection.market.server.is_some() && !is_rpc_named {
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
    let mut jobtracker = connection.jobtracker()?;
    let job = jobtracker.job(id).await?;
    let map = jobtracker.tally(id, Kind::Map).await?;
    let reduce = jobtracker.tally(id, Kind::Reduce).await?;
    let cost = connection.costs(&job)?.cost_of(id).await.ok().flatten();
    Ok(render_job(&job, &map, &reduce, cost.as_deref(), connection.form()))
}

fn render_job(job: &JobLine, map: &TaskTally, reduce: &TaskTally, cost: Option<&str>, form: Form) -> String {
    if form == Form::Json {
        return json(&serde_json::json!({
            "job": job.job, "name": job.name, "user": job.user, "queue": job.queue, "state": job.state,
            "priority": job.priority, "started_ms": job.started_ms, "failure": job.failure, "url": job.url,
            "deadline": job.deadline, "tasks": { "map": map, "reduce": reduce }, "cost": cost,
        }));
    }
    let JobLine { job: id, state, name, user, queue, failure, .. } = job;
    let mut text = format!("{id} {}: {name:?} of {user} in queue {queue}\n", state.name());
    // Writing to a string cannot fail.
    for (what, TaskTally { total, finished, running, pending, failed }) in [("maps", map), ("reduces", reduce)] {
        let _ = write!(text, "  {what:<8} {finished} of {total} done, {running} running, {pending} waiting");
        text += &if *failed > 0 { format!(", {failed} failed\n") } else { "\n".to_owned() };
    }
    if let Some(DeadlineLine { after_s, left_s, state, plan }) = &job.deadline {
        let _ = writeln!(text, "  deadline {after_s} s after its submission, {left_s} s left, {state}: {plan}");
    }
    if let Some(cost) = cost {
        let _ = writeln!(text, "  cost     {cost} up to the last tick");
    }
    if let Some(failure) = failure {
        let _ = writeln!(text, "  why      {}", failure.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::job::view::JobState;

    #[test]
    fn a_job_is_shown_as_over_http() {
        let job = JobLine {
            state: JobState::Failed,
            map_percent: 100,
            reduce_percent: 100,
            deadline: Some(DeadlineLine::example()),
            failure: Some("# of failed Map Tasks exceeded allowed limit\n".into()),
            ..JobLine::example()
        };
        let map = TaskTally { total: 5, finished: 3, running: 0, pending: 1, failed: 1 };
        let reduce = TaskTally { total: 1, pending: 1, ..TaskTally::default() };
        insta::assert_snapshot!(render_job(&job, &map, &reduce, Some("0.75"), Form::Table), @r#"
        job_202611211200_0001 FAILED: "word count" of alice in queue alice
          maps     3 of 5 done, 0 running, 1 waiting, 1 failed
          reduces  0 of 1 done, 0 running, 1 waiting
          deadline 600.0 s after its submission, 412.5 s left, ON_TIME: Maps 6/6 minimum. Reduces 0/6 minimum. Reduce start limit 331.9 s.
          cost     0.75 up to the last tick
          why      # of failed Map Tasks exceeded allowed limit
        "#);
    }
}

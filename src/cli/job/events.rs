//! `jobtracker job events`: lists a job's completion events.

use crate::cli::market_text::{OutputForm, columns, json, lines};
use crate::cli::values::whole_number;
use crate::client::job::JobId;
use crate::client::job::view::JobEvent;

use super::connection::{ConnectionArguments, JobCommandError};

/// Options of `job events`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct EventsArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    /// Number of the first event, from 0
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = whole_number::<0>)]
    from: u32,
    /// Maximum number of events; default: all
    #[arg(long, value_name = "NUMBER", value_parser = whole_number::<0>)]
    count: Option<u32>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn events(arguments: &EventsArguments) -> Result<String, JobCommandError> {
    let mut jobtracker = arguments.connection.jobtracker().await?;
    // An unknown job has no events; this call reports that it is unknown.
    jobtracker.job(arguments.job).await?;
    let events = jobtracker.events(arguments.job, arguments.from, arguments.count.unwrap_or(u32::MAX)).await?;
    Ok(render_events(&events, arguments.connection.form()))
}

fn render_events(events: &[JobEvent], form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(&events);
    }
    let mut table = columns(&["event", "attempt", "task", "status", "tracker", "took ms"], 5);
    for JobEvent { number, attempt, task, status, tracker, run_time_ms } in events {
        let cells =
            [number.to_string(), attempt.to_string(), (*task).to_owned(), (*status).to_owned(), tracker.clone()];
        table.add_row(cells.into_iter().chain([run_time_ms.to_string()]));
    }
    lines(&table)
}

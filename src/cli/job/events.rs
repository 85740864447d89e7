//! `jobtracker job events`.

use super::error::JobCommandError;
use super::place::PlaceArguments;
use crate::cli::market_text::{Form, columns, json, lines};
use crate::client::job::JobId;
use crate::client::job::view::AttemptLine;

/// Which job, and which of its events.
#[derive(Clone, Debug, clap::Args)]
pub struct EventsArguments {
    /// Its id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    /// The first event, from 0
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    from: u32,
    /// At most so many; all if not given
    #[arg(long, value_name = "NUMBER")]
    count: Option<u32>,
    /// Where, who and how.
    #[command(flatten)]
    place: PlaceArguments,
}

pub(super) async fn events(arguments: &EventsArguments) -> Result<String, JobCommandError> {
    let mut jobtracker = arguments.place.jobtracker()?;
    // A job that is not known has no events, which would not say why.
    jobtracker.job(arguments.job).await?;
    let events = jobtracker.events(arguments.job, arguments.from, arguments.count.unwrap_or(u32::MAX)).await?;
    Ok(events_text(&events, arguments.place.form()))
}

fn events_text(events: &[AttemptLine], form: Form) -> String {
    if form == Form::Json {
        return json(&events);
    }
    let mut table = columns(&["event", "attempt", "task", "status", "tracker", "took ms"], 5);
    for AttemptLine { number, attempt, task, status, tracker, run_time_ms } in events {
        let cells =
            [number.to_string(), attempt.to_string(), (*task).to_owned(), (*status).to_owned(), tracker.clone()];
        table.add_row(cells.into_iter().chain([run_time_ms.to_string()]));
    }
    lines(&table)
}

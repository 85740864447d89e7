//! `jobtracker job deadline`: changes the deadline of a job.

use jiff::Timestamp;

use crate::api::{DueText, parse_duration_ms};
use crate::cli::market_command::MarketCommandError;
use crate::cli::market_text::{OutputForm, json};
use crate::cli::time_text::{parse_due, with_shown_times};
use crate::client::job::JobId;
use crate::client::signed_query::escaped;

use super::connection::{ConnectionArguments, JobCommandError};
use super::signed_change::ChangeWay;
use super::submit_arguments::due_text;

/// Options of `job deadline`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DeadlineOfJobArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    /// When the job must be done: a duration from now, such as 20m, or a time, such as 18:00 or 2026-11-22T18:00, local unless
    /// it has an offset; one of today that is past is of tomorrow
    #[arg(value_name = "DURATION|TIME", value_parser = parse_due, required_unless_present = "clear")]
    deadline: Option<DueText>,
    /// Take the deadline away
    #[arg(long, conflicts_with_all = ["deadline", "map_time", "reduce_time", "filter_ratio"])]
    clear: bool,
    /// Time that a map takes, such as 40s; default: as before
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    map_time: Option<u64>,
    /// Time that a reduce takes, such as 3m; default: as before
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    reduce_time: Option<u64>,
    /// Map output by map input, such as 0.3; default: as before
    #[arg(long, value_name = "RATIO")]
    filter_ratio: Option<String>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

impl DeadlineOfJobArguments {
    /// The change as a query.
    fn change(&self) -> String {
        let Some(deadline) = self.deadline else { return "clear".to_owned() };
        let mut query = match deadline {
            DueText::AfterMs(ms) => format!("deadline={ms}ms"),
            // It was parsed from a time, so it is one.
            DueText::AtMs(ms) => {
                let time = Timestamp::from_millisecond(ms).map(|time| time.to_string()).unwrap_or_default();
                format!("deadline={}", escaped(&time))
            }
        };
        for (name, ms) in [("mapTime", self.map_time), ("reduceTime", self.reduce_time)] {
            if let Some(ms) = ms {
                query += &format!("&{name}={ms}ms");
            }
        }
        if let Some(ratio) = &self.filter_ratio {
            query += &format!("&filterRatio={}", escaped(ratio));
        }
        query
    }
}

pub(super) async fn deadline(arguments: &DeadlineOfJobArguments) -> Result<String, JobCommandError> {
    let DeadlineOfJobArguments { job, connection, .. } = arguments;
    let user = connection.market.signer.user()?;
    let mut connected = connection.connection(&[]).await?;
    let before = connected.jobtracker.job(*job).await?;
    if !ChangeWay::of(connection, &before).await?.sign(&format!("setJobDeadline={job}&{}", arguments.change())).await? {
        let changed = connected.market.change_deadline(&job.to_string(), &arguments.change(), &user).await;
        changed.map_err(MarketCommandError::from)?;
    }
    let line = connected.jobtracker.job(*job).await?;
    Ok(match connection.form() {
        OutputForm::Json => json(&serde_json::json!({ "job": job, "deadline": line.deadline })),
        OutputForm::Table => match &line.deadline {
            Some(deadline) => {
                let (state, plan) = (&deadline.state, with_shown_times(&deadline.plan));
                format!("{job} is due at {}, {state}: {plan}\n", due_text(deadline, line.started_ms))
            }
            None => format!("{job} has no deadline\n"),
        },
    })
}

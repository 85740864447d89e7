//! `jobtracker job kill`.

use super::error::JobCommandError;
use super::place::PlaceArguments;
use crate::cli::market_text::{Form, json};
use crate::client::job::JobId;

/// Which job.
#[derive(Clone, Debug, clap::Args)]
pub struct KillArguments {
    /// Its id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    /// Where, who and how.
    #[command(flatten)]
    place: PlaceArguments,
}

pub(super) async fn kill(arguments: &KillArguments) -> Result<String, JobCommandError> {
    let mut jobtracker = arguments.place.jobtracker()?;
    // A JobTracker passes over ids that it does not know.
    let job = jobtracker.job(arguments.job).await?;
    if !job.state.is_over() {
        jobtracker.kill(arguments.job).await?;
    }
    Ok(match (arguments.place.form(), job.state.is_over()) {
        (Form::Json, is_over) => json(&serde_json::json!({ "job": job.job, "kill_ordered": !is_over })),
        (Form::Table, true) => format!("{} is over already: {}\n", job.job, job.state.name()),
        (Form::Table, false) => format!("{} is told to end\n", job.job),
    })
}

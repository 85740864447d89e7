//! `jobtracker job kill`: requests the kill of a job.

use crate::cli::market_text::{Form, json};
use crate::client::job::JobId;

use super::connection::ConnectionArguments;
use super::error::JobCommandError;

/// Options of `job kill`.
#[derive(Clone, Debug, clap::Args)]
pub struct KillArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn kill(arguments: &KillArguments) -> Result<String, JobCommandError> {
    let mut jobtracker = arguments.connection.jobtracker()?;
    // A JobTracker ignores unknown ids.
    let job = jobtracker.job(arguments.job).await?;
    if !job.state.is_finished() {
        jobtracker.kill(arguments.job).await?;
    }
    Ok(match (arguments.connection.form(), job.state.is_finished()) {
        (Form::Json, is_finished) => json(&serde_json::json!({ "job": job.job, "kill_ordered": !is_finished })),
        (Form::Table, true) => format!("{} has already ended: {}\n", job.job, job.state.name()),
        (Form::Table, false) => format!("{}: kill requested\n", job.job),
    })
}

//! `jobtracker job hold` and `job release`: jobs of which nothing new starts.

use crate::cli::market_text::{Form, json};
use crate::client::job::JobId;
use crate::client::market::PauseOf;

use super::connection::ConnectionArguments;
use super::error::JobCommandError;
use super::signed_change::ChangeWay;

/// Options of `job hold` and `job release`.
#[derive(Clone, Debug, clap::Args)]
pub struct HoldArguments {
    /// Job ids, such as job_202611211200_0001
    #[arg(value_name = "JOB", required = true)]
    jobs: Vec<JobId>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn hold(arguments: &HoldArguments, is_on: bool) -> Result<String, JobCommandError> {
    let HoldArguments { jobs, connection } = arguments;
    let user = connection.market.signer.user()?;
    let mut connected = connection.connection(&[]).await?;
    let mut changed = Vec::with_capacity(jobs.len());
    for id in jobs {
        let before = connected.jobtracker.job(*id).await?;
        let (way, verb) = (ChangeWay::of(connection, &before).await?, if is_on { "holdJob" } else { "releaseJob" });
        if !way.sign(&format!("{verb}={id}")).await? {
            let paused = connected.market.pause(&PauseOf::Job(*id), is_on, &user, None).await;
            paused.map_err(|error| way.explained(JobCommandError::Market(error.into())))?;
        }
        changed.push(connected.jobtracker.job(*id).await?);
    }
    Ok(match connection.form() {
        Form::Json => {
            let line =
                |job: &crate::client::job::view::JobLine| serde_json::json!({ "job": job.job, "is_held": is_on });
            json(&changed.iter().map(line).collect::<Vec<_>>())
        }
        Form::Table => {
            let what = match is_on {
                true => "held: what runs ends, and nothing new starts until you release it",
                false => "released",
            };
            changed.iter().map(|job| format!("{}: {what}\n", job.job)).collect()
        }
    })
}

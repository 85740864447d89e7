//! `jobtracker job priority`: sets a job's priority.

use crate::cli::market_text::{Form, json};
use crate::client::job::JobId;

use super::connection::ConnectionArguments;
use super::error::JobCommandError;
use super::signed_change::ChangeWay;
use super::times::Times;

/// Options of `job priority`.
#[derive(Clone, Debug, clap::Args)]
pub struct PriorityArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    /// Priority among the jobs of the queue
    #[arg(value_name = "PRIORITY", ignore_case = true)]
    priority: PriorityArgument,
    #[command(flatten)]
    connection: ConnectionArguments,
}

/// What a user of the market must know.
const MARKET_NOTE: &str =
    ", which counts for nothing while the market rules: slots follow rates (jobtracker queue set-spending)";

/// Hadoop's priorities.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PriorityArgument {
    #[value(name = "VERY_HIGH")]
    VeryHigh,
    #[value(name = "HIGH")]
    High,
    #[value(name = "NORMAL")]
    Normal,
    #[value(name = "LOW")]
    Low,
    #[value(name = "VERY_LOW")]
    VeryLow,
}

// === impl PriorityArgument ===

impl PriorityArgument {
    const fn name(self) -> &'static str {
        match self {
            Self::VeryHigh => "VERY_HIGH",
            Self::High => "HIGH",
            Self::Normal => "NORMAL",
            Self::Low => "LOW",
            Self::VeryLow => "VERY_LOW",
        }
    }
}

pub(super) async fn priority(arguments: &PriorityArguments) -> Result<String, JobCommandError> {
    let mut jobtracker = arguments.connection.jobtracker()?;
    // A JobTracker ignores unknown ids.
    let job = jobtracker.job(arguments.job).await?;
    let (way, priority) = (ChangeWay::of(&arguments.connection, &job).await?, arguments.priority.name());
    if !way.sign(&format!("setJobPriority={}&priority={priority}", job.job)).await? {
        let set = jobtracker.set_priority(arguments.job, priority).await;
        set.map_err(|error| way.explained(error.into()))?;
    }
    let job = jobtracker.job(arguments.job).await?;
    Ok(match arguments.connection.form() {
        Form::Json => json(&serde_json::json!({ "job": job.job, "priority": job.priority })),
        Form::Table => {
            let is_market_ruling = Times::of(&arguments.connection, std::slice::from_ref(&job)).await?.has_costs;
            let note = if is_market_ruling { MARKET_NOTE } else { "" };
            format!("{} has priority {}{note}\n", job.job, job.priority)
        }
    })
}

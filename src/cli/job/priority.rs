//! `jobtracker job priority`.

use super::error::JobCommandError;
use super::place::PlaceArguments;
use crate::cli::market_text::{Form, json};
use crate::client::job::JobId;

/// Which job, and how urgent.
#[derive(Clone, Debug, clap::Args)]
pub struct PriorityArguments {
    /// Its id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    /// How urgent it is among the jobs of its queue
    #[arg(value_name = "PRIORITY", ignore_case = true)]
    priority: UrgencyArgument,
    /// Where, who and how.
    #[command(flatten)]
    place: PlaceArguments,
}

/// The priorities that Hadoop has.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum UrgencyArgument {
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

// === impl UrgencyArgument ===

impl UrgencyArgument {
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
    let mut jobtracker = arguments.place.jobtracker()?;
    // A JobTracker passes over ids that it does not know.
    jobtracker.job(arguments.job).await?;
    jobtracker.set_priority(arguments.job, arguments.priority.name()).await?;
    let job = jobtracker.job(arguments.job).await?;
    Ok(match arguments.place.form() {
        Form::Json => json(&serde_json::json!({ "job": job.job, "priority": job.priority })),
        Form::Table => format!("{} has priority {}\n", job.job, job.priority),
    })
}

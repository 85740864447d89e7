//! `jobtracker job hold` and `job release`: jobs of which nothing new starts.

use crate::cli::market_text::{OutputForm, json};
use crate::client::job::JobId;
use crate::client::job::view::JobLine;
use crate::client::market::PauseOf;

use super::connection::{ConnectionArguments, JobCommandError};
use super::signed_change::ChangeWay;

/// Options of `job hold` and `job release`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HoldArguments {
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
        let was_held = before.held.is_some();
        if before.state.is_finished() {
            changed.push((before, was_held));
            continue;
        }
        let (way, verb) = (ChangeWay::of(connection, &before).await?, if is_on { "holdJob" } else { "releaseJob" });
        if !way.sign(&format!("{verb}={id}")).await? {
            let paused = connected.market.pause(&PauseOf::Job(*id), is_on, &user, None).await;
            paused.map_err(|error| way.explained(JobCommandError::Market(error.into())))?;
        }
        changed.push((connected.jobtracker.job(*id).await?, was_held));
    }
    Ok(match connection.form() {
        OutputForm::Json => {
            let object = |(job, _): &(JobLine, bool)| {
                let is_held = is_on && !job.state.is_finished();
                serde_json::json!({ "job": job.job, "is_held": is_held })
            };
            json(&changed.iter().map(object).collect::<Vec<_>>())
        }
        OutputForm::Table => changed.iter().map(|(job, was_held)| line(job, *was_held, is_on)).collect(),
    })
}

/// What became of a job that was held before, or not.
fn line(job: &JobLine, was_held: bool, is_on: bool) -> String {
    let id = job.job;
    match (is_on, was_held) {
        _ if job.state.is_finished() => format!("{id} has already ended: {}\n", job.state.name()),
        (true, _) => format!("{id}: held: what runs ends, and nothing new starts until you release it\n"),
        (false, true) => format!("{id}: released\n"),
        (false, false) => format!("{id}: was not held\n"),
    }
}

#[cfg(test)]
mod tests {
    use crate::client::job::view::JobState;

    use super::*;

    #[test]
    fn a_job_that_is_not_held_or_has_ended_is_not_said_to_be_released() {
        let said = |state, was_held, is_on| {
            let job = JobLine { state, ..JobLine::example() };
            line(&job, was_held, is_on).replace(&job.job.to_string(), "JOB")
        };
        assert_eq!(said(JobState::Running, true, false), "JOB: released\n");
        assert_eq!(said(JobState::Running, false, false), "JOB: was not held\n");
        assert_eq!(said(JobState::Succeeded, false, false), "JOB has already ended: SUCCEEDED\n");
        assert_eq!(said(JobState::Succeeded, false, true), "JOB has already ended: SUCCEEDED\n");
    }
}

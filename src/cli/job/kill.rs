//! `jobtracker job kill`, `kill-task` and `fail-task`: end jobs, by id or by what they are, and attempts, which run again.

use crate::cli::market_text::{OutputForm, json};
use crate::client::job::view::JobLine;
use crate::client::job::{AttemptId, JobId};

use super::connection::{ConnectionArguments, JobCommandError};
use super::filter::{ChoiceArguments, NONE_CHOSEN};
use super::signed_change::ChangeWay;

/// Options of `job kill`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KillArguments {
    /// Job ids, such as job_202611211200_0001; without any, all unfinished jobs that the options below choose
    #[arg(value_name = "JOB")]
    jobs: Vec<JobId>,
    #[command(flatten)]
    choice: ChoiceArguments,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn kill(arguments: &KillArguments) -> Result<String, JobCommandError> {
    let KillArguments { jobs: ids, choice, connection } = arguments;
    choice.check(ids)?;
    let connection = &choice.connection(ids, connection);
    let mut jobtracker = connection.jobtracker().await?;
    let Some(jobs) = choice.jobs(ids, &mut jobtracker, "kill").await? else {
        return Ok("no job was killed\n".to_owned());
    };
    let mut way = None;
    for job in jobs.iter().filter(|job| !job.state.is_finished()) {
        // All are on one JobTracker.
        let way = match &way {
            Some(way) => way,
            None => way.insert(ChangeWay::of(connection, job).await?),
        };
        if !way.sign(&format!("killJob={}", job.job)).await? {
            jobtracker.kill(job.job).await.map_err(|error| way.explained(error.into()))?;
        }
    }
    Ok(match connection.form() {
        OutputForm::Json => match (&jobs[..], ids.is_empty()) {
            ([job], false) => json(&killed(job)),
            (jobs, _) => json(&jobs.iter().map(killed).collect::<Vec<_>>()),
        },
        OutputForm::Table if jobs.is_empty() => NONE_CHOSEN.to_owned(),
        OutputForm::Table => jobs.iter().map(line).collect(),
    })
}

fn killed(job: &JobLine) -> serde_json::Value {
    serde_json::json!({ "job": job.job, "kill_ordered": !job.state.is_finished() })
}

fn line(job: &JobLine) -> String {
    match job.state.is_finished() {
        true => format!("{} has already ended: {}\n", job.job, job.state.name()),
        false => format!("{}: kill requested\n", job.job),
    }
}

/// Options of `job kill-task` and `job fail-task`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KillAttemptsArguments {
    /// Attempt ids, such as attempt_202611211200_0001_m_000000_0
    #[arg(value_name = "ATTEMPT", required = true)]
    attempts: Vec<AttemptId>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn kill_attempts(
    arguments: &KillAttemptsArguments,
    should_fail: bool,
) -> Result<String, JobCommandError> {
    let KillAttemptsArguments { attempts, connection } = arguments;
    let mut jobtracker = connection.jobtracker().await?;
    for attempt in attempts {
        let job = jobtracker.job(attempt.task.job).await?;
        let way = ChangeWay::of(connection, &job).await?;
        let parameter = if should_fail { "failTask" } else { "killTask" };
        if !way.sign(&format!("{parameter}={attempt}")).await? {
            let killed = jobtracker.kill_attempt(*attempt, should_fail).await;
            if !killed.map_err(|error| way.explained(error.into()))? {
                return Err(JobCommandError::Argument(format!("{attempt} is not running, or has been asked to end")));
            }
        }
    }
    Ok(match connection.form() {
        OutputForm::Json => {
            let ordered =
                attempts.iter().map(|attempt| serde_json::json!({ "attempt": attempt, "failed": should_fail }));
            json(&ordered.collect::<Vec<_>>())
        }
        OutputForm::Table => {
            let what = if should_fail { "failure requested" } else { "kill requested" };
            attempts.iter().map(|attempt| format!("{attempt}: {what}\n")).collect()
        }
    })
}

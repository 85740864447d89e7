//! `jobtracker job kill`: requests the kill of jobs, by id or by what they are.

use std::io::{IsTerminal as _, Write as _};

use crate::cli::interrupt::read_answer;
use crate::cli::market_text::{Form, json};
use crate::client::job::JobId;
use crate::client::job::view::JobLine;

use super::connection::ConnectionArguments;
use super::error::JobCommandError;
use super::filter::FilterArguments;
use super::signed_change::ChangeWay;

/// Options of `job kill`.
#[derive(Clone, Debug, clap::Args)]
pub struct KillArguments {
    /// Job ids, such as job_202611211200_0001; without any, all unfinished jobs that the options below choose
    #[arg(value_name = "JOB", required_unless_present_any = ["owner", "queue", "name", "since"],
          conflicts_with_all = ["owner", "queue", "name", "since"])]
    jobs: Vec<JobId>,
    #[command(flatten)]
    filter: FilterArguments,
    /// Do not ask before the jobs that the options choose are killed
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn kill(arguments: &KillArguments) -> Result<String, JobCommandError> {
    let KillArguments { jobs: ids, filter, yes, connection } = arguments;
    let mut jobtracker = connection.jobtracker()?;
    let mut jobs = Vec::with_capacity(ids.len());
    if filter.is_empty() {
        for id in ids {
            // A JobTracker ignores unknown ids.
            jobs.push(jobtracker.job(*id).await?);
        }
    } else {
        let filter = filter.filter()?;
        jobs = jobtracker.jobs(false).await?;
        jobs.retain(|job| filter.is_for(job));
        if !jobs.is_empty() && !yes && !confirm(&jobs).await? {
            return Ok("no job was killed\n".to_owned());
        }
    }
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
        Form::Json => match (&jobs[..], filter.is_empty()) {
            ([job], true) => json(&killed(job)),
            (jobs, _) => json(&jobs.iter().map(killed).collect::<Vec<_>>()),
        },
        Form::Table if jobs.is_empty() => "no unfinished job is chosen by these options\n".to_owned(),
        Form::Table => jobs.iter().map(line).collect(),
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

/// Asks on a terminal; elsewhere the option must be given.
async fn confirm(jobs: &[JobLine]) -> Result<bool, JobCommandError> {
    let list: String = jobs.iter().map(|job| format!("  {} {:?} of {}\n", job.job, job.name, job.user)).collect();
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(JobCommandError::Argument(format!("{list}to kill {}, add --yes", count_text(jobs))));
    }
    eprint!("{list}Kill {}? y and Enter: ", count_text(jobs));
    // Even if the question cannot be shown, the answer counts.
    let _ = std::io::stderr().flush();
    Ok(read_answer().await.is_some_and(|answer| answer.trim().eq_ignore_ascii_case("y")))
}

fn count_text(jobs: &[JobLine]) -> String {
    if jobs.len() == 1 { "this job".to_owned() } else { format!("these {} jobs", jobs.len()) }
}

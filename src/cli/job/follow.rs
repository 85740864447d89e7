//! `jobtracker job follow` and `job wait`: what is left of jobs that run already, and how they ended.

use std::process::ExitCode;

use crate::cli::exit_code::INTERRUPTED;
use crate::cli::market_text::{OutputForm, json};
use crate::cli::pasted::pasted_at;
use crate::cli::prompts::{Choice, prompt};
use crate::cli::terminal::print_error;
use crate::client::job::view::JobState;
use crate::client::job::watch::{JobCostSource, JobProgress, JobUpdate, watch};
use crate::client::job::{JobId, JobTrackerClient};
use crate::config::HostPort;

use super::connection::{ConnectionArguments, JobCommandError, Outcome};
use super::failures::AttemptFailures;
use super::progress::{ProgressDisplay, no_worker};
use super::signed_change::ChangeWay;

/// Exit code when a job failed or was killed.
const JOB_FAILED: u8 = 1;

/// Options of `job follow` and `job wait`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FollowArguments {
    /// Job ids, such as job_202611211200_0001
    #[arg(value_name = "JOB", required = true)]
    jobs: Vec<JobId>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) enum End {
    /// The job has finished.
    Finished(Box<JobProgress>),
    Detached,
}

pub(super) async fn follow(arguments: &FollowArguments) -> Outcome {
    let mut jobtracker = arguments.connection.jobtracker().await?;
    let form = arguments.connection.form();
    let mut ended = Vec::new();
    for &job in &arguments.jobs {
        let line = jobtracker.job(job).await?;
        let costs = arguments.connection.costs(&line)?;
        let mut progress = ProgressDisplay::new(form == OutputForm::Json);
        if arguments.jobs.len() > 1 {
            progress.print(&format!("{job} of {}", line.user));
        }
        let end = follow_to_end(&mut jobtracker, job, &costs, &mut progress).await;
        let failures = progress.end();
        match end? {
            End::Finished(progress) => ended.push((*progress, failures)),
            End::Detached => {
                print_detached(job, jobtracker.address());
                break;
            }
        }
    }
    Ok((render_ends(&ended, form), exit_code_of(ended.iter().map(|(progress, _)| progress.job.state))))
}

/// Shows nothing until all jobs have ended.
pub(super) async fn wait(arguments: &FollowArguments) -> Outcome {
    let mut jobtracker = arguments.connection.jobtracker().await?;
    let mut ended = Vec::new();
    for &job in &arguments.jobs {
        let mut failures = AttemptFailures::default();
        let mut report = |update| match update {
            JobUpdate::Disconnected(reason) => {
                print_error(&format!("{reason}; the job continues, waiting for the JobTracker"));
            }
            JobUpdate::Reconnected => print_error("the JobTracker answers again"),
            JobUpdate::NoWorker => print_error(&no_worker()),
            JobUpdate::CannotRun(why) | JobUpdate::Waits(why) => print_error(&format!("{job}: {why}")),
            JobUpdate::Failure(attempt, diagnostics) => drop(failures.add(&attempt, &diagnostics)),
            JobUpdate::Progress(_) => {}
        };
        let costs = arguments.connection.costs(&jobtracker.job(job).await?)?;
        let progress = tokio::select! {
            progress = watch(&mut jobtracker, job, Some(&costs), &mut report) => progress?,
            _ = tokio::signal::ctrl_c() => return Ok((String::new(), ExitCode::from(INTERRUPTED))),
        };
        ended.push((progress, failures));
    }
    let text = render_ends(&ended, arguments.connection.form());
    Ok((text, exit_code_of(ended.iter().map(|(progress, _)| progress.job.state))))
}

/// Follows one job until it has ended, or until the user leaves it.
pub(super) async fn follow_to_end(
    jobtracker: &mut JobTrackerClient,
    job: JobId,
    costs: &JobCostSource,
    progress: &mut ProgressDisplay,
) -> Result<End, JobCommandError> {
    loop {
        let mut report = |news| progress.report(news);
        tokio::select! {
            ended = watch(jobtracker, job, Some(costs), &mut report) => return Ok(End::Finished(Box::new(ended?))),
            _ = tokio::signal::ctrl_c() => {}
        }
        match prompt("job").await.unwrap_or(Choice::Detach) {
            Choice::Detach => return Ok(End::Detached),
            Choice::Kill => {
                let way = ChangeWay::through(costs.market.clone(), (costs.signer)(), None).await;
                if !way.sign(&format!("killJob={job}")).await? {
                    jobtracker.kill(job).await.map_err(|error| way.explained(error.into()))?;
                }
            }
            Choice::Continue => {}
        }
    }
}

/// On stderr: a user pressed Ctrl-C.
pub(super) fn print_detached(job: JobId, at: &HostPort) {
    let command = |verb: &str| pasted_at(&format!("jobtracker job {verb} {job}"), &format!("--jobtracker {at}"));
    print_error(&format!(
        "{job} keeps running; follow it with `{}`, kill it with `{}`",
        command("follow"),
        command("kill")
    ));
}

/// 0 when all jobs succeeded.
pub(super) fn exit_code_of(states: impl IntoIterator<Item = JobState>) -> ExitCode {
    let has_failed = states.into_iter().any(|state| state != JobState::Succeeded);
    ExitCode::from(if has_failed { JOB_FAILED } else { 0 })
}

/// A line for each job, the last its state.
fn render_ends(ended: &[(JobProgress, AttemptFailures)], form: OutputForm) -> String {
    if form == OutputForm::Json {
        let of_job = |(progress, _): &(JobProgress, AttemptFailures)| {
            let JobProgress { job, map, reduce, failed_attempts, .. } = progress;
            serde_json::json!({
                "job": job.job, "state": job.state, "failure": job.failure, "killed_by": job.killed_by,
                "tasks": { "map": map, "reduce": reduce }, "failed_attempts": failed_attempts, "deadline": job.deadline,
            })
        };
        return json(&serde_json::Value::from_iter(ended.iter().map(of_job)));
    }
    let of_job = |(JobProgress { job, map, reduce, .. }, failures): &(JobProgress, AttemptFailures)| {
        let failure = failures.reason(job, map, reduce).map(|reason| reason + "\n").unwrap_or_default();
        let late = job.late_by().map(|late| late + "\n").unwrap_or_default();
        format!("{failure}{late}{} {}\n", job.job, job.state.name())
    };
    ended.iter().map(of_job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::job::view::{JobLine, TaskTally};
    use crate::client::job::watch::JobCostState;

    #[test]
    fn the_last_line_is_the_job_with_its_state() {
        let (map, reduce) = (TaskTally { total: 4, finished: 2, ..TaskTally::default() }, TaskTally::default());
        let mut failed =
            JobProgress { job: JobLine::example(), map, reduce, failed_attempts: 4, cost: JobCostState::None };
        failed.job.state = JobState::Failed;
        failed.job.failure = Some("# of failed Map Tasks exceeded allowed limit.\n".to_owned());
        let mut good = failed.clone();
        (good.job.state, good.job.failure) = (JobState::Succeeded, None);
        let ended = [good, failed].map(|progress| (progress, AttemptFailures::default()));
        insta::assert_snapshot!(render_ends(&ended, OutputForm::Table), @r"
        job_202611211200_0001 SUCCEEDED
        # of failed Map Tasks exceeded allowed limit.
        job_202611211200_0001 FAILED
        ");
        assert_eq!(exit_code_of([JobState::Succeeded]), ExitCode::SUCCESS);
        assert_eq!(exit_code_of([JobState::Succeeded, JobState::Killed]), ExitCode::from(1));
    }
}

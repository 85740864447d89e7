//! Job clients of a soak: those who submit and kill signed jobs while the daemon lives, and those who poll all the time.

use std::rc::Rc;

use tokio::time::{Duration, sleep};

use crate::bidding::book::Submission;
use crate::bidding::http::get;
use crate::dice::Dice;
use crate::job_client::JobClient;
use crate::staging::JobFiles;
use crate::steady_tracker::host_of;

use jobtracker::model::{JobId, PerKind};
use jobtracker::wire::JobStatus;
use jobtracker::wire::protocol::{JobSubmissionCall, Value};

use super::register::Terms;
use super::stage::Stage;

/// One in so many jobs is killed by its user.
const KILLED_EACH: u32 = 12;
/// One in so many jobs takes many slots at once.
const LARGE_EACH: u32 = 25;
const UNFINISHED_JOBS: usize = 60;
const RETRY: Duration = Duration::from_millis(500);
const POLL_EVERY: Duration = Duration::from_millis(60);
const SPLIT_HOSTS: u32 = 3;

/// Submits one job after the other until the daemon dies.
pub async fn submit(stage: Rc<Stage>, user: usize, trackers: u32, mut dice: Dice) {
    let callers = &stage.callers;
    let life = stage.life();
    let Ok(mut client) = JobClient::connect(stage.rpc(), &callers.world.users[user].user).await else {
        return stage.excuse(life, || "a submitter cannot connect".to_owned());
    };
    while !callers.is_killed() {
        // More than there are slots for would only wait longer and longer.
        if stage.register.borrow().unfinished() >= UNFINISHED_JOBS {
            sleep(RETRY).await;
            continue;
        }
        let maps = if dice.below(LARGE_EACH) == 0 { 50 + dice.below(100) } else { 1 + dice.below(12) };
        let tasks = PerKind::new(maps, dice.below(4));
        let timestamp_ms = callers.timestamp_ms(user);
        let max_attempts = [1, 4, 4, 4, 4][dice.below(5) as usize];
        let hosts = |dice: &mut Dice| (0..dice.below(SPLIT_HOSTS)).map(|_| host_of(dice.below(trackers))).collect();
        let most = max_attempts.to_string();
        let properties = ["mapred.map.max.attempts", "mapred.reduce.max.attempts"];
        let files = JobFiles {
            splits: (0..tasks.map).map(|_| hosts(&mut dice)).collect(),
            reduces: tasks.reduce,
            properties: properties.map(|name| (name.to_owned(), most.clone())).to_vec(),
        };
        let staged = match callers.stage(&mut client, user, files, timestamp_ms).await {
            Ok(staged) => staged,
            Err(error) => return stage.excuse(life, || format!("a job cannot be staged: {error:#}")),
        };
        let place = {
            let submissions = &mut callers.book.borrow_mut().submissions;
            submissions.push(Submission { job: staged.id, user, timestamp_ms, is_accepted: false });
            submissions.len() - 1
        };
        stage.register.borrow_mut().submitting(staged.id, Terms { tasks, max_attempts });
        match client.submit(&staged).await {
            Ok(()) => {
                callers.book.borrow_mut().submissions[place].is_accepted = true;
                stage.register.borrow_mut().submitted(staged.id, true);
            }
            Err(error) => {
                stage.register.borrow_mut().submitted(staged.id, false);
                return stage.excuse(life, || format!("{} was not accepted: {error:#}", staged.id));
            }
        }
        if dice.below(KILLED_EACH) == 0 {
            sleep(Duration::from_millis(u64::from(dice.below(3000)))).await;
            stage.register.borrow_mut().killing(staged.id);
            match client.call(JobSubmissionCall::KillJob { job: Some(staged.id) }).await {
                Ok(_) => stage.register.borrow_mut().kill_answered(staged.id),
                Err(error) => return stage.excuse(life, || format!("{} cannot be killed: {error:#}", staged.id)),
            }
        }
        sleep(Duration::from_millis(u64::from(1000 + dice.below(3500)))).await;
    }
}

/// Asks for the state of jobs and a few other things, through all lives.
pub async fn poll(stage: Rc<Stage>, mut dice: Dice) {
    while !stage.is_closed() {
        let life = stage.life();
        match JobClient::connect(stage.rpc(), "watcher").await {
            Ok(mut client) => {
                if let Err(error) = poll_connected(&stage, &mut client, &mut dice).await {
                    stage.excuse(life, || format!("a polling client fails: {error:#}"));
                }
            }
            Err(error) => stage.excuse(life, || format!("a polling client cannot connect: {error:#}")),
        }
        sleep(RETRY).await;
    }
}

async fn poll_connected(stage: &Stage, client: &mut JobClient, dice: &mut Dice) -> anyhow::Result<()> {
    while !stage.is_closed() {
        let live = stage.register.borrow().live();
        for job in live {
            if dice.percent(50) {
                continue;
            }
            let status = status(client, job).await?;
            stage.register.borrow_mut().told(job, status.map(|status| status.run_state));
            stage.polled();
            let job = Some(job);
            let other = match dice.below(12) {
                0 => JobSubmissionCall::GetMapTaskReports { job },
                1 => JobSubmissionCall::GetReduceTaskReports { job },
                2 => JobSubmissionCall::GetTaskCompletionEvents { job, from: 0, max: 100 },
                3 => JobSubmissionCall::GetJobCounters { job },
                4 => JobSubmissionCall::GetClusterStatus { detailed: true },
                5 => JobSubmissionCall::JobsToComplete,
                _ => {
                    sleep(POLL_EVERY).await;
                    continue;
                }
            };
            client.call(other).await?;
            stage.polled();
            sleep(POLL_EVERY).await;
        }
        sleep(POLL_EVERY).await;
    }
    Ok(())
}

async fn status(client: &mut JobClient, job: JobId) -> anyhow::Result<Option<JobStatus>> {
    match client.call(JobSubmissionCall::GetJobStatus { job: Some(job) }).await? {
        Value::JobStatus(status) => Ok(status),
        other => anyhow::bail!("getJobStatus of {job} was answered by {other:?}"),
    }
}

/// Looks at the start page and at the metrics, through all lives.
pub async fn browse(stage: Rc<Stage>) {
    while !stage.is_closed() {
        for path in ["/", "/metrics"] {
            let life = stage.life();
            match get(stage.callers.world.http, path, None).await {
                Ok(answer) if answer.status == 200 => stage.polled(),
                Ok(answer) => stage.excuse(life, || format!("{path} was answered by {}", answer.status)),
                Err(error) => stage.excuse(life, || format!("no answer to {path}: {error}")),
            }
            sleep(RETRY).await;
        }
    }
}

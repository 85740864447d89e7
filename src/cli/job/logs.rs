//! `jobtracker job logs`: prints logs of attempts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr;
use std::time::Duration;

use tokio::time::sleep;

use crate::api::TaskAttempt;
use crate::cli::market_text::{OutputForm, json};
use crate::cli::terminal::{print, whole_characters};
use crate::client::job::logs::{AttemptLog, LOGS, LogAccess, LogReader, attempt, fetch_all, list_ended_attempts};
use crate::client::job::view::JobEvent;
use crate::client::job::{AttemptId, JobClientError, JobId};

use super::connection::{ConnectionArguments, JobCommandError};
use super::tasks::read_tasks;

/// Options of `job logs`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LogsArguments {
    /// Attempt id, such as attempt_202611211200_0001_m_000000_0, or job id
    #[arg(value_name = "ATTEMPT|JOB")]
    source: LogSource,
    /// Print the logs of all attempts of a job, running ones too, not only of failed ones
    #[arg(long)]
    all: bool,
    /// Print what is added to the logs of running attempts until these have ended; of a job, until the job has ended
    #[arg(long, conflicts_with_all = ["all", "json"])]
    follow: bool,
    /// Print only this log
    #[arg(long, value_name = "LOG", value_parser = LOGS)]
    log: Option<String>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

#[derive(Clone, Copy, Debug)]
enum LogSource {
    Job(JobId),
    Attempt(AttemptId),
}

impl FromStr for LogSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("attempt_") {
            return text.parse().map(Self::Attempt).map_err(|error: <AttemptId as FromStr>::Err| error.to_string());
        }
        let refused = |_| {
            format!(
                "`{text}` is neither a job id such as job_202611211200_0001 nor an attempt id such as attempt_202611211200_0001_m_000000_0"
            )
        };
        text.parse().map(Self::Job).map_err(refused)
    }
}

pub(super) async fn logs(arguments: &LogsArguments) -> Result<String, JobCommandError> {
    let connection = &arguments.connection;
    let mut jobtracker = connection.jobtracker().await?;
    let job = match arguments.source {
        LogSource::Attempt(id) => id.task.job,
        LogSource::Job(job) => job,
    };
    let access = connection.log_access(&jobtracker.job(job).await?)?;
    let access = &access;
    let wanted: Vec<_> =
        LOGS.into_iter().filter(|log| arguments.log.as_deref().is_none_or(|only| only == *log)).collect();
    let attempts = match arguments.source {
        LogSource::Attempt(id) => match attempt(&mut jobtracker, id).await {
            // It may run.
            Err(unknown @ JobClientError::UnknownAttempt(_)) => {
                let running = running_attempts(connection, job, Some(id)).await?;
                if running.is_empty() {
                    return Err(unknown.into());
                }
                if arguments.follow {
                    follow(&FollowedLogs { job, attempt: Some(id), logs: &wanted, access }, connection).await?;
                    return Ok(String::new());
                }
                running
            }
            // Of one that has ended there is nothing to follow.
            ended => vec![ended?],
        },
        LogSource::Job(job) if arguments.follow => {
            follow(&FollowedLogs { job, attempt: None, logs: &wanted, access }, connection).await?;
            return Ok(String::new());
        }
        LogSource::Job(job) => {
            let mut attempts = list_ended_attempts(&mut jobtracker, job, arguments.all).await?;
            if arguments.all {
                // The Java JobTracker does not know them.
                attempts.extend(running_attempts(connection, job, None).await.unwrap_or_default());
            }
            attempts
        }
    };
    let logs = fetch_all(&attempts, &wanted, access).await?;
    Ok(match arguments.connection.form() {
        OutputForm::Json => json(&logs),
        OutputForm::Table if logs.is_empty() => {
            "no attempt failed; use --all for the logs of other attempts\n".to_owned()
        }
        OutputForm::Table => render_logs(&logs),
    })
}

/// Attempts that have not ended and whose workers are known, or the one asked for.
async fn running_attempts(
    connection: &ConnectionArguments,
    job: JobId,
    only: Option<AttemptId>,
) -> Result<Vec<JobEvent>, JobCommandError> {
    let tasks = read_tasks(connection, job, true).await?;
    let line = |attempt: TaskAttempt| {
        let TaskAttempt { attempt, task, http, .. } = attempt;
        Some(JobEvent::running(attempt, &task, http?))
    };
    let wanted = tasks.attempts.into_iter().filter(|attempt| only.is_none_or(|only| only == attempt.attempt));
    Ok(wanted.filter_map(line).collect())
}

fn render_logs(attempts: &[AttemptLog]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for AttemptLog { attempt, status, tracker, logs, error } in attempts {
        let _ = writeln!(text, "{attempt} {status} on {tracker}");
        if let Some(error) = error {
            let _ = writeln!(text, "  {error}");
        }
        for (name, log) in logs {
            let _ = writeln!(text, "--- {name}");
            text += log;
            if !log.ends_with('\n') {
                text.push('\n');
            }
        }
    }
    text
}

/// Pause between two looks at the workers' logs.
const PAUSE: Duration = Duration::from_millis(500);
/// Looks at a log that cannot be read, after which its attempt is given up.
const MOST_FAILURES: u32 = 10;

pub(super) struct FollowedLogs<'a> {
    pub(super) job: JobId,
    /// Only this attempt; none: all that run, until the job has ended.
    pub(super) attempt: Option<AttemptId>,
    pub(super) logs: &'a [&'static str],
    pub(super) access: &'a LogAccess,
}

/// Prints the logs of running attempts as they grow; returns once none that is followed runs any more.
pub(super) async fn follow(
    followed: &FollowedLogs<'_>,
    connection: &ConnectionArguments,
) -> Result<(), JobCommandError> {
    let mut printer = LogPrinter::default();
    let mut known: BTreeMap<AttemptId, LogReader<'_>> = BTreeMap::new();
    loop {
        let tasks = read_tasks(connection, followed.job, true).await?;
        let running = |attempt: &TaskAttempt| Some((attempt.attempt, attempt.http.clone()?));
        let is_followed = |id: &AttemptId| followed.attempt.is_none_or(|only| only == *id);
        let running: BTreeMap<AttemptId, String> =
            tasks.attempts.iter().filter_map(running).filter(|(id, _)| is_followed(id)).collect();
        for (attempt, tracker) in &running {
            known.entry(*attempt).or_insert_with(|| LogReader::new(*attempt, tracker, followed.access));
        }
        for (attempt, reader) in &mut known {
            printer.print_news(*attempt, reader, followed.logs).await?;
        }
        // What has ended was read once more.
        known.retain(|attempt, _| running.contains_key(attempt));
        let is_over = matches!(tasks.state.as_str(), "SUCCEEDED" | "FAILED" | "KILLED");
        if known.is_empty() && (is_over || followed.attempt.is_some()) {
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}

/// Prints each byte of a log once.
#[derive(Default)]
struct LogPrinter {
    /// How much of each log is printed, bytes.
    printed: BTreeMap<(AttemptId, &'static str), u64>,
    /// The log that was printed last.
    last: Option<(AttemptId, &'static str)>,
    /// Looks at the logs of an attempt that failed, one after the other.
    failures: BTreeMap<AttemptId, u32>,
}

impl LogPrinter {
    async fn print_news(
        &mut self,
        attempt: AttemptId,
        reader: &mut LogReader<'_>,
        logs: &[&'static str],
    ) -> Result<(), JobCommandError> {
        for log in logs {
            let from_bytes = self.printed.get(&(attempt, *log)).copied().unwrap_or(0);
            let part = match reader.read_from(log, from_bytes).await {
                Ok(part) => part,
                // Its worker may be restarting; a denial stays.
                Err(error @ JobClientError::Log { .. }) => {
                    let failures = self.failures.entry(attempt).or_default();
                    *failures += 1;
                    match *failures < MOST_FAILURES {
                        true => continue,
                        false => return Err(error.into()),
                    }
                }
                Err(error) => return Err(error.into()),
            };
            self.failures.remove(&attempt);
            let whole = whole_characters(&part);
            if whole.is_empty() {
                continue;
            }
            if self.last.replace((attempt, *log)) != Some((attempt, *log)) {
                print(&format!("--- {attempt} {log}\n"))?;
            }
            print(&String::from_utf8_lossy(whole))?;
            self.printed.insert((attempt, *log), from_bytes + whole.len() as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_and_attempt_ids_are_distinguished_and_mistakes_named() {
        assert!(matches!("job_202611211200_0001".parse(), Ok(LogSource::Job(_))));
        assert!(matches!("attempt_202611211200_0001_m_000000_0".parse(), Ok(LogSource::Attempt(_))));
        assert!("task_1".parse::<LogSource>().unwrap_err().contains("`task_1` is neither a job id such as"));
        assert!("attempt_1".parse::<LogSource>().unwrap_err().contains("attempt_1"));
    }
}

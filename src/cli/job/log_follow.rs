//! Follows the logs of attempts while they run: what is added is printed, until they have ended.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::sleep;

use crate::api::TaskAttempt;
use crate::cli::terminal::print;
use crate::cli::whole_characters::whole_characters;
use crate::client::job::log_access::LogAccess;
use crate::client::job::logs::LogReader;
use crate::client::job::{AttemptId, JobClientError, JobId};

use super::connection::ConnectionArguments;
use super::error::JobCommandError;
use super::tasks::read_tasks;

/// Pause between two looks at the workers' logs.
const PAUSE: Duration = Duration::from_millis(500);
/// Looks at a log that cannot be read, after which its attempt is given up.
const MOST_FAILURES: u32 = 10;

/// What is followed.
pub(super) struct Followed<'a> {
    pub(super) job: JobId,
    /// Only this attempt; none: all that run, until the job has ended.
    pub(super) attempt: Option<AttemptId>,
    /// The logs.
    pub(super) logs: &'a [&'static str],
    /// How they are read.
    pub(super) access: &'a LogAccess,
}

/// Prints the logs of running attempts as they grow; returns once none that is followed runs any more.
pub(super) async fn follow(followed: &Followed<'_>, connection: &ConnectionArguments) -> Result<(), JobCommandError> {
    let mut printer = Printer::default();
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
struct Printer {
    /// How much of each log is printed, bytes.
    printed: BTreeMap<(AttemptId, &'static str), u64>,
    /// The log that was printed last.
    last: Option<(AttemptId, &'static str)>,
    /// Looks at the logs of an attempt that failed, one after the other.
    failures: BTreeMap<AttemptId, u32>,
}

impl Printer {
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

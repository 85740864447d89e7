//! Follows the logs of attempts while they run: what is added is printed, until they have ended.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::sleep;

use crate::api::TaskAttempt;
use crate::cli::terminal::print;
use crate::client::job::logs::fetch_from;
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
}

/// Prints the logs of running attempts as they grow; returns once none that is followed runs any more.
pub(super) async fn follow(followed: &Followed<'_>, connection: &ConnectionArguments) -> Result<(), JobCommandError> {
    let mut printer = Printer::default();
    let mut known: BTreeMap<AttemptId, String> = BTreeMap::new();
    loop {
        let tasks = read_tasks(connection, followed.job, true).await?;
        let running = |attempt: &TaskAttempt| Some((attempt.attempt, attempt.http.clone()?));
        let is_followed = |id: &AttemptId| followed.attempt.is_none_or(|only| only == *id);
        let running: BTreeMap<AttemptId, String> =
            tasks.attempts.iter().filter_map(running).filter(|(id, _)| is_followed(id)).collect();
        known.extend(running.clone());
        for (attempt, tracker) in &known {
            printer.print_news(*attempt, tracker, followed.logs).await?;
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

// === impl Printer ===

impl Printer {
    async fn print_news(
        &mut self,
        attempt: AttemptId,
        tracker: &str,
        logs: &[&'static str],
    ) -> Result<(), JobCommandError> {
        for log in logs {
            let from_bytes = self.printed.get(&(attempt, *log)).copied().unwrap_or(0);
            let part = match fetch_from(attempt, tracker, log, from_bytes).await {
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

/// The bytes without an incomplete character at their end, which its rest will follow.
fn whole_characters(part: &[u8]) -> &[u8] {
    match std::str::from_utf8(part.get(part.len().saturating_sub(4)..).unwrap_or(part)) {
        Ok(_) => part,
        // From the middle of a character on, the bytes are no text for another reason than their end.
        Err(_) => {
            let is_start = |byte: &u8| *byte >= 0xc0;
            let last = part.iter().rev().take(4).position(is_start).map(|back| part.len() - 1 - back);
            let is_cut =
                |at: &usize| matches!(std::str::from_utf8(&part[*at..]), Err(error) if error.error_len().is_none());
            last.filter(is_cut).map_or(part, |at| &part[..at])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_printed_once_it_is_whole() {
        let text = "größe 大小".as_bytes();
        for end in 0..=text.len() {
            let whole = whole_characters(&text[..end]);
            assert!(std::str::from_utf8(whole).is_ok() && end - whole.len() < 4, "{end}");
        }
        for no_text in [&b"ab\xff"[..], b"\xffab", b"a\xf0\x28\x8c", b"", b"\x80\x80\x80\x80\x80"] {
            assert_eq!(whole_characters(no_text), no_text, "bytes that are no text do not wait");
        }
    }
}

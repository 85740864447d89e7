//! `jobtracker job logs`.

use std::fmt::Write as _;
use std::str::FromStr;

use super::error::JobCommandError;
use super::place::PlaceArguments;
use crate::cli::market_text::{Form, json};
use crate::client::job::logs::{AttemptLog, LOGS, attempt, attempts_of, fetch_all};
use crate::client::job::{AttemptId, JobId};

/// Whose logs, and which.
#[derive(Clone, Debug, clap::Args)]
pub struct LogsArguments {
    /// An attempt, such as attempt_202611211200_0001_m_000000_0, or a job
    #[arg(value_name = "ATTEMPT|JOB")]
    whose: Whose,
    /// Of a job, those of all attempts that have ended, not only of those that failed
    #[arg(long)]
    all: bool,
    /// Only this one
    #[arg(long, value_name = "LOG", value_parser = LOGS)]
    log: Option<String>,
    /// Where, who and how.
    #[command(flatten)]
    place: PlaceArguments,
}

/// Whose logs.
#[derive(Clone, Copy, Debug)]
enum Whose {
    Job(JobId),
    Attempt(AttemptId),
}

// === impl Whose ===

impl FromStr for Whose {
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
    let mut jobtracker = arguments.place.jobtracker()?;
    let attempts = match arguments.whose {
        Whose::Attempt(id) => vec![attempt(&mut jobtracker, id).await?],
        Whose::Job(job) => {
            jobtracker.job(job).await?;
            attempts_of(&mut jobtracker, job, arguments.all).await?
        }
    };
    let wanted: Vec<_> =
        LOGS.into_iter().filter(|log| arguments.log.as_deref().is_none_or(|only| only == *log)).collect();
    let logs = fetch_all(&attempts, &wanted).await?;
    Ok(match arguments.place.form() {
        Form::Json => json(&logs),
        Form::Table if logs.is_empty() => "no attempt failed; --all shows the logs of the others\n".to_owned(),
        Form::Table => logs_text(&logs),
    })
}

fn logs_text(attempts: &[AttemptLog]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_apart_and_mistakes_named() {
        assert!(matches!("job_202611211200_0001".parse(), Ok(Whose::Job(_))));
        assert!(matches!("attempt_202611211200_0001_m_000000_0".parse(), Ok(Whose::Attempt(_))));
        assert!("task_1".parse::<Whose>().unwrap_err().contains("`task_1` is neither a job id such as"));
        assert!("attempt_1".parse::<Whose>().unwrap_err().contains("attempt_1"));
    }
}

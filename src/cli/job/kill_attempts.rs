//! `jobtracker job kill-task` and `fail-task`: end attempts, which run again; a failed one counts against its task.

use crate::cli::market_text::{Form, json};
use crate::client::job::AttemptId;

use super::connection::ConnectionArguments;
use super::error::JobCommandError;
use super::signed_change::ChangeWay;

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
        Form::Json => {
            let ordered =
                attempts.iter().map(|attempt| serde_json::json!({ "attempt": attempt, "failed": should_fail }));
            json(&ordered.collect::<Vec<_>>())
        }
        Form::Table => {
            let what = if should_fail { "failure requested" } else { "kill requested" };
            attempts.iter().map(|attempt| format!("{attempt}: {what}\n")).collect()
        }
    })
}

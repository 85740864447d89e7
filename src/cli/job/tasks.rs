//! `jobtracker job tasks`: lists the attempts of a job.

use crate::api::{JobTasks, TaskAttempt, TaskInput};
use crate::cli::market_command::MarketCommandError;
use crate::cli::market_text::{OutputForm, columns, json, lines};
use crate::cli::time_text::format_time;
use crate::client::job::JobId;

use super::connection::{ConnectionArguments, JobCommandError};

/// Longest status text in the table, characters.
const LONGEST_STATUS: usize = 60;

/// Options of `job tasks`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TasksArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    /// Only attempts that have not ended
    #[arg(long)]
    running: bool,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn tasks(arguments: &TasksArguments) -> Result<String, JobCommandError> {
    let TasksArguments { job, running, connection } = arguments;
    let tasks = read_tasks(connection, *job, *running).await?;
    Ok(match connection.form() {
        OutputForm::Json => json(&tasks),
        OutputForm::Table => render(&tasks),
    })
}

/// Requests the attempts of a job over HTTP, which only this JobTracker serves; where it serves, the job says by RPC.
pub(super) async fn read_tasks(
    connection: &ConnectionArguments,
    job: JobId,
    is_running_only: bool,
) -> Result<JobTasks, JobCommandError> {
    let mut jobtracker = connection.jobtracker().await?;
    let line = jobtracker.job(job).await?;
    let (market, signer) = (connection.market_of(&line)?, connection.signer()?);
    let user = connection.market.signer.user()?;
    let tasks = market.tasks(job, is_running_only, &user, signer.as_ref()).await;
    Ok(tasks.map_err(MarketCommandError::from)?)
}

fn render(tasks: &JobTasks) -> String {
    if tasks.attempts.is_empty() {
        return format!("{} {}: no attempt to show\n", tasks.job, tasks.state);
    }
    let mut table = columns(&["attempt", "state", "worker", "input", "since", "status"], 6);
    for attempt in &tasks.attempts {
        let TaskAttempt { attempt: id, task, state, worker, input, since_ms, status, .. } = attempt;
        let is_extra = matches!(task.as_str(), "setup" | "cleanup");
        let input = if is_extra { format!("({task})") } else { input.as_ref().map_or_else(|| "-".into(), input_text) };
        table.add_row([
            id.to_string(),
            state.clone(),
            worker.clone().unwrap_or_else(|| "-".to_owned()),
            input,
            format_time(*since_ms),
            one_line(status),
        ]);
    }
    lines(&table)
}

fn input_text(input: &TaskInput) -> String {
    let TaskInput { file, start_bytes, length_bytes } = input;
    let path = file.strip_prefix("file:").unwrap_or(file);
    let path = path.strip_prefix("//").unwrap_or(path);
    format!("{path} {start_bytes}..{}", start_bytes.saturating_add(*length_bytes))
}

fn one_line(status: &str) -> String {
    let line = status.trim().replace(char::is_control, " ");
    match line.char_indices().nth(LONGEST_STATUS) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_a_line() {
        let input = TaskInput { file: "file:/home/alice/in/f2".into(), start_bytes: 7, length_bytes: 5 };
        let attempt = |id: &str, task: &str, state: &str| TaskAttempt {
            attempt: id.parse().unwrap(),
            task: task.into(),
            state: state.into(),
            worker: Some("w1".into()),
            http: Some("http://h:50060".into()),
            input: None,
            since_ms: 1_700_000_000_000,
            finish_ms: None,
            percent: 50,
            status: String::new(),
            diagnostics: None,
        };
        let setup = attempt("attempt_202611211200_0001_m_000002_0", "setup", "SUCCEEDED");
        let status = "line one\nline two".to_owned();
        let map = attempt("attempt_202611211200_0001_m_000000_0", "map", "RUNNING");
        let map = TaskAttempt { input: Some(input), status, ..map };
        let reduce =
            TaskAttempt { worker: None, ..attempt("attempt_202611211200_0001_r_000000_0", "reduce", "UNASSIGNED") };
        let tasks = JobTasks {
            job: "job_202611211200_0001".parse().unwrap(),
            state: "RUNNING".into(),
            user: "alice".into(),
            output: None,
            attempts: vec![setup, map, reduce],
            next: None,
        };
        insta::assert_snapshot!(render(&tasks), @r"
        ATTEMPT                               STATE       WORKER  INPUT                    SINCE                 STATUS
        attempt_202611211200_0001_m_000002_0  SUCCEEDED   w1      (setup)                  2023-11-14T22:13:20Z
        attempt_202611211200_0001_m_000000_0  RUNNING     w1      /home/alice/in/f2 7..12  2023-11-14T22:13:20Z  line one line two
        attempt_202611211200_0001_r_000000_0  UNASSIGNED  -       -                        2023-11-14T22:13:20Z
        ");
        let none = JobTasks { attempts: Vec::new(), ..tasks };
        assert_eq!(render(&none), "job_202611211200_0001 RUNNING: no attempt to show\n");
        assert_eq!(one_line(&"x".repeat(61)).chars().count(), 61);
    }
}

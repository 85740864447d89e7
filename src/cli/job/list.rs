//! `jobtracker job list`: lists jobs.

use crate::cli::market_text::{Form, columns, format_utc, json, lines};
use crate::client::job::view::JobLine;

use super::connection::ConnectionArguments;
use super::error::JobCommandError;
use super::filter::{FilterArguments, StateArgument};

/// Options of `job list`.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArguments {
    /// Include finished jobs that the JobTracker still knows
    #[arg(long)]
    all: bool,
    /// Only jobs in this state; a finished one implies --all
    #[arg(long, value_name = "STATE", value_enum, ignore_case = true)]
    state: Option<StateArgument>,
    /// Only the newest N jobs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    filter: FilterArguments,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn list(arguments: &ListArguments) -> Result<String, JobCommandError> {
    let ListArguments { all, state, limit, filter, connection } = arguments;
    let filter = filter.filter()?;
    let of_finished = state.is_some_and(StateArgument::is_finished);
    let mut jobs = connection.jobtracker()?.jobs(*all || of_finished).await?;
    jobs.retain(|job| filter.is_for(job) && state.is_none_or(|state| state.is_of(job)));
    // By id, which is the order of submission.
    let first = limit.map_or(0, |limit| jobs.len().saturating_sub(limit));
    Ok(render_list(&jobs[first..], connection.form()))
}

fn render_list(jobs: &[JobLine], form: Form) -> String {
    if form == Form::Json {
        return json(&jobs);
    }
    let names = ["job", "state", "user", "queue", "priority", "started", "name", "maps", "reduces", "deadline", "left"];
    // Most clusters keep no deadlines.
    let has_deadlines = jobs.iter().any(|job| job.deadline.is_some());
    let shown = if has_deadlines { names.len() } else { names.len() - 2 };
    let mut table = columns(&names[..shown], 7);
    for job in jobs {
        let deadline = job.deadline.as_ref();
        let of_deadline = [
            deadline.map_or_else(String::new, |deadline| deadline.state.clone()),
            deadline.map_or_else(String::new, |deadline| format!("{} s", deadline.left_s)),
        ];
        let JobLine { job, state, name, user, queue, priority, started_ms, map_percent, reduce_percent, .. } = job;
        let cells = [
            job.to_string(),
            state.name().to_owned(),
            user.clone(),
            queue.clone(),
            (*priority).to_owned(),
            format_utc(*started_ms),
            one_line(name),
            percent_text(*map_percent),
            percent_text(*reduce_percent),
        ];
        table.add_row(cells.into_iter().chain(of_deadline).take(shown));
    }
    lines(&table)
}

/// A job that failed or was killed has no percentage.
fn percent_text(percent: Option<u32>) -> String {
    percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent}%"))
}

/// Shortens a name to one line of a table.
fn one_line(name: &str) -> String {
    const LONGEST: usize = 40;
    let mut text: String = name.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    if text.chars().count() > LONGEST {
        text = text.chars().take(LONGEST - 1).chain(['…']).collect();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::job::deadline_line::DeadlineLine;

    #[test]
    fn jobs_are_shown_a_line_each() {
        let job = JobLine {
            name: "word\ncount".into(),
            url: "http://h:50030/jobdetails.jsp?jobid=job_202611211200_0001".into(),
            ..JobLine::example()
        };
        insta::assert_snapshot!(render_list(std::slice::from_ref(&job), Form::Table), @r"
        JOB                    STATE    USER   QUEUE  PRIORITY  STARTED              NAME        MAPS  REDUCES
        job_202611211200_0001  RUNNING  alice  alice  NORMAL    2023-11-14 22:13:20  word count   66%       0%
        ");
        assert!(render_list(std::slice::from_ref(&job), Form::Json).contains("\"state\": \"RUNNING\""));
        let promised = JobLine { deadline: Some(DeadlineLine::example()), name: "payroll".into(), ..job.clone() };
        insta::assert_snapshot!(render_list(&[job, promised], Form::Table), @r"
        JOB                    STATE    USER   QUEUE  PRIORITY  STARTED              NAME        MAPS  REDUCES  DEADLINE     LEFT
        job_202611211200_0001  RUNNING  alice  alice  NORMAL    2023-11-14 22:13:20  word count   66%       0%
        job_202611211200_0001  RUNNING  alice  alice  NORMAL    2023-11-14 22:13:20  payroll      66%       0%   ON_TIME  412.5 s
        ");
        assert_eq!(one_line(&"ab".repeat(30)).chars().count(), 40);
    }
}

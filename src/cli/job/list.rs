//! `jobtracker job list`: lists jobs.

use crate::cli::market_text::{Form, columns, format_utc, json, lines};
use crate::client::job::view::JobLine;

use super::connection::ConnectionArguments;
use super::error::JobCommandError;

/// Options of `job list`.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArguments {
    /// Include finished jobs that the JobTracker still knows
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn list(arguments: &ListArguments) -> Result<String, JobCommandError> {
    let jobs = arguments.connection.jobtracker()?.jobs(arguments.all).await?;
    Ok(render_list(&jobs, arguments.connection.form()))
}

fn render_list(jobs: &[JobLine], form: Form) -> String {
    if form == Form::Json {
        return json(&jobs);
    }
    let mut table = columns(&["job", "state", "user", "queue", "priority", "started", "name", "maps", "reduces"], 7);
    for job in jobs {
        let JobLine { job, state, name, user, queue, priority, started_ms, map_percent, reduce_percent, .. } = job;
        table.add_row([
            job.to_string(),
            state.name().to_owned(),
            user.clone(),
            queue.clone(),
            (*priority).to_owned(),
            format_utc(*started_ms),
            one_line(name),
            format!("{map_percent}%"),
            format!("{reduce_percent}%"),
        ]);
    }
    lines(&table)
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
        assert!(render_list(&[job], Form::Json).contains("\"state\": \"RUNNING\""));
        assert_eq!(one_line(&"ab".repeat(30)).chars().count(), 40);
    }
}

//! `jobtracker job list`: lists jobs.

use crate::cli::market_text::{OutputForm, columns_of, format_duration, json, lines, one_line};
use crate::cli::time_text::{format_time, with_shown_times};
use crate::client::job::view::JobLine;

use super::connection::{ConnectionArguments, JobCommandError};
use super::filter::{FilterArguments, StateArgument};
use super::times::{ListedJob, Times};

/// Options of `job list`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ListArguments {
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
    let connection = &connection.of_filter(&filter.user);
    let filter = filter.filter()?;
    let of_finished = state.is_some_and(StateArgument::is_finished);
    let mut jobs = connection.jobtracker().await?.jobs(*all || of_finished).await?;
    jobs.retain(|job| filter.is_for(job) && state.is_none_or(|state| state.is_of(job)));
    // By id, which is the order of submission.
    let first = limit.map_or(0, |limit| jobs.len().saturating_sub(limit));
    let jobs = &jobs[first..];
    let times = Times::of(connection, jobs).await?;
    Ok(render_list(&jobs.iter().map(|job| times.timed(job)).collect::<Vec<_>>(), times.has_costs, connection.form()))
}

/// When a job is planned to start.
fn start_of(job: &JobLine) -> Option<&str> {
    job.deadline.as_ref()?.planned_start()
}

fn render_list(jobs: &[ListedJob<'_>], has_costs: bool, form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(&jobs);
    }
    // What no job has is left out: most clusters keep no deadlines.
    let has_deadlines = jobs.iter().any(|timed| timed.job.deadline.is_some());
    let has_starts = jobs.iter().any(|timed| start_of(timed.job).is_some());
    let has_reasons = jobs.iter().any(|timed| timed.job.why_it_waits().is_some());
    let has_ended = jobs.iter().any(|timed| timed.job.state.is_finished());
    let groups = [
        (true, &["job", "state", "user", "queue", "priority", "started"][..]),
        (has_ended, &["ended"]),
        (true, &["elapsed", "name", "maps", "reduces"]),
        (has_costs, &["cost"]),
        (has_deadlines, &["deadline", "left"]),
        (has_starts, &["starts"]),
        (has_reasons, &["reason"]),
    ];
    let cells = jobs.iter().map(|ListedJob { job, finish_ms, elapsed_ms, cost, .. }| {
        let deadline = job.deadline.as_ref();
        let of_deadline = [
            deadline.map_or_else(String::new, |deadline| deadline.state.clone()),
            job.late_by().or(deadline.map(|deadline| format!("{} s", deadline.left_s))).unwrap_or_default(),
        ];
        let start = start_of(job).map_or_else(String::new, with_shown_times);
        let reason = job.why_it_waits().cloned().unwrap_or_default();
        let JobLine { job, state, name, user, queue, priority, started_ms, map_percent, reduce_percent, .. } = job;
        let elapsed_s = elapsed_ms.and_then(|ms| u64::try_from(ms / 1000).ok());
        [
            vec![
                job.to_string(),
                state.name().to_owned(),
                user.clone(),
                queue.clone(),
                (*priority).to_owned(),
                format_time(*started_ms),
            ],
            vec![finish_ms.map_or_else(|| "-".to_owned(), format_time)],
            vec![format_duration(elapsed_s), one_line(name), percent_text(*map_percent), percent_text(*reduce_percent)],
            vec![cost.clone().unwrap_or_else(|| "-".to_owned())],
            of_deadline.to_vec(),
            vec![start],
            vec![reason],
        ]
    });
    let left = ["job", "state", "user", "queue", "priority", "started", "ended", "elapsed", "name", "starts", "reason"];
    lines(&columns_of(groups, &left, cells))
}

/// A job that failed or was killed has no percentage.
fn percent_text(percent: Option<u32>) -> String {
    percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent}%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::job::view::DeadlineLine;
    use crate::client::job::view::JobState;

    #[test]
    fn jobs_are_shown_a_line_each() {
        let job = JobLine {
            name: "word\ncount".into(),
            url: "http://h:50030/jobdetails.jsp?jobid=job_202611211200_0001".into(),
            ..JobLine::example()
        };
        let timed = |job| ListedJob {
            job,
            finish_ms: None,
            elapsed_ms: Some(83_000),
            cost: None,
            cost_error: None,
            end_notification: None,
        };
        insta::assert_snapshot!(render_list(&[timed(&job)], false, OutputForm::Table), @r"
        JOB                    STATE    USER   QUEUE  PRIORITY  STARTED               ELAPSED  NAME        MAPS  REDUCES
        job_202611211200_0001  RUNNING  alice  alice  NORMAL    2023-11-14T22:13:20Z  1m 23s   word count   66%       0%
        ");
        assert!(render_list(&[timed(&job)], false, OutputForm::Json).contains("\"state\": \"RUNNING\""));
        let promised = JobLine { deadline: Some(DeadlineLine::example()), name: "payroll".into(), ..job.clone() };
        let plan = "Maps 0/6 minimum from 09:30:00 UTC. Reduces 0/6 minimum. Reduce start limit 331.9 s.".to_owned();
        let planned = JobLine { deadline: Some(DeadlineLine { plan, ..DeadlineLine::example() }), ..job.clone() };
        let held = JobLine { held: Some("held by alice since 2026-11-21T09:13:20Z".to_owned()), ..job.clone() };
        let limited = "may not begin yet: pool a may have 1 job begun at once, and 1 has begun";
        let waits = JobLine { may_not_begin: Some(limited.to_owned()), ..job.clone() };
        let text = render_list(&[timed(&waits)], false, OutputForm::Table);
        assert!(text.contains("REASON") && text.trim_end().ends_with(limited), "{text}");
        let text = render_list(&[timed(&planned), timed(&held)], false, OutputForm::Table);
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[0].ends_with("STARTS        REASON") && rows[1].contains("09:30:00 UTC"), "{text}");
        assert!(rows[2].ends_with("held by alice since 2026-11-21T09:13:20Z"), "{text}");
        let ended = JobLine { state: JobState::Succeeded, ..job.clone() };
        let cost = Some("1.5".to_owned());
        let ended = ListedJob { finish_ms: Some(1_700_000_083_000), cost, ..timed(&ended) };
        insta::assert_snapshot!(render_list(&[timed(&job), timed(&promised), ended], true, OutputForm::Table), @r"
        JOB                    STATE      USER   QUEUE  PRIORITY  STARTED               ENDED                 ELAPSED  NAME        MAPS  REDUCES  COST  DEADLINE     LEFT
        job_202611211200_0001  RUNNING    alice  alice  NORMAL    2023-11-14T22:13:20Z  -                     1m 23s   word count   66%       0%     -
        job_202611211200_0001  RUNNING    alice  alice  NORMAL    2023-11-14T22:13:20Z  -                     1m 23s   payroll      66%       0%     -   ON_TIME  412.5 s
        job_202611211200_0001  SUCCEEDED  alice  alice  NORMAL    2023-11-14T22:13:20Z  2023-11-14T22:14:43Z  1m 23s   word count   66%       0%   1.5
        ");
    }
}

//! `/analysejobhistory.jsp`: the quickest, the slowest and the last attempts of a job that succeeded.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::StatusCode;

use crate::model::{AttemptState, JobId, RunState, TaskId};

use super::super::owner::Owner;
use super::super::state::WebState;
use super::answer;
use super::data::{PastKind, StockAttempt, StockPast};
use super::java_text::{short_day_and_time, short_with_span, span};
use super::past_job::past_of;
use super::request::{PageAnswer, PageRequest};
use super::rows::new_job_page;

/// Attempts of a list where none is asked for (1.2.1).
const TASKS: u32 = 10;
/// Most attempts of a list.
const MOST_TASKS: u32 = 2_000;

pub(super) async fn analysejobhistory<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let tasks = asked.parsed::<u32>("numTasks", "a number of tasks")?.unwrap_or(TASKS).min(MOST_TASKS);
    let past = past_of(&state, &asked).await?;
    Ok(answer::page(StatusCode::OK, &AnalysisPage::new(&past, tasks)))
}

#[derive(Template)]
#[template(path = "stock/analysejobhistory.html")]
struct AnalysisPage<'a> {
    new_page: String,
    past: &'a StockPast,
    id: JobId,
    submitted: String,
    launched: String,
    finished: String,
    status: &'static str,
    has_succeeded: bool,
    maps: Option<PhaseTimes>,
    shuffles: Option<PhaseTimes>,
    reduces: Option<PhaseTimes>,
}

struct PhaseTimes {
    best: (TaskId, String),
    average: String,
    worst: Vec<(TaskId, String)>,
    last: (TaskId, String),
}

impl<'a> AnalysisPage<'a> {
    fn new(past: &'a StockPast, tasks: u32) -> Self {
        let job = &past.job;
        let phase = |kind: PastKind, from: fn(&StockAttempt) -> i64, to: fn(&StockAttempt) -> i64| {
            PhaseTimes::new(past, kind, from, to, tasks as usize)
        };
        AnalysisPage {
            new_page: new_job_page(job.id),
            past,
            id: job.id,
            submitted: short_day_and_time(job.submit_ms),
            launched: short_with_span(past.launch_ms, job.submit_ms),
            finished: short_with_span(job.finish_ms.unwrap_or(0), past.launch_ms),
            status: past.status(),
            has_succeeded: job.state == RunState::Succeeded,
            maps: phase(PastKind::Map, |map| map.start_ms, |map| map.finish_ms),
            shuffles: phase(PastKind::Reduce, |reduce| reduce.start_ms, |reduce| reduce.shuffle_ms),
            reduces: phase(PastKind::Reduce, |reduce| reduce.shuffle_ms, |reduce| reduce.finish_ms),
        }
    }
}

impl PhaseTimes {
    /// None: no attempt of the kind has succeeded.
    fn new(
        past: &StockPast,
        kind: PastKind,
        from: fn(&StockAttempt) -> i64,
        to: fn(&StockAttempt) -> i64,
        tasks: usize,
    ) -> Option<Self> {
        let took_ms = |attempt: &StockAttempt| to(attempt).saturating_sub(from(attempt)).max(0);
        let attempts = past.attempts.iter().filter(|attempt| attempt.kind == kind).map(|attempt| &attempt.attempt);
        let mut done: Vec<&StockAttempt> =
            attempts.filter(|attempt| attempt.state == AttemptState::Succeeded).collect();
        done.sort_by_key(|attempt| std::cmp::Reverse(took_ms(attempt)));
        let shown = |attempt: &StockAttempt| (attempt.id.task, span(took_ms(attempt)));
        let best = shown(done.last()?);
        let all_ms = done.iter().fold(0_i64, |sum, attempt| sum.saturating_add(took_ms(attempt)));
        let last = done.iter().max_by_key(|attempt| to(attempt))?;
        Some(PhaseTimes {
            best,
            average: span(all_ms / i64::try_from(done.len()).unwrap_or(i64::MAX)),
            worst: done.iter().take(tasks).map(|attempt| shown(attempt)).collect(),
            last: (last.id.task, short_with_span(to(last), past.launch_ms)),
        })
    }
}

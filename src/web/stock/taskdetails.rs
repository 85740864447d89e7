//! `/taskdetails.jsp`: the attempts of a task.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use serde::Serialize;

use crate::model::{AttemptId, AttemptState, JobId, Kind, TaskId};

use super::super::owner::{JobChange, Owner};
use super::super::response::text;
use super::super::rows::cut;
use super::super::state::WebState;
use super::access::{found, viewer};
use super::answer;
use super::changes::{Changes, Confirm, go_back};
use super::data::{StockAttempt, StockAttempts, StockPlace};
use super::java_text::time_with_span;
use super::request::{EarlyAnswer, PageAnswer, PageRequest};
use super::rows::{Logs, ShownProgress, Timing, new_job_page};

/// The task that a request names, itself or by an attempt.
pub(super) struct NamedTask {
    pub(super) task: TaskId,
    pub(super) attempt: Option<AttemptId>,
}

impl NamedTask {
    pub(super) fn of(asked: &PageRequest, is_json: bool) -> Result<Self, EarlyAnswer> {
        let (attempt, task) = (asked.get("attemptid"), asked.get("tipid"));
        let (parsed, kind, given) = match (attempt, task) {
            (Some(attempt), _) => {
                let parsed = attempt.parse::<AttemptId>().ok();
                (parsed.map(|id| NamedTask { task: id.task, attempt: Some(id) }), "AttemptID", attempt)
            }
            (None, Some(task)) => {
                (task.parse::<TaskId>().ok().map(|task| NamedTask { task, attempt: None }), "TipID", task)
            }
            (None, None) if is_json => {
                return Err(answer::json_error(StatusCode::BAD_REQUEST, 4100, "Missing TipID/AttemptID").into());
            }
            (None, None) => (None, "TipID", ""),
        };
        let given = cut(given);
        parsed.ok_or_else(|| {
            let words = || answer::bold("Hadoop Task Details", "/", "tipid sent is not valid.");
            let answer = match is_json {
                true => answer::json_error(StatusCode::NOT_FOUND, 4101, format!("{kind} {given} Invalid")),
                false if given.is_empty() => words(),
                false => answer::malformed(words()),
            };
            answer.into()
        })
    }
}

pub(super) async fn taskdetails<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let is_json = asked.is_json()?;
    let named = NamedTask::of(&asked, is_json)?;
    let has_actions = state.job_forms.are_for(asked.user());
    let action = asked.get("action").unwrap_or_default();
    if has_actions && action.eq_ignore_ascii_case("confirm") {
        return Ok(confirm(&asked, &named));
    }
    let (task, id) = (named.task, named.task.job);
    let attempts = found(state.owner.stock_attempts(task, viewer(&state, &asked)?), asked.user(), id).await?;
    // After the view list was asked, as in 1.2.1: else a stranger is led back from an attempt that there is not.
    if asked.is_post()
        && let Some(page) = change(&state, &asked, &named, action).await?
    {
        return Ok(go_back(&page));
    }
    Ok(match (attempts, is_json) {
        (None, true) => answer::json_error(StatusCode::NOT_FOUND, 4102, format!("JobID {id} Not Found")),
        (None, false) => answer::bold("Hadoop Task Details", &new_job_page(id), &format!("Job {id} not found.")),
        (Some(attempts), true) => match attempts.filter(|attempts| !attempts.attempts.is_empty()) {
            Some(attempts) => answer::json(StatusCode::OK, &AttemptsJson::new(&attempts, task)),
            None => answer::json_error(StatusCode::NOT_FOUND, 4103, format!("TaskAttempts For {task} Not Found")),
        },
        (Some(attempts), false) => {
            answer::page(StatusCode::OK, &AttemptsPage::new(attempts.as_ref(), task, has_actions))
        }
    })
}

fn confirm(asked: &PageRequest, named: &NamedTask) -> Response<Body> {
    let action = asked.get("subaction").unwrap_or("fail-task");
    match named.attempt {
        Some(id) if matches!(action, "kill-task" | "fail-task") => {
            answer::with_forms(answer::page(StatusCode::OK, &Confirm::end_attempt(id, action)), true)
        }
        Some(_) => text(StatusCode::BAD_REQUEST, "subaction: expected kill-task or fail-task"),
        None => text(StatusCode::BAD_REQUEST, "expected attemptid=ATTEMPT"),
    }
}

/// Ends an attempt, if the form asks for that; where to go then.
async fn change<O: Owner>(
    state: &WebState<O>,
    asked: &PageRequest,
    named: &NamedTask,
    action: &str,
) -> Result<Option<String>, EarlyAnswer> {
    let is_failure = match action {
        action if action.eq_ignore_ascii_case("kill-task") => false,
        action if action.eq_ignore_ascii_case("fail-task") => true,
        _ => return Ok(None),
    };
    let Some(attempt) = named.attempt else {
        return Err(text(StatusCode::BAD_REQUEST, "expected attemptid=ATTEMPT").into());
    };
    let change = JobChange::EndAttempt { attempt, is_failure };
    Changes::of(state, asked)?.make(attempt.task.job, change).await?;
    let action = if is_failure { "fail-task" } else { "kill-task" };
    Ok(Some(format!("/taskdetails.jsp?subaction={action}&tipid={}", named.task)))
}

#[derive(Template)]
#[template(path = "stock/taskdetails.html")]
struct AttemptsPage<'a> {
    new_page: String,
    id: JobId,
    rows: Vec<AttemptCells<'a>>,
    /// Whether attempts copy and sort.
    has_phases: bool,
    is_map: bool,
    split_nodes: &'a [String],
}

struct AttemptCells<'a> {
    attempt: &'a StockAttempt,
    progress: ShownProgress,
    started: String,
    shuffled: String,
    sorted: String,
    finished: String,
    logs: Option<Logs>,
    /// None: it had no task-cleanup; none in it: its tracker is gone.
    cleanup_logs: Option<Option<Logs>>,
    has_actions: bool,
}

impl<'a> AttemptsPage<'a> {
    fn new(attempts: Option<&'a StockAttempts>, task: TaskId, has_actions: bool) -> Self {
        let is_housekeeping = attempts.is_some_and(|attempts| attempts.is_housekeeping);
        let rows = attempts.map(|attempts| attempts.attempts.as_slice()).unwrap_or_default();
        AttemptsPage {
            new_page: new_job_page(task.job),
            id: task.job,
            rows: rows.iter().map(|attempt| AttemptCells::new(attempt, has_actions)).collect(),
            has_phases: task.kind == Kind::Reduce && !is_housekeeping,
            is_map: task.kind == Kind::Map && !is_housekeeping && !rows.is_empty(),
            split_nodes: attempts.map(|attempts| attempts.split_nodes.as_slice()).unwrap_or_default(),
        }
    }
}

impl<'a> AttemptCells<'a> {
    fn new(attempt: &'a StockAttempt, has_actions: bool) -> Self {
        let cleanup = attempt.cleanup_tracker.as_ref();
        AttemptCells {
            attempt,
            progress: ShownProgress::of(attempt.progress),
            started: time_with_span(attempt.start_ms, 0),
            shuffled: time_with_span(attempt.shuffle_ms, attempt.start_ms),
            sorted: time_with_span(attempt.sort_ms, attempt.shuffle_ms),
            finished: time_with_span(attempt.finish_ms, attempt.start_ms),
            logs: Logs::of(attempt, &attempt.tracker, false),
            cleanup_logs: cleanup.map(|tracker| Logs::of(attempt, tracker, true)),
            has_actions: has_actions && attempt.state == AttemptState::Running,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttemptsJson<'a> {
    job_id: String,
    task_id: String,
    input_split_locations_info: &'a [String],
    task_attempts_info: Vec<AttemptJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttemptJson<'a> {
    attempt_id: String,
    status: &'static str,
    progress_percentage: f32,
    task_attempt_tracker_info: &'a StockPlace,
    cleanup_attempt_tracker_info: Option<&'a StockPlace>,
    start_timing_info: Timing,
    finish_timing_info: Timing,
    shuffle_timing_info: Option<Timing>,
    sort_timing_info: Option<Timing>,
    task_attempt_log_url: Option<String>,
    cleanup_attempt_log_url: Option<String>,
}

impl<'a> AttemptsJson<'a> {
    fn new(attempts: &'a StockAttempts, task: TaskId) -> Self {
        let has_phases = task.kind == Kind::Reduce && !attempts.is_housekeeping;
        AttemptsJson {
            job_id: task.job.to_string(),
            task_id: task.to_string(),
            input_split_locations_info: &attempts.split_nodes,
            task_attempts_info: attempts.attempts.iter().map(|attempt| AttemptJson::new(attempt, has_phases)).collect(),
        }
    }
}

impl<'a> AttemptJson<'a> {
    fn new(attempt: &'a StockAttempt, has_phases: bool) -> Self {
        let cleanup = attempt.cleanup_tracker.as_ref();
        let cleanup_logs = cleanup.and_then(|tracker| Logs::of(attempt, tracker, true));
        AttemptJson {
            attempt_id: attempt.id.to_string(),
            status: attempt.state.name(),
            progress_percentage: attempt.progress * 100.0,
            task_attempt_tracker_info: &attempt.tracker,
            cleanup_attempt_tracker_info: cleanup,
            start_timing_info: timing(attempt.start_ms, 0),
            finish_timing_info: timing(attempt.finish_ms, attempt.start_ms),
            shuffle_timing_info: has_phases.then(|| timing(attempt.shuffle_ms, attempt.start_ms)),
            sort_timing_info: has_phases.then(|| timing(attempt.sort_ms, attempt.shuffle_ms)),
            task_attempt_log_url: Logs::of(attempt, &attempt.tracker, false).map(|logs| logs.all),
            cleanup_attempt_log_url: cleanup_logs.map(|logs| logs.all),
        }
    }
}

fn timing(at_ms: i64, since_ms: i64) -> Timing {
    // 1.2.1 subtracts the other way round what has not happened.
    Timing::new(at_ms, if since_ms == 0 { 0 } else { at_ms.saturating_sub(since_ms).abs() })
}

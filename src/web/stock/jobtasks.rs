//! `/jobtasks.jsp`: the tasks of a job, a page at a time.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Serialize;

use crate::model::{JobId, Kind, TaskId};
use crate::views::ListedState;

use super::super::owner::Owner;
use super::super::response::text;
use super::super::state::WebState;
use super::access::{found, viewer};
use super::answer;
use super::data::{StockTask, StockTasks, TASKS_PER_PAGE, TaskFilter, TaskList};
use super::java_text::{day_and_time, time_with_span};
use super::request::{EarlyAnswer, PageAnswer, PageRequest};
use super::rows::{ShownProgress, new_job_page, simple_host};

pub(super) async fn jobtasks<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let is_json = asked.is_json()?;
    let id: Option<JobId> = asked.parsed("jobid", "the id of a job")?;
    let Some(id) = id else {
        return Ok(match is_json {
            true => answer::json_error(StatusCode::BAD_REQUEST, 4100, "Missing JobID"),
            false => answer::heading("Hadoop task list", "/", "Missing 'jobid'!"),
        });
    };
    let wanted = TasksQuery::of(&asked, id)?;
    let read = state.owner.stock_tasks(id, viewer(&state, &asked)?, (wanted.list, wanted.filter), wanted.start());
    let tasks = found(read, asked.user(), id).await?;
    let host = simple_host(&state.stock.host);
    Ok(match (tasks, is_json) {
        (None, true) => answer::json_error(StatusCode::NOT_FOUND, 4101, format!("JobID {id} Not Found")),
        (None, false) => answer::page(StatusCode::OK, &TasksPage::new(None, &wanted, host)),
        (Some(tasks), true) if tasks.tasks.is_empty() => {
            let description = format!("No Tasks At Start Index {}", wanted.start());
            answer::json_error(StatusCode::NOT_FOUND, 4102, description)
        }
        (Some(tasks), true) => answer::json(StatusCode::OK, &TasksJson::new(&tasks, &wanted)),
        (Some(tasks), false) => answer::page(StatusCode::OK, &TasksPage::new(Some(&tasks), &wanted, host)),
    })
}

struct TasksQuery {
    id: JobId,
    list: TaskList,
    filter: TaskFilter,
    /// As written.
    kind: String,
    state: String,
    /// From 1.
    page: u32,
}

impl TasksQuery {
    fn of(asked: &PageRequest, id: JobId) -> Result<Self, EarlyAnswer> {
        let kind = asked.get("type").unwrap_or("map");
        let list = match kind {
            "map" => TaskList::Work(Kind::Map),
            "reduce" => TaskList::Work(Kind::Reduce),
            "setup" => TaskList::Setup,
            "cleanup" => TaskList::Cleanup,
            _ => {
                let refusal = "type: expected map, reduce, setup or cleanup";
                return Err(text(StatusCode::BAD_REQUEST, refusal).into());
            }
        };
        let page: u32 = asked.parsed("pagenum", "the number of a page")?.unwrap_or(1);
        let state = asked.get("state").unwrap_or("all");
        let filter = match state {
            "all" => TaskFilter::All,
            "running" => TaskFilter::Listed(ListedState::Running),
            "completed" => TaskFilter::Listed(ListedState::Complete),
            "killed" => TaskFilter::Listed(ListedState::Killed),
            "pending" => TaskFilter::Listed(ListedState::Pending),
            _ => TaskFilter::Nothing,
        };
        let state: String = state.chars().take(40).collect();
        Ok(Self { id, list, filter, kind: kind.to_owned(), state, page: page.max(1) })
    }

    fn start(&self) -> u32 {
        (self.page - 1).saturating_mul(TASKS_PER_PAGE)
    }

    fn page_at(&self, page: u32) -> String {
        format!("jobtasks.jsp?jobid={}&type={}&pagenum={page}&state={}", self.id, self.kind, self.state)
    }
}

#[derive(Template)]
#[template(path = "stock/jobtasks.html")]
struct TasksPage<'a> {
    new_page: String,
    id: JobId,
    kind: &'a str,
    host: &'a str,
    is_known: bool,
    heading: String,
    rows: Vec<TaskCells<'a>>,
    next: Option<String>,
    previous: Option<String>,
}

struct TaskCells<'a> {
    id: TaskId,
    progress: ShownProgress,
    status: &'a str,
    started: String,
    finished: String,
    diagnostics: &'a [String],
    counters: usize,
}

impl<'a> TasksPage<'a> {
    /// `tasks`: none of an unknown job.
    fn new(tasks: Option<&'a StockTasks>, wanted: &'a TasksQuery, host: &'a str) -> Self {
        let mut letters = wanted.state.chars();
        let heading = match letters.next() {
            Some(first) => first.to_uppercase().chain(letters.as_str().to_lowercase().chars()).collect(),
            None => String::new(),
        };
        let total = tasks.map_or(0, |tasks| tasks.total);
        let has_next = wanted.start().saturating_add(TASKS_PER_PAGE) < total;
        TasksPage {
            new_page: new_job_page(wanted.id),
            id: wanted.id,
            kind: &wanted.kind,
            host,
            is_known: tasks.is_some(),
            heading,
            rows: tasks.map_or_else(Vec::new, |tasks| tasks.tasks.iter().map(TaskCells::new).collect()),
            next: has_next.then(|| wanted.page_at(wanted.page + 1)),
            previous: (wanted.page > 1).then(|| wanted.page_at(wanted.page - 1)),
        }
    }
}

impl<'a> TaskCells<'a> {
    fn new(task: &'a StockTask) -> Self {
        TaskCells {
            id: task.id,
            progress: ShownProgress::of(task.progress),
            status: &task.status,
            started: time_with_span(task.start_ms, 0),
            finished: time_with_span(task.finish_ms, task.start_ms),
            diagnostics: &task.diagnostics,
            counters: task.counters,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TasksJson<'a> {
    job_id: String,
    #[serde(rename = "type")]
    kind: &'a str,
    state: &'a str,
    page_num: u32,
    start_index: u32,
    end_index: u32,
    tasks_info: Vec<TaskInfo<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskInfo<'a> {
    task_id: String,
    completion_percent: f32,
    status: &'a str,
    start_time: String,
    finish_time: String,
    duration_secs: i64,
}

impl<'a> TasksJson<'a> {
    fn new(tasks: &'a StockTasks, wanted: &'a TasksQuery) -> Self {
        let shown = u32::try_from(tasks.tasks.len()).unwrap_or(u32::MAX);
        let info = tasks.tasks.iter().map(|task| TaskInfo {
            task_id: task.id.to_string(),
            completion_percent: task.progress * 100.0,
            status: &task.status,
            start_time: day_and_time(task.start_ms),
            finish_time: day_and_time(task.finish_ms),
            duration_secs: task.finish_ms.saturating_sub(task.start_ms) / 1_000,
        });
        TasksJson {
            job_id: wanted.id.to_string(),
            kind: &wanted.kind,
            state: &wanted.state,
            page_num: wanted.page,
            start_index: wanted.start(),
            end_index: wanted.start().saturating_add(shown),
            tasks_info: info.collect(),
        }
    }
}

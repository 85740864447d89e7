//! The history pages of a job that is over (1.2.1 `jobdetailshistory.jsp` and those that it leads to). The job is known by its id,
//! which the name of a history file begins with; the file itself is not opened.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};

use crate::model::{AttemptId, AttemptState, JobId, TaskId};

use super::super::owner::Owner;
use super::super::response::text;
use super::super::rows::cut;
use super::super::state::WebState;
use super::access::{found, viewer};
use super::answer;
use super::conf;
use super::data::{PastAttempt, PastKind, StockAcls, StockAttempt, StockCounterGroup, StockPast};
use super::java_text::{grouped, short_day_and_time, short_with_span, time_with_span};
use super::request::{EarlyAnswer, PageAnswer, PageRequest};
use super::rows::{Logs, new_job_page};

pub(super) async fn jobdetailshistory<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let past = past_of(&state, &PageRequest::of(request).await?).await?;
    Ok(answer::page(StatusCode::OK, &Details::new(&past)))
}

pub(super) async fn jobtaskshistory<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let past = past_of(&state, &asked).await?;
    let expected = "expected taskType=SETUP, MAP, REDUCE or CLEANUP and status=all, SUCCESS, FAILED or KILLED";
    let page = Tasks::new(&asked, &past).ok_or_else(|| text(StatusCode::BAD_REQUEST, expected))?;
    Ok(answer::page(StatusCode::OK, &page))
}

/// The job that the name of its history file begins with.
pub(super) fn job_of(log_file: &str) -> Option<JobId> {
    let name = log_file.rsplit('/').next()?;
    let end = name.match_indices('_').nth(2).map_or(name.len(), |(end, _)| end);
    name.get(..end)?.parse().ok()
}

/// The job of a request.
pub(super) fn named_job(asked: &PageRequest) -> Result<JobId, EarlyAnswer> {
    let Some(log_file) = asked.get("logFile") else {
        return Err(answer::bold("Hadoop Job History", "/jobhistoryhome.jsp", "Missing job!!!").into());
    };
    job_of(log_file).ok_or_else(|| {
        let name = cut(log_file);
        let expected =
            format!("logFile: {name:?} is not the name of a history file, which begins with the id of its job");
        text(StatusCode::BAD_REQUEST, expected).into()
    })
}

/// What is said of a job that is nowhere.
pub(super) fn lost(id: JobId) -> EarlyAnswer {
    let why = format!("{id} is not over, or is known neither to memory nor to the database any more");
    let words = answer::bold("Hadoop Job History", "/jobhistoryhome.jsp", &why);
    let (mut parts, body) = words.into_parts();
    parts.status = StatusCode::NOT_FOUND;
    Response::from_parts(parts, body).into()
}

/// The job of a request with its attempts.
pub(super) async fn past_of<O: Owner>(state: &WebState<O>, asked: &PageRequest) -> Result<StockPast, EarlyAnswer> {
    let id = named_job(asked)?;
    let past = found(state.owner.stock_past(id, viewer(state, asked)?), asked.user(), id).await?;
    past.ok_or_else(|| lost(id))
}

pub(super) async fn taskdetailshistory<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    request: Request,
) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let past = past_of(&state, &asked).await?;
    let task: Option<TaskId> = asked.parsed("tipid", "the id of a task")?;
    let task = task.filter(|task| task.job == past.job.id);
    let task = task.ok_or_else(|| text(StatusCode::BAD_REQUEST, "expected tipid=TASK, the id of a task of the job"))?;
    let read = state.owner.stock_attempts(task, viewer(&state, &asked)?);
    let split_nodes = found(read, asked.user(), task.job).await?.flatten().map(|attempts| attempts.split_nodes);
    let page = Attempts::new(&past, task, split_nodes.unwrap_or_default());
    Ok(answer::page(StatusCode::OK, &page))
}

pub(super) async fn taskstatshistory<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let attempt: Option<AttemptId> = asked.parsed("attemptid", "the id of an attempt")?;
    let Some(id) = attempt else {
        return Err(text(StatusCode::BAD_REQUEST, "expected attemptid=ATTEMPT").into());
    };
    let job = id.task.job;
    let read = state.owner.stock_counters(id.task, Some(id.number), viewer(&state, &asked)?);
    let groups = found(read, asked.user(), job).await?.ok_or_else(|| lost(job))?;
    let page = PastCountersPage { new_page: new_job_page(job), id, groups };
    Ok(answer::page(StatusCode::OK, &page))
}

pub(super) async fn jobconf_history<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let id = named_job(&asked)?;
    let conf = found(state.owner.stock_conf(id, viewer(&state, &asked)?), asked.user(), id).await?;
    let properties = Some(conf.ok_or_else(|| lost(id))?);
    let heading = format!("Job Configuration: JobId - {id}");
    Ok(answer::page(StatusCode::OK, &conf::ConfPage { new_page: new_job_page(id), id, heading, properties }))
}

#[derive(Template)]
#[template(path = "stock/jobdetailshistory.html")]
struct Details<'a> {
    new_page: String,
    past: &'a StockPast,
    id: String,
    acls: Option<[(&'static str, String); 2]>,
    submitted: String,
    launched: String,
    finished: String,
    status: &'static str,
    failure: &'a str,
    rows: Vec<KindTotals>,
    /// Attempts that FAILED and those that were KILLED, by host.
    bad: Vec<(&'static str, BTreeMap<&'a str, Vec<TaskId>>)>,
}

struct KindTotals {
    word: &'static str,
    kind: PastKind,
    total: usize,
    succeeded: usize,
    failed: usize,
    killed: usize,
    started: String,
    finished: String,
}

impl<'a> Details<'a> {
    fn new(past: &'a StockPast) -> Self {
        let job = &past.job;
        let bad = [("Failed", AttemptState::Failed), ("Killed", AttemptState::Killed)].map(|(word, state)| {
            let mut by_host = BTreeMap::<&str, Vec<TaskId>>::new();
            for attempt in past.attempts.iter().filter(|attempt| attempt.attempt.state == state) {
                let host = attempt.attempt.tracker.node.rsplit('/').next().unwrap_or_default();
                let tasks = by_host.entry(host).or_default();
                if tasks.last() != Some(&attempt.attempt.id.task) {
                    tasks.push(attempt.attempt.id.task);
                }
            }
            (word, by_host)
        });
        Details {
            new_page: new_job_page(job.id),
            past,
            id: job.id.to_string(),
            acls: job.acls.as_ref().map(StockAcls::named),
            submitted: time_with_span(job.submit_ms, 0),
            launched: time_with_span(past.launch_ms, job.submit_ms),
            finished: time_with_span(job.finish_ms.unwrap_or(0), past.launch_ms),
            status: past.status(),
            failure: if job.failure_info == "NA" { "" } else { &job.failure_info },
            rows: PastKind::ALL.map(|(word, kind)| KindTotals::new(past, word, kind)).into(),
            bad: bad.into_iter().filter(|(_, by_host)| !by_host.is_empty()).collect(),
        }
    }
}

impl Details<'_> {
    fn grouped(&self, number: impl Borrow<i64>) -> String {
        grouped(*number.borrow())
    }
}

impl KindTotals {
    fn new(past: &StockPast, word: &'static str, kind: PastKind) -> Self {
        let attempts = || past.attempts.iter().filter(|attempt| attempt.kind == kind).map(|attempt| &attempt.attempt);
        let count = |state: AttemptState| attempts().filter(|attempt| attempt.state == state).count();
        let (failed, killed) = (count(AttemptState::Failed), count(AttemptState::Killed));
        let total = attempts().count();
        let start_ms = attempts().map(|attempt| attempt.start_ms).filter(|ms| *ms > 0).min().unwrap_or(0);
        let finish_ms = attempts().map(|attempt| attempt.finish_ms).max().unwrap_or(0);
        KindTotals {
            word,
            kind,
            total,
            succeeded: total.saturating_sub(failed + killed),
            failed,
            killed,
            started: time_with_span(start_ms, 0),
            finished: time_with_span(finish_ms, start_ms),
        }
    }

    fn counts(&self) -> [(&'static str, usize); 4] {
        [("all", self.total), ("SUCCESS", self.succeeded), ("FAILED", self.failed), ("KILLED", self.killed)]
    }
}

/// The input of the template of a list of attempts by kind and end.
#[derive(Template)]
#[template(path = "stock/jobtaskshistory.html")]
struct Tasks<'a> {
    new_page: String,
    past: &'a StockPast,
    id: JobId,
    status: &'static str,
    kind: PastKind,
    rows: Vec<PastTaskCells>,
}

struct PastTaskCells {
    task: TaskId,
    started: String,
    finished: String,
    error: String,
}

impl<'a> Tasks<'a> {
    /// None: the request names no kind or no end.
    fn new(asked: &PageRequest, past: &'a StockPast) -> Option<Self> {
        let kind = PastKind::parse(asked.get("taskType")?)?;
        let (status, state) = match asked.get("status")? {
            "all" => ("all", None),
            "SUCCESS" => ("SUCCESS", Some(AttemptState::Succeeded)),
            "FAILED" => ("FAILED", Some(AttemptState::Failed)),
            "KILLED" => ("KILLED", Some(AttemptState::Killed)),
            _ => return None,
        };
        let attempts = past.attempts.iter().filter(|attempt| attempt.kind == kind);
        let listed = attempts.filter(|attempt| state.is_none_or(|state| attempt.attempt.state == state));
        let row = |PastAttempt { attempt, .. }: &PastAttempt| PastTaskCells {
            task: attempt.id.task,
            started: short_day_and_time(attempt.start_ms),
            finished: short_with_span(attempt.finish_ms, attempt.start_ms),
            error: attempt.diagnostics.join(","),
        };
        let rows = listed.map(row).collect();
        Some(Tasks { new_page: new_job_page(past.job.id), past, id: past.job.id, status, kind, rows })
    }
}

/// The input of the template of the attempts of a task.
#[derive(Template)]
#[template(path = "stock/taskdetailshistory.html")]
struct Attempts<'a> {
    new_page: String,
    past: &'a StockPast,
    id: JobId,
    task: TaskId,
    has_phases: bool,
    is_map: bool,
    split_nodes: Vec<String>,
    rows: Vec<PastAttemptCells<'a>>,
}

struct PastAttemptCells<'a> {
    id: AttemptId,
    started: String,
    shuffled: String,
    sorted: String,
    finished: String,
    node: &'a str,
    error: String,
    logs: Option<Logs>,
    counters: usize,
}

impl<'a> Attempts<'a> {
    fn new(past: &'a StockPast, task: TaskId, split_nodes: Vec<String>) -> Self {
        let attempts: Vec<&PastAttempt> =
            past.attempts.iter().filter(|attempt| attempt.attempt.id.task == task).collect();
        let row = |PastAttempt { attempt, .. }: &'a PastAttempt| PastAttemptCells {
            id: attempt.id,
            started: short_day_and_time(attempt.start_ms),
            shuffled: short_with_span(attempt.shuffle_ms, attempt.start_ms),
            sorted: short_with_span(attempt.sort_ms, attempt.shuffle_ms),
            finished: short_with_span(attempt.finish_ms, attempt.start_ms),
            node: host_in_history(attempt),
            error: attempt.diagnostics.join(","),
            logs: Logs::of(attempt, &attempt.tracker, false),
            counters: attempt.counters,
        };
        Attempts {
            new_page: new_job_page(task.job),
            past,
            id: task.job,
            task,
            has_phases: attempts.first().is_some_and(|attempt| attempt.kind == PastKind::Reduce),
            is_map: attempts.first().is_some_and(|attempt| attempt.kind == PastKind::Map),
            split_nodes,
            rows: attempts.iter().copied().map(row).collect(),
        }
    }
}

/// Where an attempt ran: history files have the rack of one that succeeded alone.
fn host_in_history(attempt: &StockAttempt) -> &str {
    let node = &attempt.tracker.node;
    match attempt.state {
        AttemptState::Failed | AttemptState::Killed => node.rsplit('/').next().unwrap_or(node),
        _ => node,
    }
}

/// The input of the template of the counters of an attempt.
#[derive(Template)]
#[template(path = "stock/taskstatshistory.html")]
struct PastCountersPage {
    new_page: String,
    id: AttemptId,
    groups: Option<Vec<StockCounterGroup>>,
}

impl PastCountersPage {
    fn grouped(&self, number: impl Borrow<i64>) -> String {
        grouped(*number.borrow())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_known_by_the_name_of_its_history_file_alone() {
        let id: JobId = "job_202611220350_0004".parse().unwrap();
        for named in [
            "file:/done/job_202611220350_0004_1795319573186_root_word+count",
            "job_202611220350_0004_1795319573186_root_word%2Bcount%2B%253C2%253E",
            "hdfs://nn/../../etc/job_202611220350_0004_conf.xml",
            "job_202611220350_0004",
        ] {
            assert_eq!(job_of(named), Some(id), "{named}");
        }
        for none in ["", "/etc/passwd", "file:/done/../job_x_1_2", "job_202611220350_0004/..", "job_1", "..%2F..%2Fetc"]
        {
            assert_eq!(job_of(none), None, "{none}");
        }
    }
}

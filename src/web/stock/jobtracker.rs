//! `/jobtracker.jsp`: the cluster with its queues and jobs.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Serialize;

use crate::engine::{ClusterSnapshot, JobSnapshot};
use crate::model::RunState;

use super::super::cluster_view::ClusterView;
use super::super::owner::{JobChange, MarketPresence, Owner};
use super::super::response::text;
use super::super::state::WebState;
use super::answer;
use super::changes::Changes;
use super::cluster::{JobsTable, QueueLines, Summary, jobs_in, scheduling_info};
use super::java_text::{COMPILED, COMPILER, REVISION, VERSION, bytes, date, day_and_time};
use super::process::ProcessMemory;
use super::request::{EarlyAnswer, PageAnswer, PageRequest};
use super::rows::simple_host;

/// States of jobs that did not succeed.
const FAILED: [RunState; 2] = [RunState::Failed, RunState::Killed];

pub(super) async fn jobtracker<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let is_json = asked.is_json()?;
    if asked.is_post() {
        change_jobs(&state, &asked).await?;
    }
    let view = ClusterView::of(&state).await;
    let view = view.map_err(|why| text(StatusCode::SERVICE_UNAVAILABLE, why))?;
    let shows_money = state.shows_money || state.owner.market_presence() != MarketPresence::Ruling;
    let host = simple_host(&state.stock.host);
    let response = match is_json {
        true => answer::json(StatusCode::OK, &ClusterJson::new(&view.overview, host, shows_money)),
        false => {
            let has_actions = state.job_forms.are_for(asked.user());
            let page = ClusterPage::new(&view.overview, host, has_actions, shows_money);
            answer::with_forms(answer::page(StatusCode::OK, &page), has_actions)
        }
    };
    Ok(view.aged(response))
}

/// Kills the chosen jobs, or gives them another priority, if a form asks for that (1.2.1 `JSPUtil.processButtons`).
pub(super) async fn change_jobs<O: Owner>(state: &WebState<O>, asked: &PageRequest) -> Result<(), EarlyAnswer> {
    let change = match (asked.get("killJobs"), asked.get("changeJobPriority"), asked.get("setJobPriority")) {
        (Some(_), _, _) => JobChange::Kill,
        (None, Some(_), Some(priority)) => JobChange::Priority(priority.to_owned()),
        _ => return Ok(()),
    };
    let jobs: Vec<&str> = asked.all("jobCheckBox").collect();
    match jobs.is_empty() {
        true => Ok(()),
        false => Changes::of(state, asked)?.make_all(&jobs, &change).await,
    }
}

#[derive(Template)]
#[template(path = "stock/jobtracker.html")]
struct ClusterPage<'a> {
    new_page: &'static str,
    host: &'a str,
    started: String,
    identifier: &'a str,
    safe_mode: &'static str,
    used_memory: String,
    memory: String,
    summary: Summary,
    average: String,
    queues: Vec<QueueLines>,
    running: JobsTable,
    completed: JobsTable,
    failed: JobsTable,
}

impl<'a> ClusterPage<'a> {
    fn new(overview: &'a ClusterSnapshot, host: &'a str, has_actions: bool, shows_money: bool) -> Self {
        let (memory, summary) = (ProcessMemory::now(), Summary::of(overview));
        let running = jobs_in(overview, &[RunState::Running]);
        let completed = jobs_in(overview, &[RunState::Succeeded]);
        let (first_completed, first_failed) = (running.len(), running.len() + completed.len());
        ClusterPage {
            new_page: "/",
            host,
            started: date(overview.start_ms),
            identifier: &overview.identifier,
            safe_mode: safe_mode(overview),
            used_memory: bytes(memory.used_bytes),
            memory: bytes(memory.all_bytes),
            average: summary.tasks_per_node().map_or_else(|| "-".to_owned(), |average| format!("{average:.2}")),
            summary,
            queues: QueueLines::all(overview, shows_money),
            running: JobsTable::new(running, 0, has_actions, shows_money).refreshed(),
            completed: JobsTable::new(completed, first_completed, false, shows_money),
            failed: JobsTable::new(jobs_in(overview, &FAILED), first_failed, false, shows_money),
        }
    }
}

fn safe_mode(overview: &ClusterSnapshot) -> &'static str {
    if overview.is_in_safe_mode { "ON" } else { "OFF" }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterJson<'a> {
    meta_info: MetaInfo<'a>,
    cluster_summary: ClusterSummary,
    running_jobs_summary_info: Option<Vec<JobLineJson<'a>>>,
    completed_jobs_summary_info: Option<Vec<JobLineJson<'a>>>,
    failed_jobs_summary_info: Option<Vec<JobLineJson<'a>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MetaInfo<'a> {
    job_tracker_name: &'a str,
    status: &'static str,
    start_timestamp: String,
    version: String,
    compilation_info: String,
    identifier: &'a str,
    safe_mode_status: &'static str,
    has_restarted: bool,
    has_recovered: bool,
    recovery_duration_secs: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterSummary {
    used_heap_memory_bytes: u64,
    total_heap_memory_bytes: u64,
    num_total_task_trackers: usize,
    num_black_listed_task_trackers: usize,
    num_gray_listed_task_trackers: usize,
    num_decommissioned_task_trackers: usize,
    running_map_tasks: u64,
    running_reduce_tasks: u64,
    total_job_submissions: u64,
    occupied_map_slots: u32,
    occupied_reduce_slots: u32,
    reserved_map_slots: u32,
    reserved_reduce_slots: u32,
    map_task_capacity: u32,
    reduce_task_capacity: u32,
    avg_tasks_per_task_tracker: f32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JobLineJson<'a> {
    job_id: String,
    job_name: &'a str,
    user_name: &'a str,
    job_priority: &'static str,
    map_stats: TaskStats,
    reduce_stats: TaskStats,
    job_scheduling_info: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskStats {
    num_completed: u32,
    num_total: u32,
    completion_percentage: f32,
}

impl<'a> ClusterJson<'a> {
    fn new(overview: &'a ClusterSnapshot, host: &'a str, shows_money: bool) -> Self {
        let jobs = |states: &[RunState]| {
            let jobs = jobs_in(overview, states);
            (!jobs.is_empty()).then(|| jobs.into_iter().map(|job| JobLineJson::new(job, shows_money)).collect())
        };
        ClusterJson {
            meta_info: MetaInfo {
                job_tracker_name: host,
                status: "RUNNING",
                start_timestamp: day_and_time(overview.start_ms),
                version: format!("{VERSION}, revision {REVISION}"),
                compilation_info: format!("{COMPILED} by {COMPILER}"),
                identifier: &overview.identifier,
                safe_mode_status: safe_mode(overview),
                has_restarted: false,
                has_recovered: true,
                recovery_duration_secs: 0,
            },
            cluster_summary: ClusterSummary::new(&Summary::of(overview), &ProcessMemory::now()),
            running_jobs_summary_info: jobs(&[RunState::Running]),
            completed_jobs_summary_info: jobs(&[RunState::Succeeded]),
            failed_jobs_summary_info: jobs(&FAILED),
        }
    }
}

impl ClusterSummary {
    fn new(summary: &Summary, memory: &ProcessMemory) -> Self {
        ClusterSummary {
            used_heap_memory_bytes: memory.used_bytes,
            total_heap_memory_bytes: memory.all_bytes,
            num_total_task_trackers: summary.nodes,
            num_black_listed_task_trackers: summary.blacklisted,
            num_gray_listed_task_trackers: summary.graylisted,
            num_decommissioned_task_trackers: summary.excluded,
            running_map_tasks: summary.running.map,
            running_reduce_tasks: summary.running.reduce,
            total_job_submissions: summary.submissions,
            occupied_map_slots: summary.occupied.map,
            occupied_reduce_slots: summary.occupied.reduce,
            reserved_map_slots: summary.reserved.map,
            reserved_reduce_slots: summary.reserved.reduce,
            map_task_capacity: summary.capacity.map,
            reduce_task_capacity: summary.capacity.reduce,
            avg_tasks_per_task_tracker: summary.tasks_per_node().unwrap_or(0.0),
        }
    }
}

impl<'a> JobLineJson<'a> {
    fn new(job: &'a JobSnapshot, shows_money: bool) -> Self {
        let stats = |finished, total, progress: f32| TaskStats {
            num_completed: finished,
            num_total: total,
            completion_percentage: progress * 100.0,
        };
        JobLineJson {
            job_id: job.id.to_string(),
            job_name: &job.name,
            user_name: &job.user,
            job_priority: job.priority.name(),
            map_stats: stats(job.finished.map, job.tasks.map, job.live.progress.map),
            reduce_stats: stats(job.finished.reduce, job.tasks.reduce, job.live.progress.reduce),
            job_scheduling_info: scheduling_info(job, shows_money),
        }
    }
}

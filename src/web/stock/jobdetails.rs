//! `/jobdetails.jsp`: a job.

use std::borrow::Borrow;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Serialize;

use crate::model::{JobId, Kind, Priority, RunState};

use super::super::owner::{JobChange, MarketPresence, Owner};
use super::super::state::WebState;
use super::access::{found, viewer};
use super::answer;
use super::changes::{Changes, Confirm};
use super::data::{StockAcls, StockCounterGroup, StockJob, StockTally};
use super::graph::{PictureFrame, picture};
use super::java_text::{date, grouped, span};
use super::request::{EarlyAnswer, PageAnswer, PageRequest};
use super::rows::{ShownProgress, Timing, new_job_page, simple_host, state_word};

/// Pace of the page where none is asked for, s.
const REFRESH_S: i64 = 60;
/// As forms list them.
const PRIORITIES: [Priority; 5] =
    [Priority::VeryHigh, Priority::High, Priority::Normal, Priority::Low, Priority::VeryLow];
const NO_ID: &str = "Missing 'jobid'!";

pub(super) async fn jobdetails<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let is_json = asked.is_json()?;
    let id: Option<JobId> = asked.parsed("jobid", "the id of a job")?;
    let Some(id) = id else {
        return Ok(match is_json {
            true => answer::json_error(StatusCode::BAD_REQUEST, 4100, "Missing JobID"),
            false => answer::heading("Hadoop job", "/", NO_ID),
        });
    };
    let refresh = asked.parsed("refresh", "a number of seconds")?.unwrap_or(REFRESH_S);
    let has_actions = state.job_forms.are_for(asked.user());
    let action = asked.get("action").unwrap_or_default();
    if has_actions && action.eq_ignore_ascii_case("confirm") {
        let question = answer::page(StatusCode::OK, &Confirm::kill_job(id));
        return Ok(answer::with_forms(question, true));
    }
    if asked.is_post() {
        change(&state, &asked, id, action).await?;
    }
    let job = found(state.owner.stock_job(id, viewer(&state, &asked)?), asked.user(), id).await?;
    // What a market says of a job has its queue's money in it.
    let hides_money = !state.shows_money && state.owner.market_presence() == MarketPresence::Ruling;
    let shown = |job: StockJob| match hides_money {
        true => StockJob { scheduling_info: None, ..job },
        false => job,
    };
    let job = job.map(shown);
    let host = simple_host(&state.stock.host);
    Ok(match (job, is_json) {
        (None, true) => answer::json_error(StatusCode::NOT_FOUND, 4101, format!("JobID {id} Not Found")),
        (None, false) => {
            let unknown = UnknownJob { new_page: new_job_page(id), id: id.to_string(), host };
            answer::page(StatusCode::OK, &unknown)
        }
        (Some(job), true) => answer::json(StatusCode::OK, &JobJson::new(&job, host, state.owner.health().at_ms)),
        (Some(job), false) => {
            let (is_map_off, is_reduce_off) = (is_off(&asked, "map.graph"), is_off(&asked, "reduce.graph"));
            let graphs = Graphs { refresh, is_map_off, is_reduce_off };
            let page = JobPage::new(&job, host, &graphs, has_actions, state.owner.health().at_ms);
            answer::with_forms(answer::page(StatusCode::OK, &page), has_actions)
        }
    })
}

/// Kills the job or gives it another priority, if the form asks for that.
async fn change<O: Owner>(
    state: &WebState<O>,
    asked: &PageRequest,
    id: JobId,
    action: &str,
) -> Result<(), EarlyAnswer> {
    let change = match (action, asked.get("prio")) {
        (action, _) if action.eq_ignore_ascii_case("kill") => JobChange::Kill,
        (action, Some(priority)) if action.eq_ignore_ascii_case("changeprio") => {
            JobChange::Priority(priority.to_owned())
        }
        _ => return Ok(()),
    };
    Changes::of(state, asked)?.make(id, change).await
}

fn is_off(asked: &PageRequest, graph: &str) -> bool {
    asked.get(graph) == Some("off")
}

#[derive(Template)]
#[template(path = "stock/job_unknown.html")]
struct UnknownJob<'a> {
    new_page: String,
    id: String,
    host: &'a str,
}

/// Which pictures a page shows.
struct Graphs {
    refresh: i64,
    is_map_off: bool,
    is_reduce_off: bool,
}

#[derive(Template)]
#[template(path = "stock/jobdetails.html")]
struct JobPage<'a> {
    new_page: String,
    job: &'a StockJob,
    host: &'a str,
    submit_host: &'a str,
    submit_address: &'a str,
    /// Their names and words; none while they are off.
    acls: Option<[(&'static str, String); 2]>,
    setup: LevelState,
    cleanup: LevelState,
    status: Option<&'static str>,
    /// None while it runs.
    end_words: Option<EndWords>,
    started: String,
    finished: String,
    took: String,
    scheduling_info: Option<&'a str>,
    rows: Vec<KindRow>,
    graphs: Vec<GraphPart>,
    has_actions: bool,
    is_running: bool,
    priority: &'static str,
    other_priorities: Vec<&'static str>,
}

/// How a page says that a job has ended.
struct EndWords {
    word: &'static str,
    has_reason: bool,
}

/// The state of a job's setup or cleanup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LevelState {
    Running,
    Pending,
    Successful,
    Failed,
    None,
}

struct KindRow {
    kind: &'static str,
    id: JobId,
    tasks_page: String,
    progress: ShownProgress,
    tally: StockTally,
}

/// A picture, and the address that opens or closes it.
struct GraphPart {
    title: &'static str,
    toggle: String,
    svg: Option<String>,
}

impl<'a> JobPage<'a> {
    fn new(job: &'a StockJob, host: &'a str, graphs: &Graphs, has_actions: bool, now_ms: i64) -> Self {
        let end_ms = job.finish_ms.unwrap_or(now_ms);
        let end_words = match job.state {
            RunState::Prep | RunState::Running => None,
            RunState::Succeeded => Some(EndWords { word: "Finished", has_reason: false }),
            RunState::Failed => Some(EndWords { word: "Failed", has_reason: true }),
            RunState::Killed => Some(EndWords { word: "Killed", has_reason: true }),
        };
        let others = PRIORITIES.into_iter().filter(|priority| *priority != job.priority);
        JobPage {
            new_page: new_job_page(job.id),
            job,
            host,
            submit_host: job.submit_host.as_deref().unwrap_or_default(),
            submit_address: job.submit_address.as_deref().unwrap_or_default(),
            acls: job.acls.as_ref().map(StockAcls::named),
            setup: LevelState::of(job.setup),
            cleanup: LevelState::of(job.cleanup),
            status: state_word(job.state),
            end_words,
            started: date(job.submit_ms),
            finished: date(end_ms),
            took: span(end_ms.saturating_sub(job.submit_ms).max(0)),
            scheduling_info: job.scheduling_info.as_deref(),
            rows: Kind::ALL.map(|kind| KindRow::new(job, kind)).into(),
            graphs: graphs.parts(job),
            has_actions,
            is_running: job.state == RunState::Running,
            priority: job.priority.name(),
            other_priorities: others.map(Priority::name).collect(),
        }
    }
}

impl JobPage<'_> {
    fn grouped(&self, number: impl Borrow<i64>) -> String {
        grouped(*number.borrow())
    }
}

impl Graphs {
    fn parts(&self, job: &StockJob) -> Vec<GraphPart> {
        let part = |kind: Kind, title: &'static str, word: &str, is_off: bool| GraphPart {
            title,
            toggle: format!(
                "/jobdetails.jsp?jobid={}&refresh={}&{word}.graph={}",
                job.id,
                self.refresh,
                if is_off { "on" } else { "off" }
            ),
            svg: (!is_off).then(|| picture(&job.graphs[kind], kind, PictureFrame::Inline)),
        };
        let maps = part(Kind::Map, "Map Completion Graph - ", "map", self.is_map_off);
        let reduces = part(Kind::Reduce, "Reduce Completion Graph -", "reduce", self.is_reduce_off);
        let has_reduces = job.work.reduce.total > 0;
        [Some(maps), has_reduces.then_some(reduces)].into_iter().flatten().collect()
    }
}

impl LevelState {
    fn of(tally: StockTally) -> Self {
        match tally {
            StockTally { running: 1.., .. } => Self::Running,
            StockTally { pending: 1.., .. } => Self::Pending,
            StockTally { finished: 1.., .. } => Self::Successful,
            StockTally { killed: 1.., .. } => Self::Failed,
            _ => Self::None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Pending => "Pending",
            Self::Successful => "Successful",
            Self::Failed => "Failed",
            Self::None => "None",
        }
    }
}

impl KindRow {
    fn new(job: &StockJob, kind: Kind) -> Self {
        let word = kind_word(kind);
        KindRow {
            kind: word,
            id: job.id,
            tasks_page: format!("jobtasks.jsp?jobid={}&type={word}&pagenum=1", job.id),
            progress: ShownProgress::of(job.progress[kind]),
            tally: job.work[kind],
        }
    }

    fn page_of(&self, state: &str) -> String {
        format!("{}&state={state}", self.tasks_page)
    }

    fn failures_of(&self, cause: &str) -> String {
        format!("jobfailures.jsp?jobid={}&kind={}&cause={cause}", self.id, self.kind)
    }
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Reduce => "reduce",
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JobJson<'a> {
    job_id: String,
    meta_info: JobMetaInfo<'a>,
    map_task_summary: TaskSummary,
    reduce_task_summary: TaskSummary,
    job_counter_groups_info: &'a [StockCounterGroup],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JobMetaInfo<'a> {
    job_tracker_name: &'a str,
    job_name: &'a str,
    user_name: &'a str,
    job_file_location: &'a str,
    job_submission_host_name: Option<&'a str>,
    job_submission_host_address: Option<&'a str>,
    job_setup_status: &'static str,
    job_cleanup_status: &'static str,
    job_status: &'static str,
    job_status_info: Option<&'a str>,
    job_start_timing_info: Option<Timing>,
    job_finish_timing_info: Option<Timing>,
    num_flaky_task_trackers: usize,
    job_scheduling_info: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskSummary {
    progress_percentage: f32,
    task_stats: StockTally,
}

impl<'a> JobJson<'a> {
    fn new(job: &'a StockJob, host: &'a str, now_ms: i64) -> Self {
        let summary =
            |kind| TaskSummary { progress_percentage: job.progress[kind] * 100.0, task_stats: job.work[kind] };
        JobJson {
            job_id: job.id.to_string(),
            meta_info: JobMetaInfo::new(job, host, now_ms),
            map_task_summary: summary(Kind::Map),
            reduce_task_summary: summary(Kind::Reduce),
            job_counter_groups_info: &job.counters,
        }
    }
}

impl<'a> JobMetaInfo<'a> {
    fn new(job: &'a StockJob, host: &'a str, now_ms: i64) -> Self {
        let timing = |at_ms: i64, took_ms: i64| Timing::new(at_ms, took_ms.max(0));
        let took_ms = job.finish_ms.unwrap_or(now_ms).saturating_sub(job.submit_ms);
        let start = match job.state {
            RunState::Prep => None,
            RunState::Running => Some(timing(job.submit_ms, took_ms)),
            _ => Some(timing(job.submit_ms, 0)),
        };
        JobMetaInfo {
            job_tracker_name: host,
            job_name: &job.name,
            user_name: &job.user,
            job_file_location: &job.job_file,
            job_submission_host_name: job.submit_host.as_deref(),
            job_submission_host_address: job.submit_address.as_deref(),
            job_setup_status: LevelState::of(job.setup).word(),
            job_cleanup_status: LevelState::of(job.cleanup).word(),
            job_status: state_word(job.state).unwrap_or("Unknown"),
            job_status_info: match job.state {
                RunState::Failed | RunState::Killed => Some(&job.failure_info),
                RunState::Prep => Some("Unknown"),
                RunState::Running | RunState::Succeeded => None,
            },
            job_start_timing_info: start,
            job_finish_timing_info: job.finish_ms.map(|at_ms| timing(at_ms, took_ms)),
            num_flaky_task_trackers: job.flaky.len(),
            job_scheduling_info: job.scheduling_info.as_deref(),
        }
    }
}

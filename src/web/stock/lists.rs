//! `/machines.jsp`: the trackers. `/jobqueue_details.jsp`: the jobs of a queue.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::StatusCode;

use crate::engine::{ClusterSnapshot, TrackerSnapshot};
use crate::model::PerKind;

use super::super::cluster_view::ClusterView;
use super::super::owner::{MarketPresence, Owner};
use super::super::response::text;
use super::super::state::WebState;
use super::answer;
use super::cluster::{JobsTable, QueueLines, jobs_of_queue};
use super::jobtracker::change_jobs;
use super::request::{PageAnswer, PageRequest};
use super::rows::simple_host;

pub(super) async fn machines<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let view = ClusterView::of(&state).await;
    let view = view.map_err(|why| text(StatusCode::SERVICE_UNAVAILABLE, why))?;
    let kind = asked.get("type").unwrap_or_default();
    let page = Machines::new(&view.overview, simple_host(&state.stock.host), kind);
    Ok(view.aged(answer::page(StatusCode::OK, &page)))
}

#[derive(Template)]
#[template(path = "stock/machines.html")]
struct Machines<'a> {
    new_page: &'static str,
    host: &'a str,
    heading: &'static str,
    /// With a blank after it; empty for all trackers.
    kind: &'static str,
    list: MachineList<'a>,
    columns: u32,
    has_reason: bool,
    reason_for: &'static str,
    /// Who reports the most failures.
    worst: Option<(&'a str, i32)>,
}

enum MachineList<'a> {
    Excluded(&'a [String]),
    Trackers(Vec<TrackerRow<'a>>),
}

struct TrackerRow<'a> {
    page: Option<String>,
    name: &'a str,
    host: &'a str,
    running: u32,
    slots: PerKind<u32>,
    task_failures: i32,
    dir_failures: i32,
    health: &'static str,
    healthy_s: i64,
    reasons: &'a str,
    /// Tasks and successes since the start, in the last day and in the last hour.
    windows: [u64; 6],
    silent_s: u64,
}

impl<'a> Machines<'a> {
    fn new(overview: &'a ClusterSnapshot, host: &'a str, kind: &str) -> Self {
        let rows = |is: fn(&&TrackerSnapshot) -> bool| {
            let trackers = overview.trackers.iter().filter(is);
            MachineList::Trackers(trackers.map(|tracker| TrackerRow::new(tracker, overview.at_ms)).collect())
        };
        let (heading, kind, list, reason_for) = match kind {
            "active" => ("Active Task Trackers", "active ", rows(|tracker| tracker.healthy), ""),
            "blacklisted" => {
                ("Blacklisted Task Trackers", "blacklisted ", rows(|tracker| !tracker.healthy), "Blacklisting")
            }
            "graylisted" => {
                ("Graylisted Task Trackers", "graylisted ", rows(|tracker| tracker.graylisted), "Graylisting")
            }
            "excluded" => ("Excluded Nodes", "", MachineList::Excluded(&overview.excluded_hosts), ""),
            _ => ("Task Trackers", "", rows(|_| true), ""),
        };
        let has_reason = !reason_for.is_empty();
        let worst = match &list {
            MachineList::Excluded(_) => None,
            MachineList::Trackers(trackers) => {
                let failures = trackers.iter().map(|tracker| (tracker.name, tracker.task_failures));
                failures.fold(None, |worst: Option<(&str, i32)>, (name, failures)| match worst {
                    Some((_, most)) if most >= failures => worst,
                    _ if failures > 0 => Some((name, failures)),
                    _ => worst,
                })
            }
        };
        let columns = 15 + u32::from(has_reason);
        Machines { new_page: "/#trackers", host, heading, kind, list, columns, has_reason, reason_for, worst }
    }
}

impl<'a> TrackerRow<'a> {
    fn new(tracker: &'a TrackerSnapshot, at_ms: i64) -> Self {
        let reported = &tracker.reported;
        let is_port = (1..=i32::from(u16::MAX)).contains(&tracker.http_port);
        let [given, succeeded] = tracker.task_windows;
        let health = match (reported.health_ms, tracker.healthy) {
            (0, true) => "N/A",
            (_, true) => "Healthy",
            (_, false) => "Unhealthy",
        };
        TrackerRow {
            page: is_port.then(|| format!("http://{}:{}/", tracker.host, tracker.http_port)),
            name: &tracker.name,
            host: &tracker.host,
            running: reported.attempts,
            slots: tracker.slots,
            task_failures: reported.task_failures,
            dir_failures: reported.dir_failures,
            health,
            healthy_s: if reported.health_ms == 0 { 0 } else { at_ms.saturating_sub(reported.health_ms) / 1_000 },
            reasons: &tracker.complaints,
            windows: [
                given.since_start,
                succeeded.since_start,
                given.last_day,
                succeeded.last_day,
                given.last_hour,
                succeeded.last_hour,
            ],
            silent_s: tracker.silent_ms / 1_000,
        }
    }
}

pub(super) async fn jobqueue_details<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    if asked.is_post() {
        change_jobs(&state, &asked).await?;
    }
    let view = ClusterView::of(&state).await;
    let view = view.map_err(|why| text(StatusCode::SERVICE_UNAVAILABLE, why))?;
    let shows_money = state.shows_money || state.owner.market_presence() != MarketPresence::Ruling;
    let name: String = asked.get("queueName").unwrap_or("null").chars().take(MAX_NAME_CHARACTERS).collect();
    let known = QueueLines::all(&view.overview, shows_money).into_iter().find(|queue| queue.name == name);
    let jobs = JobsTable::new(jobs_of_queue(&view.overview, &name), 0, false, shows_money).refreshed();
    let page = QueueDetails {
        new_page: "/",
        host: simple_host(&state.stock.host),
        state: known.as_ref().map_or("running", |queue| queue.state),
        name: known.as_ref().map_or_else(|| format!("INVALID_QUEUE_NAME ({name})"), |queue| queue.name.clone()),
        info: known.map_or_else(|| vec!["INVALID_SCHEDULING_INFO".to_owned()], |queue| queue.info),
        table: jobs,
    };
    Ok(view.aged(answer::page(StatusCode::OK, &page)))
}

/// Most characters shown of the name of a queue that is none.
const MAX_NAME_CHARACTERS: usize = 255;

#[derive(Template)]
#[template(path = "stock/jobqueue_details.html")]
struct QueueDetails<'a> {
    new_page: &'static str,
    host: &'a str,
    name: String,
    state: &'static str,
    info: Vec<String>,
    table: JobsTable,
}

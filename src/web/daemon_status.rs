//! `/status`: the daemon at a glance, in JSON and without a signature. It shows nothing that the start page does not.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};

use crate::api::{ContainerCounts, DaemonStatus};

use super::cluster_view::ClusterView;
use super::owner::{HEALTHY, Health, Owner};
use super::response::{JSON, fresh, json, text};
use super::state::{ServedPorts, WebState};
use super::worker_health::WorkerHealth;

pub(super) async fn daemon_status<O: Owner>(State(state): State<Arc<WebState<O>>>) -> Response<Body> {
    let view = match ClusterView::of(&state).await {
        Ok(view) => view,
        Err(why) => return text(StatusCode::SERVICE_UNAVAILABLE, why),
    };
    let status = status_of(&view, state.owner.health(), state.ports);
    view.aged(fresh(StatusCode::OK, JSON, json(&status)))
}

pub(super) fn status_of(view: &ClusterView, health: Health, ports: ServedPorts) -> DaemonStatus {
    let overview = &*view.overview;
    let is_ready = health.is_alive && health.is_ready;
    let complaint = WorkerHealth::complaint_of(overview).filter(|_| is_ready && health.text == HEALTHY);
    DaemonStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started_ms: overview.start_ms,
        uptime_ms: overview.at_ms.saturating_sub(overview.start_ms),
        rpc: ports.rpc.map(|address| address.to_string()),
        http: ports.http.map(|address| address.to_string()),
        scheduler: overview.scheduler.clone(),
        workers: WorkerHealth::of(overview).counts,
        slots: overview.slots,
        running_tasks: overview.running,
        waiting_tasks: overview.waiting,
        containers: overview
            .containers
            .map(|containers| ContainerCounts { held_slots: containers.held_slots, waiting: containers.waiting }),
        running_jobs: overview.running_jobs,
        preparing_jobs: overview.preparing_jobs,
        old_s: view.old.as_ref().map(|(age_s, _)| *age_s),
        budgets: health.budgets.clone(),
        is_ready,
        health: complaint.map_or(health.text, |complaint| format!("{HEALTHY}, but {complaint}")),
    }
}

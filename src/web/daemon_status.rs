//! `/status`: the daemon at a glance, in JSON and without a signature. It shows nothing that the start page does not.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use tokio::time::timeout;

use crate::api::{DaemonStatus, WorkerCounts};
use crate::engine::ClusterSnapshot;

use super::owner::{HEALTHY, Health, Owner, OwnerGone};
use super::response::{JSON, fresh, json, text};
use super::state::{ANSWER_TIMEOUT, ServedPorts, WebState};
use super::worker_health::WorkerHealth;

pub(super) async fn daemon_status<O: Owner>(State(state): State<Arc<WebState<O>>>) -> Response<Body> {
    let Ok(Ok(overview)) = timeout(ANSWER_TIMEOUT, state.owner.overview()).await else {
        return text(StatusCode::SERVICE_UNAVAILABLE, OwnerGone);
    };
    fresh(StatusCode::OK, JSON, json(&status_of(&overview, state.owner.health(), state.ports)))
}

fn status_of(overview: &ClusterSnapshot, health: Health, ports: ServedPorts) -> DaemonStatus {
    let workers = WorkerHealth::of(overview);
    let is_ready = health.is_alive && health.is_ready;
    let complaint = workers.complaint().filter(|_| is_ready && health.text == HEALTHY);
    DaemonStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started_ms: overview.start_ms,
        uptime_ms: overview.at_ms.saturating_sub(overview.start_ms),
        rpc: ports.rpc.map(|address| address.to_string()),
        http: ports.http.map(|address| address.to_string()),
        scheduler: overview.scheduler.clone(),
        workers: WorkerCounts { healthy: workers.healthy, unhealthy: workers.unhealthy, silent: workers.silent },
        slots: overview.slots,
        running_tasks: overview.running,
        waiting_tasks: overview.waiting,
        running_jobs: overview.running_jobs,
        preparing_jobs: overview.preparing_jobs,
        is_ready,
        health: complaint.map_or(health.text, |complaint| format!("{HEALTHY}, but {complaint}")),
    }
}

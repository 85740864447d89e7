//! The pages for people: made of the views of the cluster, whole or in part. No page is an event for the owner.

mod applications;
mod asked;
mod attempt_rows;
mod block;
mod deadline_answer;
mod decisions;
mod error;
mod handlers;
mod health;
mod job;
mod job_filter;
mod job_handlers;
mod job_records;
mod job_rows;
mod jobs;
mod market;
mod overview;
mod page;
mod piece;
mod policy;
mod queue_colours;
mod queues;
mod search;
mod static_files;
mod switch_plan;
#[cfg(test)]
mod tests;
mod viewer;
mod what_if;
mod workers;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::owner::Owner;
use super::state::WebState;

pub(crate) use job_filter::JobFilter;

pub(super) use deadline_answer::{deadline_answer, is_of_browser};
pub(super) use handlers::no_such_page;

/// The pages. Names in paths are percent-encoded.
pub(super) fn routes<O: Owner>() -> Router<Arc<WebState<O>>> {
    Router::new()
        .route("/", get(handlers::overview::<O>))
        .route("/jobs", get(handlers::jobs::<O>))
        .route("/history", get(handlers::history::<O>))
        .route("/jobs/{job}", get(job_handlers::job::<O>))
        .route("/jobs/{job}/tasks", get(job_handlers::tasks::<O>))
        .route("/jobs/{job}/timeline", get(job_handlers::timeline::<O>))
        .route("/jobs/{job}/counters", get(job_handlers::counters::<O>))
        .route("/jobs/{job}/conf", get(job_handlers::conf::<O>))
        .route("/jobs/{job}/events", get(job_handlers::events::<O>))
        .route("/tasks/{task}", get(job_handlers::task::<O>))
        .route("/attempts", get(job_handlers::attempts::<O>))
        .route("/attempts/{attempt}", get(job_handlers::attempt::<O>))
        .route("/applications/{application}", get(handlers::application::<O>))
        .route("/queues", get(handlers::queues::<O>))
        .route("/queues/{queue}", get(handlers::queue::<O>))
        .route("/market", get(handlers::market::<O>))
        .route("/deadlines", get(handlers::deadlines::<O>))
        .route("/workers", get(handlers::workers::<O>))
        .route("/workers/{worker}", get(handlers::worker::<O>))
        .route("/slots", get(handlers::slots::<O>))
        .route("/decisions", get(handlers::decisions::<O>))
        .route("/decisions/{decision}", get(handlers::decision::<O>))
        .route("/policy", get(handlers::policy::<O>))
        .route("/users", get(handlers::users::<O>))
        .route("/users/{user}", get(handlers::user::<O>))
        .route("/reports/{kind}", get(handlers::report::<O>))
        .route("/health", get(handlers::health::<O>))
        .route("/search", get(handlers::search::<O>))
        .route("/static/{file}", get(static_files::static_file))
}

/// Those that ask a JobTracker that runs.
pub(super) fn live_routes<O: Owner>() -> Router<Arc<WebState<O>>> {
    Router::new()
        .route("/policy/plan", get(switch_plan::plan::<O>))
        .route("/what-if", get(what_if::question::<O>).post(what_if::begin::<O>))
        .route("/what-if/{id}", get(what_if::outcome::<O>))
}

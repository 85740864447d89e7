//! `/scheduler`, pages, metrics and health over HTTP.
//!
//! Invariants: the web server holds and changes no state; every answer comes from the [`Owner`], and an answer that
//! shows a change is sent only after the change is durable. A request may wait for the owner, the owner never waits for
//! a request.

mod api;
mod applications;
mod believed_caller;
mod capacity_page;
mod cluster_view;
mod constraint_page;
mod daemon_status;
mod deadline_api;
mod deadline_question;
mod fair_page;
mod identify;
mod job_changes;
mod job_files;
mod log_ticket;
mod metrics;
mod metrics_format;
mod owner;
mod owner_gone;
mod page_login;
mod page_query;
mod page_user;
mod pages;
mod pictures;
mod plays;
mod pool_metrics;
mod quotes;
mod read_api;
mod report;
mod request_body;
mod response;
mod routes;
mod rows;
mod same_site;
mod scheduler_api;
mod scheduler_page;
mod sessions;
mod sign_in;
mod signed_request;
mod start_changes;
mod state;
mod stock;
mod switch_plan;
mod tasks_api;
mod time_text;
mod upload;
mod view_metrics;
mod viewer;
mod waits;
mod what_if;
mod work_metrics;
mod worker_health;
mod workers_api;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use crate::http::Listeners;
pub use crate::http::{ServedNames, WebLimits};
pub use api::EventStreams;
pub use applications::ApplicationOwner;
pub(crate) use applications::{ApplicationAccess, ApplicationReply, NewsWait};
pub(crate) use job_files::{FileRefusal, JobFile, JobFileRequest, NewUpload, PieceBody, UploadPiece, UploadSink};
pub use owner::{
    ClusterPart, Health, JobChange, JobPartsOwner, LedgerUnreadable, MarketPresence, MarketReply, Owner, OwnerGone,
    PlanQuestion, PlanRefusal,
};
pub(crate) use owner::{HEALTHY, HistoryTotals, OwnWork, ReadRefusal, SignedRead, UsedLimit};
pub(crate) use page_user::{PageLogin, SimpleLogin};
pub(crate) use pages::JobFilter;
pub(crate) use plays::MOST_KEPT_PLAYS;
pub use plays::{PlayForm, PlayRefusal, PlayRun, PlayState, Plays};
pub use sessions::Sessions;
pub use state::{JobForms, ServedPorts, WebState};
pub(crate) use stock::{
    ConfProperty, FailureFilter, GRAPH_GROUPS, MOST_FAILURES, PastAttempt, PastKind, StockAcls, StockAttempt,
    StockAttempts, StockCounter, StockCounterGroup, StockFailures, StockGraph, StockJob, StockPast, StockPastJob,
    StockPastJobs, StockPlace, StockRead, StockTally, StockTask, StockTasks, TASKS_PER_PAGE, TaskFilter, TaskList,
};
pub use stock::{StockOwner, StockSettings};

/// Answered when all connections are in use.
const KEPT_PATHS: &[&str] = &["/healthz", "/readyz"];

/// Serves HTTP on `listeners` until `shutdown` completes and the open requests are answered, or [`WebLimits::drain`] has
/// passed.
pub async fn serve<O: Owner>(
    listeners: impl Into<Listeners>,
    state: WebState<O>,
    shutdown: impl Future<Output = ()> + Send,
) {
    let limits = WebLimits { kept_paths: KEPT_PATHS, ..state.limits };
    let streams = state.streams.clone();
    let shutdown = async {
        shutdown.await;
        // Their connections would be waited for.
        streams.close();
    };
    crate::http::accept_until(listeners, routes::routes(Arc::new(state)), limits, shutdown).await;
}

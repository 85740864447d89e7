//! The pages of Hadoop 1.2.1 at their addresses, for the scripts, monitors and people that read them: the same elements, texts,
//! links and line breaks, and `format=json`. What they show comes as the plain values of `data.rs` and of `cluster.rs`.

mod access;
mod answer;
mod changes;
mod cluster;
mod confirm;
mod data;
mod graph;
mod java_text;
mod jmx;
mod jmx_beans;
mod jmx_pattern;
mod jobdetails;
mod jobfailures;
mod jobtasks;
mod jobtracker;
mod lists;
mod own_log;
mod owner;
mod past_jobs;
mod process;
mod request;
mod rows;
mod settings;
mod statics;
mod taskdetails;
mod taskgraph;
mod taskstats;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get};

use super::owner::Owner;
use super::state::WebState;

pub use data::{
    FailureFilter, GRAPH_GROUPS, MOST_FAILURES, StockAcls, StockAttempt, StockAttempts, StockCounter,
    StockCounterGroup, StockFailures, StockGraph, StockJob, StockPastJob, StockPastJobs, StockPlace, StockTally,
    StockTask, StockTasks, TASKS_PER_PAGE, TaskFilter, TaskList,
};
pub use owner::{StockOwner, StockRead};
pub use settings::StockSettings;

/// The addresses. They are exact, as in 1.2.1.
pub(super) fn routes<O: Owner>() -> Router<Arc<WebState<O>>> {
    Router::new()
        .route("/index.html", get(statics::index))
        .route("/jobtracker.jsp", any(jobtracker::jobtracker::<O>))
        .route("/jobdetails.jsp", any(jobdetails::jobdetails::<O>))
        .route("/jobtasks.jsp", any(jobtasks::jobtasks::<O>))
        .route("/taskdetails.jsp", any(taskdetails::taskdetails::<O>))
        .route("/taskstats.jsp", any(taskstats::taskstats::<O>))
        .route("/jobfailures.jsp", any(jobfailures::jobfailures::<O>))
        .route("/jobblacklistedtrackers.jsp", any(jobfailures::jobblacklistedtrackers::<O>))
        .route("/machines.jsp", any(lists::machines::<O>))
        .route("/jobqueue_details.jsp", any(lists::jobqueue_details::<O>))
        .route("/jobhistory.jsp", get(past_jobs::jobhistory))
        .route("/jobhistoryhome.jsp", any(past_jobs::jobhistoryhome::<O>))
        .route("/logs/", any(own_log::logs::<O>))
        .route("/jmx", any(jmx::jmx::<O>))
        .route("/taskgraph", any(taskgraph::taskgraph::<O>))
        .route("/static/hadoop.css", get(statics::style))
        .route("/static/jobtracker.js", get(statics::script))
        .route("/static/sorttable.js", get(statics::script))
        .route("/favicon.ico", get(statics::icon))
}

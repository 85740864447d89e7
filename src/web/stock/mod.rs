//! The pages of Hadoop 1.2.1 at their addresses, for the scripts, monitors and people that read them: the same elements, texts,
//! links and line breaks, and `format=json`. What they show comes as the plain values of `data.rs` and of `cluster.rs`.

mod access;
mod answer;
mod changes;
mod cluster;
mod conf;
mod data;
mod graph;
mod java_text;
mod jmx;
mod jmx_beans;
mod jobdetails;
mod jobfailures;
mod jobtasks;
mod jobtracker;
mod lists;
mod log_level;
mod metrics_json;
mod owner;
mod past_analysis;
mod past_files;
mod past_job;
mod past_jobs;
mod process;
mod request;
mod rows;
mod statics;
mod taskdetails;
mod taskstats;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get};

use super::owner::Owner;
use super::state::WebState;

pub use data::StockSettings;
pub(crate) use data::{
    ConfProperty, FailureFilter, GRAPH_GROUPS, MOST_FAILURES, PastAttempt, PastKind, StockAcls, StockAttempt,
    StockAttempts, StockCounter, StockCounterGroup, StockFailures, StockGraph, StockJob, StockPast, StockPastJob,
    StockPastJobs, StockPlace, StockTally, StockTask, StockTasks, TASKS_PER_PAGE, TaskFilter, TaskList,
};
pub use owner::StockOwner;
pub(crate) use owner::StockRead;

pub(super) use access::check_instrumentation;
pub(super) use metrics_json::metrics_as_json;

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
        .route("/logs/", any(process::logs::<O>))
        .route("/jobdetailshistory.jsp", any(past_job::jobdetailshistory::<O>))
        .route("/jobtaskshistory.jsp", any(past_job::jobtaskshistory::<O>))
        .route("/taskdetailshistory.jsp", any(past_job::taskdetailshistory::<O>))
        .route("/taskstatshistory.jsp", any(past_job::taskstatshistory::<O>))
        .route("/jobconf_history.jsp", any(past_job::jobconf_history::<O>))
        .route("/analysejobhistory.jsp", any(past_analysis::analysejobhistory::<O>))
        .route("/loadhistory.jsp", any(past_files::loadhistory::<O>))
        .route("/legacyjobhistory.jsp", get(past_files::legacyjobhistory))
        .route("/gethistory.jsp", any(past_files::gethistory::<O>))
        .route("/historyfile", any(past_files::historyfile::<O>))
        .route("/jobconf.jsp", any(conf::jobconf::<O>))
        .route("/conf", any(conf::conf::<O>))
        .route("/stacks", any(process::stacks::<O>))
        .route("/logLevel", any(log_level::log_level::<O>))
        .route("/jmx", any(jmx::jmx::<O>))
        .route("/taskgraph", any(graph::taskgraph::<O>))
        .route("/static/hadoop.css", get(statics::style))
        .route("/static/jobtracker.js", get(statics::script))
        .route("/static/sorttable.js", get(statics::script))
        .route("/favicon.ico", get(statics::icon))
}

//! `/taskstats.jsp`: the counters of a task or of an attempt.

use std::borrow::Borrow;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Serialize;

use crate::model::JobId;

use super::super::owner::Owner;
use super::super::state::WebState;
use super::access::{found, viewer};
use super::answer;
use super::data::StockCounterGroup;
use super::java_text::grouped;
use super::request::{PageAnswer, PageRequest};
use super::rows::new_job_page;
use super::taskdetails::NamedTask;

pub(super) async fn taskstats<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let is_json = asked.is_json()?;
    let named = NamedTask::of(&asked, is_json)?;
    let (id, number) = (named.task.job, named.attempt.map(|attempt| attempt.number));
    let what = named.attempt.map_or_else(|| named.task.to_string(), |attempt| attempt.to_string());
    let counters =
        found(state.owner.stock_counters(named.task, number, viewer(&state, &asked)?), asked.user(), id).await?;
    Ok(match (counters, is_json) {
        (None, true) => answer::json_error(StatusCode::NOT_FOUND, 4102, format!("JobID {id} Not Found")),
        (None, false) => answer::bold("Counters", &new_job_page(id), &format!("Job {id} not found.")),
        (Some(Some(groups)), true) => answer::json(StatusCode::OK, &CountersJson::new(&groups, what)),
        (Some(None), true) => answer::json_error(StatusCode::NOT_FOUND, 4103, format!("Counters For {what} Not Found")),
        (Some(groups), false) => answer::page(
            StatusCode::OK,
            &CountersPage { new_page: new_job_page(id), id, what, groups: groups.as_deref() },
        ),
    })
}

#[derive(Template)]
#[template(path = "stock/taskstats.html")]
struct CountersPage<'a> {
    new_page: String,
    id: JobId,
    what: String,
    groups: Option<&'a [StockCounterGroup]>,
}

impl CountersPage<'_> {
    fn grouped(&self, number: impl Borrow<i64>) -> String {
        grouped(*number.borrow())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CountersJson<'a> {
    task_id: String,
    task_counter_groups_info: Vec<TaskCounterGroup<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskCounterGroup<'a> {
    group_name: &'a str,
    task_counters_info: Vec<TaskCounter<'a>>,
}

#[derive(Serialize)]
struct TaskCounter<'a> {
    name: &'a str,
    value: i64,
}

impl<'a> CountersJson<'a> {
    fn new(groups: &'a [StockCounterGroup], what: String) -> Self {
        let groups = groups.iter().map(|group| TaskCounterGroup {
            group_name: &group.name,
            task_counters_info: group
                .counters
                .iter()
                .map(|counter| TaskCounter { name: &counter.name, value: counter.total_value })
                .collect(),
        });
        CountersJson { task_id: what, task_counter_groups_info: groups.collect() }
    }
}

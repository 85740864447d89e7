//! `/taskstats.jsp`: the counters of a task or of an attempt.

use std::borrow::Borrow;
use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use serde::Serialize;

use crate::model::JobId;

use super::super::owner::Owner;
use super::super::state::WebState;
use super::access::{found, viewer};
use super::answer;
use super::data::StockCounterGroup;
use super::java_text::grouped;
use super::request::{Asked, Refused};
use super::rows::new_job_page;
use super::taskdetails::Named;

pub(super) async fn taskstats<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> Response<Body> {
    match answered(&state, request).await {
        Ok(response) | Err(response) => *response,
    }
}

async fn answered<O: Owner>(state: &WebState<O>, request: Request) -> Result<Refused, Refused> {
    let asked = Asked::of(request).await?;
    let is_json = asked.is_json()?;
    let named = Named::of(&asked, is_json)?;
    let (id, number) = (named.task.job, named.attempt.map(|attempt| attempt.number));
    let what = named.attempt.map_or_else(|| named.task.to_string(), |attempt| attempt.to_string());
    let counters =
        found(state.owner.stock_counters(named.task, number, viewer(state, &asked)?), asked.user(), id).await?;
    Ok(Box::new(match (counters, is_json) {
        (None, true) => answer::json_error(StatusCode::NOT_FOUND, 4102, format!("JobID {id} Not Found")),
        (None, false) => answer::bold("Counters", &new_job_page(id), &format!("Job {id} not found.")),
        (Some(Some(groups)), true) => answer::json(StatusCode::OK, &Json::new(&groups, what)),
        (Some(None), true) => answer::json_error(StatusCode::NOT_FOUND, 4103, format!("Counters For {what} Not Found")),
        (Some(groups), false) => {
            answer::page(StatusCode::OK, &Page { new_page: new_job_page(id), id, what, groups: groups.as_deref() })
        }
    }))
}

#[derive(Template)]
#[template(path = "stock/taskstats.html")]
struct Page<'a> {
    new_page: String,
    id: JobId,
    what: String,
    groups: Option<&'a [StockCounterGroup]>,
}

impl Page<'_> {
    fn grouped(&self, number: impl Borrow<i64>) -> String {
        grouped(*number.borrow())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Json<'a> {
    task_id: String,
    task_counter_groups_info: Vec<Group<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Group<'a> {
    group_name: &'a str,
    task_counters_info: Vec<Counter<'a>>,
}

#[derive(Serialize)]
struct Counter<'a> {
    name: &'a str,
    value: i64,
}

impl<'a> Json<'a> {
    fn new(groups: &'a [StockCounterGroup], what: String) -> Self {
        let groups = groups.iter().map(|group| Group {
            group_name: &group.name,
            task_counters_info: group
                .counters
                .iter()
                .map(|counter| Counter { name: &counter.name, value: counter.total })
                .collect(),
        });
        Json { task_id: what, task_counter_groups_info: groups.collect() }
    }
}

//! `/scheduler/tasks`: the attempts of a job. `/scheduler/jobs`: when jobs were submitted and ended, and their costs.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::AUTHORIZATION;
use axum::http::{Response, StatusCode};
use tokio::time::timeout;

use crate::api::{JobTasks, JobTimes, JobTimesList};
use crate::engine::{Caller, ClusterSnapshot};
use crate::market::{Answer, Operation, ParsedQuery};

use super::cluster_view::ClusterView;
use super::job_changes::status_of;
use super::owner::{MarketPresence, Owner, OwnerGone};
use super::request_body::form_fields;
use super::response::{JSON, fresh, json, json_refusal};
use super::same_site::{THROUGH_PROXY, came_through_proxy};
use super::signed_request::{HttpRequest, check_method, request_market, unexpected_answer};
use super::state::{ANSWER_TIMEOUT, WebState};

/// Handles `/scheduler/tasks`. Signed by the job's user or an administrator while a market rules; else the job's
/// access lists must let the signer see it, or the user that `user.name` names, as by RPC.
pub(super) async fn tasks<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    let query = request.uri.query().unwrap_or_default().to_owned();
    let fields = form_fields(query.as_bytes()).unwrap_or_default();
    let permitted = match state.owner.market_presence() {
        MarketPresence::Ruling => signed_job(&state, request).await.map(|(job, _)| (job, None)),
        MarketPresence::Idle | MarketPresence::Signing if request.headers.contains_key(AUTHORIZATION) => {
            signed_job(&state, request).await.map(|(job, signer)| (job, Some(signer)))
        }
        MarketPresence::Idle | MarketPresence::Signing | MarketPresence::Absent => unsigned_job(&request, &fields),
    };
    let (job, viewer) = match permitted {
        Ok(permitted) => permitted,
        Err(refusal) => return *refusal,
    };
    let Some(first) = fields.get("from").map_or(Some(0), |first| first.parse().ok()) else {
        return json_refusal(StatusCode::BAD_REQUEST, "from: expected what the answer before has as its next");
    };
    match read_tasks(&state, &job, fields.contains_key("running"), viewer, first).await {
        Ok(tasks) => fresh(StatusCode::OK, JSON, json(&tasks)),
        Err((status, message)) => json_refusal(status, &message),
    }
}

async fn signed_job<O: Owner>(
    state: &WebState<O>,
    request: HttpRequest,
) -> Result<(String, Caller), Box<Response<Body>>> {
    match request_market(state, request, ParsedQuery::parse_tasks, json_refusal).await? {
        Answer::Permitted(Operation::Tasks { job, by, has_admin_role }) => {
            Ok((job, Caller { has_admin_role, ..Caller::named(by) }))
        }
        _ => {
            let (status, message) = unexpected_answer();
            Err(Box::new(json_refusal(status, &message)))
        }
    }
}

fn unsigned_job(
    request: &HttpRequest,
    fields: &BTreeMap<String, String>,
) -> Result<(String, Option<Caller>), Box<Response<Body>>> {
    check_method(&request.method, json_refusal)?;
    let parsed = ParsedQuery::parse_tasks(request.uri.query().unwrap_or_default());
    let parsed = parsed.map_err(|error| json_refusal(StatusCode::BAD_REQUEST, &error.to_string()))?;
    let user = fields.get("user.name").map(String::as_str).unwrap_or_default();
    if !user.is_empty() && came_through_proxy(&request.headers) {
        return Err(Box::new(json_refusal(StatusCode::FORBIDDEN, THROUGH_PROXY)));
    }
    Ok((parsed.value, Some(Caller::named(Arc::from(user)))))
}

async fn read_tasks<O: Owner>(
    state: &WebState<O>,
    job: &str,
    is_running_only: bool,
    viewer: Option<Caller>,
    first: u64,
) -> Result<JobTasks, (StatusCode, String)> {
    let id = job.parse().map_err(|_| (StatusCode::BAD_REQUEST, format!("tasks: {job:?} is not the id of a job")))?;
    match timeout(ANSWER_TIMEOUT, state.owner.tasks(id, is_running_only, viewer, first)).await {
        Ok(Ok(Ok(Some(tasks)))) => Ok(tasks),
        Ok(Ok(Ok(None))) => Err((StatusCode::NOT_FOUND, format!("there is no job {job} in memory"))),
        Ok(Ok(Err(refusal))) => Err((status_of(&refusal), refusal.to_string())),
        Ok(Err(_)) | Err(_) => Err((StatusCode::SERVICE_UNAVAILABLE, OwnerGone.to_string())),
    }
}

/// Handles `/scheduler/jobs`: times for everyone; costs for everyone under a public market, else for the signer of the request.
pub(super) async fn job_times<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    let is_market_ruling = state.owner.market_presence() == MarketPresence::Ruling;
    // Under another scheduler jobs keep what they have cost.
    let has_market = state.owner.market_presence() != MarketPresence::Absent;
    let sees_all = has_market && state.shows_money;
    let is_signed = has_market && request.headers.contains_key(AUTHORIZATION);
    let costs = match is_signed {
        true => signed_costs(&state, request).await,
        false => check_unsigned(&request).map(|()| if sees_all { ShownCosts::All } else { ShownCosts::Hidden }),
    };
    let costs = match costs {
        Ok(costs) => costs,
        Err(refusal) => return *refusal,
    };
    let view = match ClusterView::of(&state).await {
        Ok(view) => view,
        Err(why) => return json_refusal(StatusCode::SERVICE_UNAVAILABLE, &why),
    };
    let mut times = times_of(&view.overview, &costs, is_market_ruling);
    for of_job in &mut times.jobs {
        of_job.end_notification = state.owner.failed_notification(of_job.job);
    }
    view.aged(fresh(StatusCode::OK, JSON, json(&times)))
}

/// Whose jobs' costs are shown.
enum ShownCosts {
    All,
    OfUser(String),
    Hidden,
}

async fn signed_costs<O: Owner>(state: &WebState<O>, request: HttpRequest) -> Result<ShownCosts, Box<Response<Body>>> {
    match request_market(state, request, ParsedQuery::parse_job_times, json_refusal).await? {
        Answer::Permitted(Operation::JobTimes { costs_of: Some(user) }) if !state.shows_money => {
            Ok(ShownCosts::OfUser(user))
        }
        Answer::Permitted(Operation::JobTimes { .. }) => Ok(ShownCosts::All),
        _ => {
            let (status, message) = unexpected_answer();
            Err(Box::new(json_refusal(status, &message)))
        }
    }
}

fn check_unsigned(request: &HttpRequest) -> Result<(), Box<Response<Body>>> {
    check_method(&request.method, json_refusal)?;
    let parsed = ParsedQuery::parse_job_times(request.uri.query().unwrap_or_default());
    parsed.map(drop).map_err(|error| Box::new(json_refusal(StatusCode::BAD_REQUEST, &error.to_string())))
}

fn times_of(overview: &ClusterSnapshot, costs: &ShownCosts, is_market_ruling: bool) -> JobTimesList {
    let jobs = overview.jobs.iter().map(|job| {
        let sees_cost = match costs {
            ShownCosts::All => true,
            ShownCosts::OfUser(user) => job.user == *user,
            ShownCosts::Hidden => false,
        };
        JobTimes {
            job: job.id,
            submit_ms: job.submit_ms,
            finish_ms: job.finish_ms,
            cost: job.cost.clone().filter(|_| sees_cost),
            end_notification: None,
        }
    });
    JobTimesList { at_ms: overview.at_ms, is_market_ruling, jobs: jobs.collect() }
}

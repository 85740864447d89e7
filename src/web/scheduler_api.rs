//! `/scheduler`, the document's signed requests with XML answers, and the JSON addresses below it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Response, StatusCode};
use tokio::time::timeout;

use crate::api::{Explanation, QueueStatuses};
use crate::market::answer::{render, render_error, short_host};
use crate::market::{Answer, HistoryPage, Operation, ParsedQuery, StatementPage};

use super::owner::{LedgerUnreadable, MarketPresence, Owner, OwnerGone};
use super::page_query::PageQuery;
use super::request_body::read_form;
use super::response::{JSON, XML, fresh, json, json_refusal};
use super::scheduler_page::scheduler_page;
use super::signed_request::{HttpRequest, answer_json, check_method, request_market, unexpected_answer};
use super::state::{ANSWER_TIMEOUT, WebState};
use super::what_if::{is_what_if, what_if};

pub(super) async fn scheduler<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> Response<Body> {
    let error = |status, message: &str| fresh(status, XML, render_error(message, short_host(&state.host)));
    let (Parts { method, uri, headers, extensions, .. }, body) = request.into_parts();
    let user = extensions.get().cloned();
    let request = HttpRequest { method, uri, headers, user };
    if request.uri.query().is_some_and(is_what_if) {
        return what_if(&state, &request, body, extensions.get()).await;
    }
    if let Some(mut query) = PageQuery::parse(request.uri.query().unwrap_or_default()) {
        // The market never reads a body, because none is signed.
        if query == PageQuery::default() {
            let form = match read_form(&request.method, &request.headers, body, extensions.get()).await {
                Ok(form) => form,
                Err(unreadable) => return error(StatusCode::BAD_REQUEST, &unreadable.to_string()),
            };
            query = form.and_then(|form| PageQuery::parse(&form)).unwrap_or_default();
        }
        if let Some(answer) = scheduler_page(&state, &request, query).await {
            return answer;
        }
    }
    match request_market(&state, request, ParsedQuery::parse, error).await {
        Ok(answer) => fresh(StatusCode::OK, XML, render(&answer, short_host(&state.host))),
        Err(refusal) => *refusal,
    }
}

/// Handles `/scheduler/queues`: the live status of queues.
pub(super) async fn queue_status<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    request: HttpRequest,
) -> Response<Body> {
    let read = async |answer| match answer {
        Answer::QueueStatuses(queues) => Ok(json(&QueueStatuses { queues })),
        _ => Err(unexpected_answer()),
    };
    answer_json(&state, request, ParsedQuery::parse_queue_status, read).await
}

/// Handles `/scheduler/statement`: the ledger entries of a queue. The market decides who may read them; they are read
/// without the owner.
pub(super) async fn statement<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    let query = request.uri.query().unwrap_or_default().to_owned();
    let read = |answer| read_statement(&state, answer, &query);
    answer_json(&state, request, ParsedQuery::parse_statement, read).await
}

async fn read_statement<O: Owner>(
    state: &WebState<O>,
    answer: Answer,
    query: &str,
) -> Result<String, (StatusCode, String)> {
    let Answer::Statement(queue) = answer else {
        return Err(unexpected_answer());
    };
    let page = StatementPage::parse(query).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    let unavailable = |message: String| (StatusCode::SERVICE_UNAVAILABLE, message);
    let read = timeout(ANSWER_TIMEOUT, state.owner.statement(queue.clone(), page)).await;
    let read = read.map_err(|_| unavailable("the ledger was not read in time".to_owned()))?;
    let found = read.map_err(|error| unavailable(error.to_string()))?;
    found.map(|statement| json(&statement)).ok_or_else(|| (StatusCode::NOT_FOUND, format!("there is no queue {queue}")))
}

/// Handles `/scheduler/history`: the price over time for everyone, and what a queue has paid for its signers.
pub(super) async fn history<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    let query = request.uri.query().unwrap_or_default().to_owned();
    let read = |answer| read_history(&state, answer, &query);
    answer_json(&state, request, ParsedQuery::parse_history, read).await
}

async fn read_history<O: Owner>(
    state: &WebState<O>,
    answer: Answer,
    query: &str,
) -> Result<String, (StatusCode, String)> {
    let page = HistoryPage::parse(query).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    let read = async {
        Ok::<_, LedgerUnreadable>(match &answer {
            Answer::Permitted(Operation::PriceHistory) => Some(json(&state.owner.price_history(page).await?)),
            Answer::Permitted(Operation::QueueHistory(queue)) => {
                state.owner.spending_history(queue.clone(), page).await?.map(|history| json(&history))
            }
            _ => None,
        })
    };
    let unavailable = |message: String| (StatusCode::SERVICE_UNAVAILABLE, message);
    let read = timeout(ANSWER_TIMEOUT, read).await;
    let read = read.map_err(|_| unavailable("the history was not read in time".to_owned()))?;
    let found = read.map_err(|error| unavailable(error.to_string()))?;
    found.ok_or_else(|| (StatusCode::NOT_FOUND, "there is no such queue".to_owned()))
}

/// Handles `/scheduler/explain`: why a job has the slots that it has. Signed by the queue's user or an administrator
/// while a market rules; else unsigned requests are answered, with no more than the start page shows.
pub(super) async fn explain<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    let permitted = match state.owner.market_presence() {
        MarketPresence::Ruling => permit_signed(&state, request).await,
        MarketPresence::Idle | MarketPresence::Signing | MarketPresence::Absent => permit_unsigned(&request),
    };
    let (job, sees_names) = match permitted {
        Ok(permitted) => permitted,
        Err(refusal) => return *refusal,
    };
    match read_explanation(&state, &job, sees_names).await {
        Ok(explanation) => fresh(StatusCode::OK, JSON, json(&explanation)),
        Err((status, message)) => json_refusal(status, &message),
    }
}

/// The job of a request, and whether the signer may see the names of other queues; else the refusal.
type Permitted = Result<(String, bool), Box<Response<Body>>>;

async fn permit_signed<O: Owner>(state: &WebState<O>, request: HttpRequest) -> Permitted {
    match request_market(state, request, ParsedQuery::parse_explain, json_refusal).await? {
        Answer::Permitted(Operation::Explain { job, sees_names }) => Ok((job, sees_names)),
        _ => {
            let (status, message) = unexpected_answer();
            Err(Box::new(json_refusal(status, &message)))
        }
    }
}

fn permit_unsigned(request: &HttpRequest) -> Permitted {
    check_method(&request.method, json_refusal)?;
    let parsed = ParsedQuery::parse_explain(request.uri.query().unwrap_or_default());
    let parsed = parsed.map_err(|error| json_refusal(StatusCode::BAD_REQUEST, &error.to_string()))?;
    Ok((parsed.value, false))
}

async fn read_explanation<O: Owner>(
    state: &WebState<O>,
    job: &str,
    sees_names: bool,
) -> Result<Explanation, (StatusCode, String)> {
    let id = job.parse().map_err(|_| (StatusCode::BAD_REQUEST, format!("job: {job:?} is not the id of a job")))?;
    let gone = || (StatusCode::SERVICE_UNAVAILABLE, OwnerGone.to_string());
    let Ok(Ok(found)) = timeout(ANSWER_TIMEOUT, state.owner.explain(id, sees_names)).await else {
        return Err(gone());
    };
    let explained = found.ok_or_else(|| (StatusCode::NOT_FOUND, format!("there is no job {job} in memory")))?;
    // The search for the rate of one more slot takes many allocations.
    tokio::task::spawn_blocking(move || explained.finish()).await.map_err(|_| gone())
}

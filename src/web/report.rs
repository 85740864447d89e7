//! `/scheduler/report`: what users, queues or jobs used, read without the owner.
//!
//! Where there is a market the request is signed: administrators see all, others what is theirs. Without one nothing was
//! paid, and everybody may ask, as everybody may list jobs by RPC.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use tokio::time::timeout;

use crate::market::{Answer, Operation, ParsedQuery, ReportRequest};

use super::owner::{MarketPresence, Owner};
use super::response::{JSON, fresh, json, json_refusal};
use super::signed_request::{HttpRequest, check_method, request_market, unexpected_answer};
use super::state::{ANSWER_TIMEOUT, WebState};

pub(super) async fn report<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    let permitted = match state.owner.market_presence() {
        MarketPresence::Ruling | MarketPresence::Signing | MarketPresence::Idle => permit_signed(&state, request).await,
        MarketPresence::Absent => permit_unsigned(&request),
    };
    let wanted = match permitted {
        Ok(wanted) => wanted,
        Err(refusal) => return *refusal,
    };
    let unavailable = |message: &str| json_refusal(StatusCode::SERVICE_UNAVAILABLE, message);
    match timeout(ANSWER_TIMEOUT, state.owner.report(wanted)).await {
        Ok(Ok(report)) => fresh(StatusCode::OK, JSON, json(&report)),
        Ok(Err(error)) => unavailable(&error.to_string()),
        Err(_) => unavailable("the report was not read in time: ask for a shorter range"),
    }
}

async fn permit_signed<O: Owner>(
    state: &WebState<O>,
    request: HttpRequest,
) -> Result<ReportRequest, Box<Response<Body>>> {
    match request_market(state, request, ParsedQuery::parse_report, json_refusal).await? {
        Answer::Permitted(Operation::Report(wanted)) => Ok(wanted),
        _ => {
            let (status, message) = unexpected_answer();
            Err(Box::new(json_refusal(status, &message)))
        }
    }
}

fn permit_unsigned(request: &HttpRequest) -> Result<ReportRequest, Box<Response<Body>>> {
    check_method(&request.method, json_refusal)?;
    let parsed = ParsedQuery::parse_report(request.uri.query().unwrap_or_default());
    let wanted = parsed.and_then(|parsed| parsed.report());
    wanted.map_err(|error| Box::new(json_refusal(StatusCode::BAD_REQUEST, &error.to_string())))
}

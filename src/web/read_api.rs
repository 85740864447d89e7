//! `/scheduler/read`: what a call of job clients reads, for the signer of the request: as by RPC, where names are believed,
//! but with the rights that the signature proves.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::time::timeout;

use crate::market::{Answer, Operation, ParsedQuery};
use crate::model::from_hex;

use super::owner::{Owner, OwnerGone, ReadRefusal, SignedRead};
use super::response::{fresh, json_refusal};
use super::signed_request::{HttpRequest, request_market, unexpected_answer};
use super::state::{ANSWER_TIMEOUT, WebState};

const MAX_CALL_BYTES: usize = 512;

const BASE64: &str = "text/plain; charset=us-ascii";

/// Handles `/scheduler/read`: the response to the call as by RPC, in base64.
pub(super) async fn read<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    let answer = match request_market(&state, request, ParsedQuery::parse_read, json_refusal).await {
        Ok(Answer::Permitted(Operation::Read { call, by, has_admin_role })) => {
            match from_hex(&call).filter(|frame| frame.len() <= MAX_CALL_BYTES) {
                Some(frame) => answer(&state, SignedRead { frame, user: by.into(), has_admin_role }).await,
                None => Err((StatusCode::BAD_REQUEST, "read: expected a call in hexadecimal digits".to_owned())),
            }
        }
        Ok(_) => Err(unexpected_answer()),
        Err(refusal) => return *refusal,
    };
    match answer {
        Ok(response) => fresh(StatusCode::OK, BASE64, STANDARD.encode(response)),
        Err((status, message)) => json_refusal(status, &message),
    }
}

async fn answer<O: Owner>(state: &WebState<O>, read: SignedRead) -> Result<Vec<u8>, (StatusCode, String)> {
    match timeout(ANSWER_TIMEOUT, state.owner.read_by_call(read)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(refusal @ ReadRefusal::Unavailable(_))) => Err((StatusCode::SERVICE_UNAVAILABLE, refusal.to_string())),
        Ok(Err(refusal)) => Err((StatusCode::BAD_REQUEST, refusal.to_string())),
        Err(_) => Err((StatusCode::SERVICE_UNAVAILABLE, OwnerGone.to_string())),
    }
}

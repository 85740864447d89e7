//! `/scheduler/upload`: a client hands over the files of a job that it is about to submit; and `/jobfile`, by which workers fetch them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use tokio::time::{Instant, timeout};

use crate::http::{Peer, RequestPlace};
use crate::market::{Answer, JobUpload, Operation, ParsedQuery};

use super::believed_caller::{check_believable, take_user};
use super::job_files::{FileRefusal, JobFile, JobFileRequest, NewUpload, UploadPiece, UploadSink};
use super::owner::{MarketPresence, Owner};
use super::request_body::{PIECE_TIMEOUT, PieceError, discard, form_fields, next_piece_of_request};
use super::response::{JSON, fresh, json, json_refusal, text, with_allow};
use super::signed_request::{HttpRequest, request_market, unexpected_answer};
use super::state::{ANSWER_TIMEOUT, WebState};

const BODY_TIMEOUT: Duration = Duration::from_hours(1);
/// Least rate of an upload, bytes a second from its begin, and how long it is not asked for.
const LEAST_BYTES_PER_S: u64 = 64_000;
const GRACE: Duration = Duration::from_secs(30);
const GAVE_WAY: &str = "others needed its place, and its user had the most uploads under way; send it again";
const ROOT_ONLY: &str = "on this machine the name root is believed of processes of root's alone";
const METHODS: &str = "GET, POST";
const BYTES: &str = "application/octet-stream";
/// Header of a worker's request.
const URL_HASH: &str = "UrlHash";

/// Handles `/scheduler/upload`: POST stores a file, GET says how files are handed over.
pub(super) async fn upload<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> Response<Body> {
    let (Parts { method, uri, headers, extensions, .. }, mut body) = request.into_parts();
    let request = HttpRequest { method, uri, headers, user: None };
    let peer = extensions.get().copied().unwrap_or_else(|| Peer::from(IpAddr::from(Ipv4Addr::LOCALHOST)));
    match request.method {
        Method::GET => return fresh(StatusCode::OK, JSON, json(&state.owner.upload_rules())),
        Method::POST => {}
        _ => {
            let refusal = json_refusal(StatusCode::METHOD_NOT_ALLOWED, "a file is handed over by POST");
            return with_allow(refusal, METHODS);
        }
    }
    let stored = match who_asks(&state, request, peer).await {
        Ok((file, user)) => store(&state, (file, user, peer), &mut body, extensions.get()).await,
        Err(refusal) => {
            discard(body).await;
            return *refusal;
        }
    };
    match stored {
        Ok((job, name, bytes)) => {
            fresh(StatusCode::OK, JSON, json(&serde_json::json!({ "job": job, "name": name, "bytes": bytes })))
        }
        Err(FileRefusal { status, text }) => {
            discard(body).await;
            json_refusal(status, &text)
        }
    }
}

/// The file of a request and who hands it over: the signer, or where names are believed the one that the query names.
async fn who_asks<O: Owner>(
    state: &WebState<O>,
    request: HttpRequest,
    peer: Peer,
) -> Result<(JobUpload, Arc<str>), Box<Response<Body>>> {
    let market = state.owner.market_presence();
    let query = request.uri.query().unwrap_or_default().to_owned();
    let refuse = |(status, message): (StatusCode, String)| Box::new(json_refusal(status, &message));
    // Its job could not be accepted.
    if let Some(why) = state.owner.health().unwritable {
        return Err(refuse((StatusCode::INSUFFICIENT_STORAGE, why)));
    }
    let is_signed = market != MarketPresence::Absent && request.headers.contains_key(AUTHORIZATION);
    if is_signed || market == MarketPresence::Ruling {
        let answer = request_market(state, request, ParsedQuery::parse_upload, json_refusal).await?;
        let Answer::Permitted(Operation::Upload(file)) = answer else { return Err(refuse(unexpected_answer())) };
        let user = ParsedQuery::parse_upload(&query).ok().and_then(|parsed| parsed.user);
        return Ok((file, Arc::from(user.ok_or_else(|| refuse(unexpected_answer()))?)));
    }
    check_believable(&request, market).map_err(refuse)?;
    let bad = |message: String| refuse((StatusCode::BAD_REQUEST, message));
    let mut fields = form_fields(query.as_bytes())
        .ok_or_else(|| bad("the query is not URL-encoded text with each parameter once".to_owned()))?;
    let user = take_user(&mut fields).map_err(refuse)?;
    // As a submission under this name, whose files these are.
    if user == "root" && !peer.may_be_root() {
        return Err(refuse((StatusCode::FORBIDDEN, ROOT_ONLY.to_owned())));
    }
    match ParsedQuery::parse_upload(&query).and_then(|parsed| parsed.operation()) {
        Ok(Operation::Upload(file)) => Ok((file, Arc::from(user))),
        Ok(_) => Err(refuse(unexpected_answer())),
        Err(error) => Err(bad(error.to_string())),
    }
}

/// Stores a body; returns job, name and length.
async fn store<O: Owner>(
    state: &WebState<O>,
    (file, user, peer): (JobUpload, Arc<str>, Peer),
    body: &mut Body,
    place: Option<&RequestPlace>,
) -> Result<(String, String, u64), FileRefusal> {
    let (job, name) = (file.job.to_string(), file.name.clone());
    let unavailable = |text: String| FileRefusal::new(StatusCode::SERVICE_UNAVAILABLE, text);
    let length_bytes = body.size_hint().exact();
    let begun = timeout(ANSWER_TIMEOUT, state.owner.begin_upload(NewUpload { file, user, peer, length_bytes })).await;
    let UploadSink { pieces, mut stored, mut gives_way } =
        begun.map_err(|_| unavailable("the JobTracker did not answer in time".to_owned()))??;
    let (begun, mut received_bytes) = (Instant::now(), 0_u64);
    let sent = timeout(BODY_TIMEOUT, async {
        loop {
            let piece = tokio::select! {
                biased;
                Ok(()) = &mut gives_way => Err(PieceError::GaveWay),
                piece = next_piece_of_request(body, place) => piece,
            };
            let piece = match piece {
                Err(PieceError::TimedOut) => return Err(format!("no byte came within {} s", PIECE_TIMEOUT.as_secs())),
                Err(PieceError::GaveWay) => return Err(GAVE_WAY.to_owned()),
                Err(PieceError::CutOff(error)) => return Err(format!("the body is cut off: {error}")),
                Ok(None) => UploadPiece::End,
                Ok(Some(piece)) => {
                    received_bytes = received_bytes.saturating_add(piece.len() as u64);
                    UploadPiece::Bytes(piece)
                }
            };
            if is_too_slow(received_bytes, begun.elapsed()) {
                let (s, kb) = (GRACE.as_secs(), LEAST_BYTES_PER_S / 1000);
                return Err(format!("it comes too slowly; expected {kb} kB/s from {s} s on"));
            }
            let is_end = matches!(piece, UploadPiece::End);
            // A closed channel has its reason in `stored`.
            let taken = timeout(ANSWER_TIMEOUT, pieces.send(piece)).await;
            match taken {
                Err(_) => return Err("the file system of the staging root does not answer".to_owned()),
                Ok(Err(_)) => return Ok(()),
                Ok(Ok(())) if is_end => return Ok(()),
                Ok(Ok(())) => {}
            }
        }
    });
    let sent = sent.await.unwrap_or_else(|_| Err(format!("it took more than {} s", BODY_TIMEOUT.as_secs())));
    drop(pieces);
    if let Err(reason) = sent {
        // What has been written goes with the channel.
        return Err(FileRefusal::new(StatusCode::BAD_REQUEST, format_args!("{job}: {name} is not stored: {reason}")));
    }
    let outcome = timeout(ANSWER_TIMEOUT, &mut stored).await;
    let outcome = outcome.map_err(|_| unavailable("the file system of the staging root does not answer".to_owned()))?;
    let bytes = outcome.map_err(|_| unavailable("the JobTracker stops".to_owned()))??;
    Ok((job, name, bytes))
}

/// Whether so many bytes are too few after that time.
fn is_too_slow(bytes: u64, passed: Duration) -> bool {
    passed > GRACE && bytes < LEAST_BYTES_PER_S.saturating_mul(passed.as_secs())
}

/// Handles `/jobfile`: a file of a job's staging folder, for who knows the job's token.
pub(super) async fn job_file<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    let path_and_query = request.uri.path_and_query().map_or("", |whole| whole.as_str()).to_owned();
    let url_hash = request.headers.get(URL_HASH).and_then(|hash| hash.to_str().ok()).unwrap_or_default().to_owned();
    let found = timeout(ANSWER_TIMEOUT, state.owner.job_file(JobFileRequest { path_and_query, url_hash })).await;
    let late =
        || FileRefusal::new(StatusCode::SERVICE_UNAVAILABLE, "the file system of the staging root does not answer");
    match found.unwrap_or_else(|_| Err(late())) {
        Err(refusal) => text(refusal.status, refusal.text),
        Ok(JobFile { headers, body }) => {
            let mut response = Response::new(Body::new(body));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(BYTES));
            for (name, value) in headers {
                if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                    response.headers_mut().insert(name, value);
                }
            }
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_has_half_a_minute_to_reach_its_least_rate() {
        let after = |seconds, bytes| is_too_slow(bytes, Duration::from_secs(seconds));
        assert!(!after(30, 0) && after(31, 0));
        assert!(after(100, 6_399_999) && !after(100, 6_400_000));
    }
}

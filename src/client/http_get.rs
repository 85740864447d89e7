//! GET for the market and for task logs: a complete answer, or why there is none.

use std::time::Duration;

use hyper::header::{ACCEPT, AUTHORIZATION, HOST};
use hyper::{Request, StatusCode};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::{ClientError, send_request};

/// Timeout for a complete answer; longer than the server's own timeout for its store.
const TIMEOUT: Duration = Duration::from_secs(40);
/// Maximum size of the head of an answer, bytes.
const MAX_HEAD_BYTES: usize = 400 << 10;
/// Maximum size of a body, bytes; enough for all queues.
const MAX_BODY_BYTES: usize = 256 << 20;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// There is no connection.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The request cannot be sent.
    #[error("{0}")]
    Request(#[from] hyper::http::Error),
    /// The answer is missing, incomplete or too long.
    #[error("{0}")]
    Answer(#[from] ClientError),
    /// The request timed out.
    #[error("no answer within {} s", TIMEOUT.as_secs())]
    TooSlow,
}

/// Requests a path with its query from `server`, `host:port`.
pub(crate) async fn get(server: &str, path: &str, authorization: Option<&str>) -> Result<HttpAnswer, HttpError> {
    timeout(TIMEOUT, exchange(server, path, authorization)).await.map_err(|_| HttpError::TooSlow)?
}

async fn exchange(server: &str, path: &str, authorization: Option<&str>) -> Result<HttpAnswer, HttpError> {
    let mut request = Request::get(path).header(HOST, server).header(ACCEPT, "*/*");
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let request = request.body(String::new())?;
    let stream = TcpStream::connect(server).await?;
    let answer = send_request(stream, request, MAX_HEAD_BYTES).await?;
    let status = answer.status();
    Ok(HttpAnswer { status, body: answer.into_text(MAX_BODY_BYTES).await? })
}

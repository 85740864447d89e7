//! HTTP GET for the market and for task logs: one connection, one request, a complete answer.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use hyper::header::{ACCEPT, AUTHORIZATION, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Timeout for a complete answer; longer than the server's own timeout for its store.
const PATIENCE: Duration = Duration::from_secs(40);
/// Maximum size of an answer, bytes; enough for all queues.
const MOST_BYTES: usize = 256 << 20;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The answer is not HTTP.
    #[error("{0}")]
    Http(#[from] hyper::Error),
    /// The request cannot be sent.
    #[error("{0}")]
    Request(#[from] hyper::http::Error),
    /// The body is incomplete or too long.
    #[error("the answer cannot be read: {0}")]
    Body(#[from] axum::Error),
    /// The request timed out.
    #[error("no answer within {} s", PATIENCE.as_secs())]
    TooSlow,
}

/// Requests a path with its query from `server`, `host:port`.
pub(crate) async fn get(server: &str, path: &str, authorization: Option<&str>) -> Result<HttpAnswer, HttpError> {
    timeout(PATIENCE, exchange(server, path, authorization)).await.map_err(|_| HttpError::TooSlow)?
}

async fn exchange(server: &str, path: &str, authorization: Option<&str>) -> Result<HttpAnswer, HttpError> {
    let mut request = Request::get(path).header(HOST, server).header(ACCEPT, "*/*");
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let request = request.body(String::new())?;
    let stream = TcpStream::connect(server).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let whole = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let bytes = to_bytes(Body::new(response.into_body()), MOST_BYTES).await?;
        // Letting go of the sender ends the connection.
        drop(sender);
        Ok(HttpAnswer { status, body: String::from_utf8_lossy(&bytes).into_owned() })
    };
    // What the connection ends with shows in the answer or in its absence.
    let (answer, _) = tokio::join!(whole, connection);
    answer
}

//! One HTTP GET, as plain as the market and the logs of tasks need it: a connection, a request, a whole answer.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use hyper::header::{ACCEPT, AUTHORIZATION, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest wait for a whole answer: longer than the server's own patience with its store.
const PATIENCE: Duration = Duration::from_secs(40);
/// Largest answer, bytes: all queues that there may be.
const MOST_BYTES: usize = 256 << 20;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Nobody listens there, or the connection broke.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// What came was no HTTP.
    #[error("{0}")]
    Http(#[from] hyper::Error),
    /// The request cannot be sent.
    #[error("{0}")]
    Request(#[from] hyper::http::Error),
    /// The body broke off or is too long.
    #[error("the answer cannot be read: {0}")]
    Body(#[from] axum::Error),
    /// It takes too long.
    #[error("no answer within {} s", PATIENCE.as_secs())]
    TooSlow,
}

/// Asks `server`, `host:port`, for a path with its query.
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

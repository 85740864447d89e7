//! A client: one request on a connection of its own, the answer's head within a limit, its body piece by piece.
//!
//! Callers connect, since each resolves names by rules of its own, and set time limits around the futures. Nothing follows a
//! redirect, asks a proxy or tries twice.

use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{Builder, Connection};
use hyper::ext::ReasonPhrase;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::limits::MIN_HEADER_BYTES;

/// An answer whose body is still to come. Dropping it closes the connection.
#[derive(Debug)]
pub struct IncomingAnswer {
    response: Response<Incoming>,
    connection: RunningConnection,
}

/// Reads and writes while it is polled; its end shows in the answer, or in the absence of one.
#[derive(Debug)]
struct RunningConnection(Option<Connection<TokioIo<TcpStream>, String>>);

/// Why an answer is missing or incomplete.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection broke, or the answer is not HTTP.
    #[error("{}", with_cause(.0))]
    Http(#[from] hyper::Error),
    /// The body is beyond the caller's limit.
    #[error("the answer is longer than {max_bytes} bytes")]
    TooLong {
        /// The limit.
        max_bytes: usize,
    },
}

/// Sends a request and returns the answer once its head has arrived. A head of more than `max_head_bytes` is an error; less
/// than 8192 counts as 8192.
///
/// # Errors
/// [`ClientError::Http`]
pub async fn send_request(
    stream: TcpStream,
    request: Request<String>,
    max_head_bytes: usize,
) -> Result<IncomingAnswer, ClientError> {
    let mut builder = Builder::new();
    builder.max_buf_size(max_head_bytes.max(MIN_HEADER_BYTES));
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    let mut connection = RunningConnection(Some(connection));
    let mut answered = pin!(sender.send_request(request));
    let response = poll_fn(|context| {
        let failure = connection.advance(context).err();
        answered.as_mut().poll(context).map_err(|error| failure.unwrap_or(error))
    });
    Ok(IncomingAnswer { response: response.await?, connection })
}

// === impl IncomingAnswer ===

impl IncomingAnswer {
    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Version, status and reason, as on the first line.
    #[must_use]
    pub fn status_line(&self) -> String {
        let status = self.status();
        let reason = self.response.extensions().get::<ReasonPhrase>();
        let reason = match reason {
            Some(reason) => String::from_utf8_lossy(reason.as_bytes()),
            None => status.canonical_reason().unwrap_or_default().into(),
        };
        format!("{:?} {} {reason}", self.response.version(), status.as_u16())
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece of the body, never empty; `None` at its end.
    ///
    /// # Errors
    /// [`ClientError::Http`]: the body is cut off or malformed.
    pub async fn next_piece(&mut self) -> Result<Option<Bytes>, ClientError> {
        poll_fn(|context| self.poll_piece(context)).await
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ClientError>> {
        loop {
            // A failure of the connection arrives with the body, too.
            let _ = self.connection.advance(context);
            match ready!(Pin::new(self.response.body_mut()).poll_frame(context)) {
                Some(frame) => match frame?.into_data() {
                    Ok(piece) if !piece.is_empty() => return Poll::Ready(Ok(Some(piece))),
                    // Trailers.
                    _ => {}
                },
                None => return Poll::Ready(Ok(None)),
            }
        }
    }

    /// The whole body; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn into_text(mut self, max_bytes: usize) -> Result<String, ClientError> {
        let mut body = Vec::new();
        while let Some(piece) = self.next_piece().await? {
            if piece.len() > max_bytes - body.len() {
                return Err(ClientError::TooLong { max_bytes });
            }
            body.extend_from_slice(&piece);
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

// === impl RunningConnection ===

impl RunningConnection {
    fn advance(&mut self, context: &mut Context<'_>) -> hyper::Result<()> {
        let Some(connection) = &mut self.0 else { return Ok(()) };
        match Pin::new(connection).poll(context) {
            Poll::Ready(ended) => {
                self.0 = None;
                ended
            }
            Poll::Pending => Ok(()),
        }
    }
}

fn with_cause(error: &hyper::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

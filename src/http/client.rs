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
use hyper::client::conn::http1::Builder;
use hyper::ext::ReasonPhrase;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::limits::MIN_HEADER_BYTES;

/// An answer whose body is still to come. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct IncomingAnswer {
    response: Response<Incoming>,
    connection: RunningConnection,
}

/// Reads and writes while it is polled; its end shows in the answer, or in the absence of one.
struct RunningConnection(Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The connection broke, or the answer is not HTTP.
    #[error("{}", with_cause(.0))]
    Http(#[from] hyper::Error),
    /// The body is beyond the caller's limit.
    #[error("the answer is longer than {max_bytes} bytes")]
    TooLong { max_bytes: usize },
}

/// A body that a request may have.
pub(crate) trait SentBody: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static {}

impl<B> SentBody for B where B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static {}

/// Sends a request and returns the answer once its head has arrived. A head of more than `max_head_bytes` is an error; less
/// than 8192 counts as 8192.
pub(crate) async fn send_request<B: SentBody>(
    stream: TcpStream,
    request: Request<B>,
    max_head_bytes: usize,
) -> Result<IncomingAnswer, ClientError> {
    let mut builder = Builder::new();
    builder.max_buf_size(max_head_bytes.max(MIN_HEADER_BYTES));
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    let mut connection = RunningConnection(Some(Box::pin(connection)));
    let mut answered = pin!(sender.send_request(request));
    let response = poll_fn(|context| {
        let failure = connection.advance(context).err();
        answered.as_mut().poll(context).map_err(|error| failure.unwrap_or(error))
    });
    Ok(IncomingAnswer { response: response.await?, connection })
}

impl IncomingAnswer {
    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Version, status and reason, as on the first line.
    pub(crate) fn status_line(&self) -> String {
        let status = self.status();
        let reason = self.response.extensions().get::<ReasonPhrase>();
        let reason = match reason {
            Some(reason) => String::from_utf8_lossy(reason.as_bytes()),
            None => status.canonical_reason().unwrap_or_default().into(),
        };
        format!("{:?} {} {reason}", self.response.version(), status.as_u16())
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece of the body, never empty; `None` at its end.
    pub(crate) async fn next_piece(&mut self) -> Result<Option<Bytes>, ClientError> {
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
    pub(crate) async fn into_text(self, max_bytes: usize) -> Result<String, ClientError> {
        Ok(String::from_utf8_lossy(&self.into_bytes(max_bytes).await?).into_owned())
    }

    pub(crate) async fn into_bytes(mut self, max_bytes: usize) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        while let Some(piece) = self.next_piece().await? {
            if piece.len() > max_bytes - body.len() {
                return Err(ClientError::TooLong { max_bytes });
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

impl std::fmt::Debug for RunningConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunningConnection").field(&self.0.is_some()).finish()
    }
}

impl RunningConnection {
    fn advance(&mut self, context: &mut Context<'_>) -> hyper::Result<()> {
        let Some(connection) = &mut self.0 else { return Ok(()) };
        match connection.as_mut().poll(context) {
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// What comes of an answer of these bytes, after which the server closes.
    async fn answered(response: &str, max_body_bytes: usize) -> Result<(String, String), String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            // The client may close first.
            let _ = stream.write_all(response.as_bytes()).await;
        };
        let client = async {
            let stream = TcpStream::connect(address).await.unwrap();
            let answer = send_request(stream, Request::get("/a?b").body(String::new()).unwrap(), 0).await?;
            let line = answer.status_line();
            Ok((line, answer.into_text(max_body_bytes).await?))
        };
        let (_, answer) = tokio::join!(server, client);
        answer.map_err(|error: ClientError| error.to_string())
    }

    #[tokio::test]
    async fn bodies_end_by_length_by_chunks_or_with_the_connection() {
        let whole = |line: &str, body: &str| Ok((line.to_owned(), body.to_owned()));
        for (head, body) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "abcde"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n"),
            ("HTTP/1.1 200 OK\r\n\r\n", "abcde"),
        ] {
            assert_eq!(answered(&format!("{head}{body}"), 5).await, whole("HTTP/1.1 200 OK", "abcde"), "{head}");
            let refused = answered(&format!("{head}{body}"), 4).await.unwrap_err();
            assert_eq!(refused, "the answer is longer than 4 bytes");
        }
        let elsewhere = "HTTP/1.1 302 Elsewhere\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(answered(elsewhere, 0).await, whole("HTTP/1.1 302 Elsewhere", ""));
    }

    #[tokio::test]
    async fn errors_name_their_cause() {
        let error = async |response: &str| answered(response, 100).await.unwrap_err();
        assert_eq!(error("").await, "connection closed before message completed");
        assert_eq!(error("SSH-2.0-x\r\n").await, "invalid HTTP version parsed");
        let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(9_000));
        assert_eq!(error(&long).await, "message head is too large");
        let cut = error("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").await;
        assert_eq!(cut, "error reading a body from connection: end of file before message length reached");
    }
}

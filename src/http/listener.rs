//! Accepts connections and speaks HTTP/1 on them, within limits.
//!
//! `axum::serve` has neither a header timeout nor a way to set one, so hyper's own builder is used.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONNECTION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Response, StatusCode};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::WebLimits;
use super::fair_budget::{FairBudget, Held};
use super::in_hand::{AnswerBody, InHand, RequestPlace};
use super::limits::MIN_HEADER_BYTES;
use super::peer::Peer;
use super::places::{ClaimedPlace, ConnectionPlaces};
use super::timed_stream::TimedStream;

/// Bytes of answers that clients have not taken yet: of all, and of one peer.
const UNSENT_BYTES: (u64, u64) = (128 << 20, 64 << 20);

/// After a failed accept (no file descriptor left, say) the next is tried this much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A connection that has just come has its request on the way: at the end it is waited for so long.
const FIRST_REQUEST_PATIENCE: Duration = Duration::from_millis(500);

/// Where connections come from.
#[derive(Debug)]
pub struct Listeners {
    port: TcpListener,
    /// A Unix socket, whose callers the kernel names.
    socket: Option<UnixListener>,
}

impl From<TcpListener> for Listeners {
    fn from(port: TcpListener) -> Self {
        Self { port, socket: None }
    }
}

impl Listeners {
    #[must_use]
    pub(crate) fn with_socket(self, socket: Option<UnixListener>) -> Self {
        Self { socket, ..self }
    }

    async fn accept(&self) -> io::Result<(Stream, Peer, ConnectedCaller)> {
        let local = async {
            match &self.socket {
                Some(socket) => socket.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = self.port.accept() => {
                let (stream, address) = accepted?;
                // Answers are small and whole; waiting to fill a segment only delays them.
                let _ = stream.set_nodelay(true);
                let peer = stream.local_addr().map_or_else(|_| Peer::from(address.ip()), |own| Peer::of(own, address));
                let local = self.socket.is_some().then_some(LocalCaller::Unknown);
                let caller = ConnectedCaller { ends: ends_of(&stream), local };
                Ok((Stream::Tcp(stream), peer, caller))
            }
            accepted = local => {
                let (stream, _) = accepted?;
                let uid = stream.peer_cred()?.uid();
                let caller = ConnectedCaller { ends: None, local: Some(LocalCaller::Known(uid)) };
                Ok((Stream::Unix(stream), Peer::of_user(uid), caller))
            }
        }
    }
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// What is known of who is at the other end.
#[derive(Clone, Copy)]
struct ConnectedCaller {
    /// None once the client has reset the connection, and of a Unix socket.
    ends: Option<ConnectionEnds>,
    local: Option<LocalCaller>,
}

impl ConnectedCaller {
    fn name_in(self, request: &mut Request<Incoming>) {
        if let Some(ends) = self.ends {
            request.extensions_mut().insert(ends);
        }
        if let Some(local) = self.local {
            request.extensions_mut().insert(local);
        }
    }
}

/// Serves until `shutdown`, within the limits on connections of [`WebLimits`]: idle connections give way, those with a request in hand
/// never do. While all are busy nothing more is accepted.
pub(crate) async fn accept_until(
    listeners: impl Into<Listeners>,
    router: Router,
    limits: WebLimits,
    shutdown: impl Future<Output = ()>,
) {
    let listeners = listeners.into();
    let places = ConnectionPlaces::new(limits.connections, limits.connections_of_peer(), limits.connections_kept());
    let unsent = FairBudget::new(UNSENT_BYTES.0, UNSENT_BYTES.1);
    let (stop, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    warn!(%error, "an HTTP connection broke down");
                }
            }
            accepted = accept(&listeners, &places) => match accepted {
                Ok((_, _, None)) => debug!("an HTTP connection was closed: too many of its address have requests in hand"),
                Ok((stream, caller, Some(entry))) => {
                    let router = router.clone();
                    let signals = (unsent.begin(entry.peer, ""), stopped.clone());
                    match stream {
                        Stream::Tcp(stream) => {
                            connections.spawn(serve_connection(stream, (entry, caller), router, limits, signals));
                        }
                        Stream::Unix(stream) => {
                            connections.spawn(serve_connection(stream, (entry, caller), router, limits, signals));
                        }
                    }
                }
                Err(error) => {
                    debug!(%error, "cannot accept an HTTP connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
    drop(listeners);
    // Fails only when no connection is left.
    let _ = stop.send(true);
    let drained = timeout(limits.drain, async { while connections.join_next().await.is_some() {} }).await;
    if drained.is_err() {
        debug!(connections = connections.len(), "HTTP connections cut off at the end");
    }
}

/// Waits for room first, so that a connection over the limit stays in the listen backlog.
async fn accept(
    listeners: &Listeners,
    places: &Arc<ConnectionPlaces>,
) -> io::Result<(Stream, ConnectedCaller, Option<ClaimedPlace>)> {
    places.wait_for_room().await;
    let (stream, peer, caller) = listeners.accept().await?;
    Ok((stream, caller, places.enter(peer)))
}

/// For what comes on a connection beyond all places.
fn all_places_taken() -> Response<Body> {
    let mut answer = Response::new(Body::from("all connections are in use: try again soon\n"));
    *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// None once the client has reset the connection.
fn ends_of(stream: &TcpStream) -> Option<ConnectionEnds> {
    Some(ConnectionEnds { local: stream.local_addr().ok()?, peer: stream.peer_addr().ok()? })
}

/// Whether it is served: it has its place before it is to close and before the server stops.
async fn may_begin(
    begin: oneshot::Receiver<()>,
    close: &mut oneshot::Receiver<()>,
    stopped: &mut watch::Receiver<bool>,
) -> bool {
    tokio::select! {
        biased;
        Ok(()) = begin => true,
        _ = close => false,
        _ = stopped.wait_for(|stopped| *stopped) => false,
    }
}

fn limited_http(limits: &WebLimits) -> http1::Builder {
    let header_bytes = limits.header_bytes.max(MIN_HEADER_BYTES);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header_read)
        .max_header_size(header_bytes)
        .max_buf_size(header_bytes)
        .max_headers(limits.headers);
    http
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    (entry, caller): (ClaimedPlace, ConnectedCaller),
    router: Router,
    limits: WebLimits,
    ((unsent, mut is_cut), mut stopped): ((Held, oneshot::Receiver<()>), watch::Receiver<bool>),
) {
    let ClaimedPlace { place, peer, begin, mut close, is_kept } = entry;
    if !may_begin(begin, &mut close, &mut stopped).await {
        return;
    }
    let in_hand = Arc::new(InHand::new(place, unsent));
    let router = TowerToHyperService::new(router);
    let service = service_fn(|mut request: Request<Incoming>| {
        in_hand.begin();
        caller.name_in(&mut request);
        request.extensions_mut().insert(RequestPlace(in_hand.clone()));
        request.extensions_mut().insert(peer);
        let is_refused = is_kept && !limits.kept_paths.contains(&request.uri().path());
        let answer = (!is_refused).then(|| router.call(request));
        let in_hand = in_hand.clone();
        async move {
            let answer = match answer {
                Some(answer) => answer.await?,
                None => all_places_taken(),
            };
            Ok::<_, Infallible>(answer.map(|body| AnswerBody::new(body, in_hand)))
        }
    });
    let stream = TokioIo::new(TimedStream::new(stream, limits.write, in_hand.clone()));
    let mut connection = pin!(limited_http(&limits).serve_connection(stream, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        Ok(()) = &mut is_cut => {
            debug!("an HTTP connection was closed: its client does not read, and others need the memory");
            return;
        }
        _ = &mut close => {
            if !in_hand.is_busy() {
                return;
            }
            // A request came first.
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = async { let _ = stopped.wait_for(|stopped| *stopped).await; } => {
            let patience = if in_hand.was_asked() { Duration::ZERO } else { FIRST_REQUEST_PATIENCE };
            match timeout(patience, connection.as_mut()).await {
                Ok(ended) => ended,
                Err(_) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        }
    };
    if let Err(error) = ended {
        debug!(%error, "an HTTP connection ended early");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionEnds {
    /// The server's own.
    pub(crate) local: SocketAddr,
    /// The client's, or that of a proxy.
    pub(crate) peer: SocketAddr,
}

/// Who is at the other end, where a Unix socket is served beside the port: an extension of each request there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalCaller {
    /// The user of this machine who connected to the socket.
    Known(u32),
    /// Anybody, over TCP.
    Unknown,
}

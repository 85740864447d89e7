//! Accepts connections and speaks HTTP/1 on them, within limits.
//!
//! `axum::serve` has neither a header timeout nor a way to set one, so hyper's own builder is used.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::WebLimits;
use super::timed_stream::TimedStream;

/// After a failed accept (no file descriptor left, say) the next is tried this much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A connection that has just come has its request on the way: at the end it is waited for so long.
const FIRST_REQUEST_PATIENCE: Duration = Duration::from_millis(500);

/// The least buffer that hyper takes.
const MIN_HEADER_BYTES: usize = 8192;

/// Serves until `shutdown`. At the connection limit nothing more is accepted; nothing accepted is closed for it.
pub async fn accept_until(
    listener: TcpListener,
    router: Router,
    limits: WebLimits,
    shutdown: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
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
            accepted = accept(&listener, &places) => match accepted {
                Ok((stream, place)) => {
                    let (router, stopped) = (router.clone(), stopped.clone());
                    connections.spawn(async move {
                        serve_connection(stream, router, limits, stopped).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    debug!(%error, "cannot accept an HTTP connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
    drop(listener);
    // Fails only when no connection is left to be told.
    let _ = stop.send(true);
    let drained = timeout(limits.drain, async { while connections.join_next().await.is_some() {} }).await;
    if drained.is_err() {
        debug!(connections = connections.len(), "HTTP connections cut off at the end");
    }
}

/// Waits for a free place first, so that a connection over the limit stays in the listen backlog.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

async fn serve_connection(stream: TcpStream, router: Router, limits: WebLimits, mut stopped: watch::Receiver<bool>) {
    // Answers are small and whole; waiting to fill a segment only delays them.
    let _ = stream.set_nodelay(true);
    let header_bytes = limits.header_bytes.max(MIN_HEADER_BYTES);
    let was_asked = AtomicBool::new(false);
    let router = TowerToHyperService::new(router);
    let service = service_fn(|request| {
        was_asked.store(true, Ordering::Relaxed);
        router.call(request)
    });
    let stream = TokioIo::new(TimedStream::new(stream, limits.write));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_read)
        .max_header_size(header_bytes)
        .max_buf_size(header_bytes)
        .max_headers(limits.headers)
        .serve_connection(stream, service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = async { let _ = stopped.wait_for(|stopped| *stopped).await; } => {
            let patience = if was_asked.load(Ordering::Relaxed) { Duration::ZERO } else { FIRST_REQUEST_PATIENCE };
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

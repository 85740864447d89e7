//! The web server's own thread: a page that takes long keeps no heartbeat waiting.

use std::io;
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::config::settings::HttpLimits;
use crate::web::{ServedNames, WebLimits, WebState};

use super::handle::OwnerHandle;
use crate::config::host_name;

/// The HTTP library needs this much room for a head.
const LEAST_HEADER_BYTES: usize = 8_192;

/// What the web server shows, under which names, and to how many.
#[derive(Clone, Debug)]
pub(super) struct WebTerms {
    /// Limits on connections.
    pub(super) limits: HttpLimits,
    /// Names that requests may be addressed to.
    pub(super) names: ServedNames,
    /// Whether the scheduler has a market.
    pub(super) has_market: bool,
    /// Whether shares and costs are shown to who does not sign.
    pub(super) shows_money: bool,
}

/// The running web server.
pub(super) struct WebThread {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

// === impl WebThread ===

impl WebThread {
    /// Serves HTTP on `listener`.
    pub(super) fn start(listener: TcpListener, owner: OwnerHandle, terms: &WebTerms) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let limits = WebLimits {
            connections: terms.limits.max_connections,
            header_bytes: terms.limits.max_header_bytes.max(LEAST_HEADER_BYTES),
            header_read: Duration::from_millis(terms.limits.header_timeout_ms),
            ..WebLimits::default()
        };
        let state = WebState {
            owner,
            names: terms.names.clone(),
            host: host_name(),
            has_market: terms.has_market,
            shows_money: terms.shows_money,
            limits,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = move || {
            runtime.block_on(async {
                match tokio::net::TcpListener::from_std(listener) {
                    Ok(listener) => {
                        let shutdown = async {
                            // A sender that is gone stops it too.
                            let _ = stopped.await;
                        };
                        crate::web::serve(listener, state, shutdown).await;
                    }
                    Err(error) => tracing::error!("the web server cannot serve: {error}"),
                }
            });
        };
        let thread = std::thread::Builder::new().name("web".to_owned()).spawn(serve)?;
        Ok(Self { stop, thread })
    }

    /// Lets requests in hand end, then the thread.
    pub(super) fn stop(self) {
        let _ = self.stop.send(());
        if self.thread.join().is_err() {
            tracing::error!("the web server's thread has panicked");
        }
    }
}

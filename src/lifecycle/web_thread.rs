//! The web server's own thread: a slow page delays no heartbeat.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::config::host_name;
use crate::config::settings::HttpLimits;
use crate::model::{Capability, SessionKey};
use crate::server::OwnerHandle;
use crate::web::{
    EventStreams, JobForms, Listeners, Plays, ServedNames, ServedPorts, Sessions, StockSettings, WebLimits, WebState,
};

use super::web_socket::WebSocket;

/// Minimum header buffer of the HTTP library, bytes.
const MIN_HEADER_BYTES: usize = 8_192;

/// Timeout for requests in progress when the server stops.
const DRAIN: Duration = Duration::from_secs(4);
/// Additional time for the thread; after it the thread is abandoned, since it hangs.
const GRACE: Duration = Duration::from_millis(500);
#[derive(Clone, Debug)]
pub(super) struct WebOptions {
    pub(super) limits: HttpLimits,
    /// Names that requests may be addressed to.
    pub(super) names: ServedNames,
    /// Whether unsigned requests see shares and costs.
    pub(super) shows_money: bool,
    /// Who may change jobs by the forms of pages.
    pub(super) job_forms: JobForms,
    /// What the configuration says of the pages of Hadoop's addresses.
    pub(super) stock: StockSettings,
    /// The address of a job's page without the id.
    pub(super) job_page_prefix: String,
    pub(super) container_slot: Capability,
    pub(super) session_key: SessionKey,
    pub(super) plays: Arc<dyn Plays>,
    pub(super) ports: ServedPorts,
}

pub(super) struct WebThread {
    stop: Option<oneshot::Sender<()>>,
    stopped_at: Option<Instant>,
    /// Closed when the thread has ended.
    ended: mpsc::Receiver<()>,
    thread: JoinHandle<()>,
}

impl WebOptions {
    fn state(&self, owner: OwnerHandle) -> WebState<OwnerHandle> {
        let limits = WebLimits {
            connections: self.limits.max_connections,
            header_bytes: self.limits.max_header_bytes.max(MIN_HEADER_BYTES),
            header_read: Duration::from_millis(self.limits.header_timeout_ms),
            drain: DRAIN,
            ..WebLimits::default()
        };
        WebState {
            owner,
            names: self.names.clone(),
            host: host_name(),
            shows_money: self.shows_money,
            job_forms: self.job_forms,
            stock: self.stock.clone(),
            job_page_prefix: self.job_page_prefix.clone(),
            container_slot: self.container_slot,
            sessions: Sessions::new(self.session_key, self.limits.session_s),
            streams: EventStreams::default(),
            plays: Some(Arc::clone(&self.plays)),
            ports: self.ports,
            limits,
        }
    }
}

impl WebThread {
    pub(super) fn start(
        listener: TcpListener,
        socket: Option<&WebSocket>,
        owner: OwnerHandle,
        options: &WebOptions,
    ) -> io::Result<Self> {
        let socket = socket.map(WebSocket::share).transpose()?;
        let state = options.state(owner);
        let (stop, stopped) = oneshot::channel::<()>();
        let (ending, ended) = mpsc::channel::<()>();
        let (starting, begun) = mpsc::channel::<io::Result<()>>();
        let serve = move || {
            let _ending = ending;
            // Made and dropped here: a runtime may not be dropped on a thread that runs another one.
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(starting.send(Err(error))),
            };
            drop(starting);
            runtime.block_on(async {
                let socket = socket.map(tokio::net::UnixListener::from_std).transpose();
                match tokio::net::TcpListener::from_std(listener).and_then(|listener| Ok((listener, socket?))) {
                    Ok((listener, socket)) => {
                        let shutdown = async {
                            // A dropped sender stops it too.
                            let _ = stopped.await;
                        };
                        crate::web::serve(Listeners::from(listener).with_socket(socket), state, shutdown).await;
                    }
                    Err(error) => tracing::error!("cannot start the web server: {error}"),
                }
            });
        };
        let thread = std::thread::Builder::new().name("web".to_owned()).spawn(serve)?;
        // Closed once the runtime stands.
        if let Ok(failed) = begun.recv() {
            failed?;
        }
        Ok(Self { stop: Some(stop), stopped_at: None, ended, thread })
    }

    /// Stops accepting requests; those in progress have the timeout from now on.
    pub(super) fn begin_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
            self.stopped_at = Some(Instant::now());
        }
    }

    /// Waits for requests in progress, then for the thread.
    pub(super) fn stop(mut self) {
        self.begin_stop();
        let passed = self.stopped_at.map_or(Duration::ZERO, |stopped_at| stopped_at.elapsed());
        if let Err(mpsc::RecvTimeoutError::Timeout) = self.ended.recv_timeout((DRAIN + GRACE).saturating_sub(passed)) {
            return tracing::error!("the web server's thread hangs; not waiting for it");
        }
        if self.thread.join().is_err() {
            tracing::error!("the web server's thread has panicked");
        }
    }
}

//! The web server's own thread: a slow page delays no heartbeat.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::FileType;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::config::host_name;
use crate::config::settings::HttpLimits;
use crate::fs::{FsError, Privacy, open_trusted_folder};
use crate::model::Capability;
use crate::server::OwnerHandle;
use crate::web::{EventStreams, JobForms, Listeners, ServedNames, ServedPorts, StockSettings, WebLimits, WebState};

/// Minimum header buffer of the HTTP library, bytes.
const MIN_HEADER_BYTES: usize = 8_192;

/// Timeout for requests in progress when the server stops.
const DRAIN: Duration = Duration::from_secs(4);
/// Additional time for the thread; after it the thread is abandoned, since it hangs.
const GRACE: Duration = Duration::from_millis(500);
/// Options of the web server.
#[derive(Clone, Debug)]
pub(super) struct WebOptions {
    /// Limits on connections.
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
    /// One slot's worth of a container.
    pub(super) container_slot: Capability,
    /// A Unix socket to listen on, too.
    pub(super) socket: Option<PathBuf>,
    /// Where the daemon listens.
    pub(super) ports: ServedPorts,
}

/// The running web server.
pub(super) struct WebThread {
    stop: Option<oneshot::Sender<()>>,
    stopped_at: Option<Instant>,
    /// Closed when the thread has ended.
    ended: mpsc::Receiver<()>,
    thread: JoinHandle<()>,
}

// === impl WebThread ===

impl WebThread {
    /// Serves HTTP on `listener`.
    pub(super) fn start(listener: TcpListener, owner: OwnerHandle, options: &WebOptions) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let socket = options.socket.as_deref().map(open_socket).transpose()?;
        let limits = WebLimits {
            connections: options.limits.max_connections,
            header_bytes: options.limits.max_header_bytes.max(MIN_HEADER_BYTES),
            header_read: Duration::from_millis(options.limits.header_timeout_ms),
            drain: DRAIN,
            ..WebLimits::default()
        };
        let state = WebState {
            owner,
            names: options.names.clone(),
            host: host_name(),
            shows_money: options.shows_money,
            job_forms: options.job_forms,
            stock: options.stock.clone(),
            job_page_prefix: options.job_page_prefix.clone(),
            container_slot: options.container_slot,
            streams: EventStreams::default(),
            ports: options.ports,
            limits,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let (ending, ended) = mpsc::channel::<()>();
        let serve = move || {
            let _ending = ending;
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

/// Who may connect: every user of the machine.
const SOCKET_MODE: u32 = 0o666;
/// Of its folder, if it is made.
const SOCKET_FOLDER_MODE: u32 = 0o755;

/// Listens on a Unix socket; removes one that an earlier process has left over.
fn open_socket(path: &Path) -> io::Result<UnixListener> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(named(io::ErrorKind::InvalidInput.into()));
    };
    let refused = |error: FsError| named(io::Error::other(error));
    let folder = open_trusted_folder(parent, SOCKET_FOLDER_MODE, Privacy::Private).map_err(refused)?.folder;
    if folder
        .stat_of(name)
        .map_err(refused)?
        .is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::Socket)
    {
        return Err(named(io::Error::other("it is there and is no socket; expected a name that is free")));
    }
    folder.remove(name).map_err(refused)?;
    // Names of sockets have a short limit.
    let here = Path::new("/proc/self/fd").join(folder.as_fd().as_raw_fd().to_string()).join(name);
    let listener = UnixListener::bind(here).map_err(named)?;
    listener.set_nonblocking(true)?;
    folder.set_mode_of_entry(name, SOCKET_MODE).map_err(refused)?;
    Ok(listener)
}

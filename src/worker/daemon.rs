//! Start and end of the tasktracker: its threads, its web server, its folders.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::sync::{mpsc, oneshot};

use crate::config::keys;
use crate::fs::FsError;
use crate::http::{ServedNames, WebLimits, accept_until, require_served_name};
use crate::streaming::private_files::FOLDER_MODE;
use crate::wire::STREAMING_ONLY;

use super::attempt_logs::AttemptLogs;
use super::attempt_runner::Workshop;
use super::error::TaskTrackerError;
use super::hang_monitor::HangWatch;
use super::heartbeat_loop::{Conversation, TrackerFace};
use super::local_folders::{LocalFolders, make_trusted, of_system};
use super::localized_job::time_limit;
use super::localized_jobs::JobsHere;
use super::map_completions::MapNewsDesk;
use super::memory_monitor::MemoryWatch;
use super::read_slots::ReadTurns;
use super::settings::TaskTrackerSettings;
use super::web;
use super::web::Pages;

/// How long the end waits for the processes of attempts. Their keepers kill what is left then.
const ATTEMPTS_PATIENCE: Duration = Duration::from_secs(3);
/// How long the end waits for the removal of files. The next start removes what is left then.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(1);
/// Threads that read map output, and logs.
const OUTPUT_READS: usize = 192;
const LOG_READS: usize = 64;
/// Descriptors beside those of connections and of the files that they are sent: of attempts.
const OTHER_DESCRIPTORS: usize = 2048;
/// Who serves map output to reduces waits for their disks, and reduces come all at once.
const WEB_LIMITS: WebLimits = WebLimits {
    // 150 of one machine: more than it has reduces.
    connections: 600,
    header_bytes: 16 << 10,
    headers: 64,
    header_read: Duration::from_secs(30),
    write: Duration::from_secs(180),
    // At the end nobody needs what is on its way.
    drain: Duration::ZERO,
};
/// How often old logs are looked for.
const LOG_ROUND: Duration = Duration::from_secs(3600);

/// What runs, once it does.
#[derive(Clone, Debug)]
pub struct Running {
    /// Its name.
    pub name: String,
    /// Where map output and logs are served.
    pub http: SocketAddr,
    /// Where files of jobs lie.
    pub folders: Vec<PathBuf>,
    /// Where logs lie.
    pub logs: PathBuf,
}

/// Runs a tasktracker until `stop` is done; `started` is told what runs. `keeper` is this program, which keeps commands
/// ([`crate::supervisor::process`]): then their processes end with the tasktracker, however it ends.
///
/// # Errors
/// [`TaskTrackerError`]
pub fn run(
    settings: TaskTrackerSettings,
    environment: BTreeMap<String, String>,
    keeper: Option<PathBuf>,
    stop: impl Future<Output = ()>,
    started: impl FnOnce(&Running),
) -> Result<(), TaskTrackerError> {
    let address = settings.http_address.to_string();
    let unheard = |source| TaskTrackerError::Listen { address: address.clone(), source };
    let listener = TcpListener::bind((settings.http_address.host.as_str(), settings.http_address.port));
    let listener = listener.map_err(unheard)?;
    let http = listener.local_addr().map_err(unheard)?;
    // Another tracker of this machine has another port.
    let folders = Arc::new(LocalFolders::take(&settings.local_folders, http.port(), &settings.user)?);
    let local = settings.local_folders.first().cloned().unwrap_or_default();
    let logs = settings.log_folder.clone().unwrap_or(local).join("userlogs");
    make_trusted(&logs, FOLDER_MODE).map_err(|error| match error {
        error @ FsError::Untrusted { .. } => TaskTrackerError::Untrusted(error),
        error => {
            TaskTrackerError::Folder { folder: logs.clone(), user: settings.user.clone(), source: of_system(error) }
        }
    })?;

    let jobs = Arc::new(JobsHere::new(folders.clone(), settings.configuration.clone()));
    let news = Arc::new(MapNewsDesk::default());
    let (lost, lost_received) = mpsc::unbounded_channel();
    let (events, events_received) = mpsc::unbounded_channel();
    let retain = Duration::from_secs(settings.log_retain_hours.saturating_mul(3600));
    let attempt_logs = AttemptLogs { folder: logs.clone(), limit_bytes: settings.log_limit_bytes, retain };
    let name = format!("tracker_{}:{STREAMING_ONLY}/{}:{}", settings.host, http.ip(), http.port());
    let about = format!("{name}\na tasktracker of {} for Hadoop Streaming\n", settings.jobtracker);
    let pages = Pages {
        jobs: jobs.clone(),
        logs: attempt_logs.clone(),
        lost,
        port: http.port(),
        about,
        output_turns: ReadTurns::new(OUTPUT_READS),
        log_turns: ReadTurns::new(LOG_READS),
    };
    allow_descriptors(2 * WEB_LIMITS.connections + OTHER_DESCRIPTORS);
    let names = ServedNames::new(settings.web_hosts.clone(), keys::WEB_HOSTS.name);
    let web = WebThread::start(listener, require_served_name(web::router(pages), names, &[]))?;
    let memory = Arc::<MemoryWatch>::default();
    let hangs = Arc::new(HangWatch::new(attempt_logs.clone()));
    let workshop = Arc::new(Workshop {
        jobs,
        news: news.clone(),
        logs: attempt_logs,
        environment,
        keeper,
        memory: memory.clone(),
        limits_memory: settings.limits_memory,
        hangs: hangs.clone(),
        time_limit: time_limit(&settings.configuration),
        events: events.clone(),
    });
    let memory_interval = settings.memory_interval;
    let face = TrackerFace { name: name.clone(), http_port: http.port() };
    let running = Running { name, http, folders: folders.all().map(Path::to_owned).collect(), logs };

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (jobtracker, user) = (settings.jobtracker.clone(), settings.user.clone());
    let mut conversation = Conversation::new(settings, face, workshop.clone(), events_received, lost_received);
    let ended = runtime.block_on(async {
        started(&running);
        let ended = tokio::select! {
            () = stop => Ok(()),
            ended = conversation.hold() => ended.map(|never| match never {}),
            () = news.serve(&jobtracker, &user) => Ok(()),
            () = memory.serve(memory_interval) => Ok(()),
            () = hangs.serve(events) => Ok(()),
            () = remove_old_logs(&workshop.logs) => Ok(()),
        };
        conversation.end(ATTEMPTS_PATIENCE).await;
        ended
    });
    web.end();
    // Nothing below waits for a file that hangs.
    runtime.shutdown_background();
    remove_within(folders, REMOVAL_PATIENCE);
    Ok(ended?)
}

/// Removes the folders, as far as that is done in time.
fn remove_within(folders: Arc<LocalFolders>, patience: Duration) {
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let removal = std::thread::Builder::new().name("removal".to_owned()).spawn(move || {
        folders.remove();
        drop(done);
    });
    // Without a thread they are removed at the next start.
    if removal.is_ok() && is_done.recv_timeout(patience) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        tracing::warn!(
            "files of jobs are still being removed; the next tasktracker on the same disks removes the rest"
        );
    }
}

/// Raises the soft limit on open files to what is needed, as far as the hard limit lets us.
fn allow_descriptors(needed: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(needed as u64, |maximum| maximum.min(needed as u64));
    if limit.current.is_some_and(|current| current < wanted) {
        // Where it is refused, connections wait for descriptors.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
}

async fn remove_old_logs(logs: &AttemptLogs) {
    loop {
        let logs = logs.clone();
        let _ = tokio::task::spawn_blocking(move || logs.remove_old()).await;
        tokio::time::sleep(LOG_ROUND).await;
    }
}

/// The thread that serves HTTP.
struct WebThread {
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

// === impl WebThread ===

impl WebThread {
    fn start(listener: TcpListener, router: Router) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(OUTPUT_READS + LOG_READS).build()?;
        let listener = {
            let _guard = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let shutdown = async {
            // A sender that is gone stops it too.
            let _ = stopped.await;
        };
        let serve = move || {
            runtime.block_on(accept_until(listener, router, WEB_LIMITS, shutdown));
            // A read that hangs is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("tracker web".to_owned()).spawn(serve)?;
        Ok(Self { stop, thread })
    }

    fn end(self) {
        drop(self.stop);
        // A panic there was told already.
        let _ = self.thread.join();
    }
}

//! Start and end of the tasktracker: its threads, its web server, its folders.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::sync::{mpsc, oneshot, watch};

use crate::config::{HostPort, keys};
use crate::fs::FsError;
use crate::http::{ServedNames, WebLimits, accept_until, require_served_name};
use crate::model::AttemptId;
use crate::streaming::private_files::FOLDER_MODE;
use crate::wire::STREAMING_ONLY;

use super::attempt_logs::AttemptLogs;
use super::attempt_runner::AttemptRunner;
use super::attempt_table::AttemptMessage;
use super::check::folder_error;
use super::containers::{ContainerLogs, ContainerRunner, ContainerService, ContainerSurroundings, StartedContainers};
use super::error::{HeartbeatError, TaskTrackerError};
use super::hang_monitor::HangMonitor;
use super::heartbeat_loop::{HeartbeatLoop, TrackerIdentity};
use super::job_definition::time_limit;
use super::local_folders::{LocalFolders, make_trusted};
use super::localized_jobs::LocalizedJobs;
use super::map_completion_poller::MapCompletionPoller;
use super::node_health::NodeHealth;
use super::read_permits::ReadPermits;
use super::run_as::RunAs;
use super::settings::TaskTrackerSettings;
use super::web;
use super::web::WorkerWebState;

/// Shutdown waits this long for the processes of attempts. Their supervisors kill the rest.
const ATTEMPTS_TIMEOUT: Duration = Duration::from_secs(3);
/// Shutdown waits this long for the JobTracker to take note of it.
const SIGN_OFF_TIMEOUT: Duration = Duration::from_secs(1);
/// Start waits this long for the lock of its own folder, which another tasktracker that starts may hold while it clears up.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Shutdown waits this long for the removal of files. The next start removes the rest.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Threads that read map output and logs.
const OUTPUT_READS: usize = 192;
const LOG_READS: usize = 64;
/// Descriptors of attempts, beside those of connections and the files that these send.
const OTHER_DESCRIPTORS: usize = 2048;
/// Map output is sent at the speed of the reduces' disks, and reduces start all at once.
const WEB_LIMITS: WebLimits = WebLimits {
    // 150 of one machine: more than it has reduces.
    connections: 600,
    header_bytes: 16 << 10,
    headers: 64,
    header_read: Duration::from_secs(30),
    write: Duration::from_secs(180),
    // At shutdown running answers are no longer needed.
    drain: Duration::ZERO,
    kept_paths: &[],
};
/// The few threads of blocking work beside the web stay: where no other can be started, work waits for them; without any, the runtime would panic.
const BLOCKING_KEPT: Duration = Duration::from_secs(365 * 24 * 3600);
const LOG_ROUND: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug)]
pub(crate) struct RunningWorker {
    /// `tracker_HOST:...`, the key at the JobTracker.
    pub(crate) name: String,
    /// The address that serves map output and logs.
    pub(crate) http: SocketAddr,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) logs: PathBuf,
    /// What it has for containers, in words; none: they are switched off.
    pub(crate) containers: Option<String>,
}

/// Runs a tasktracker until `stop` is done; calls `started` once it runs. `supervisor` is this program as supervisor of commands
/// ([`crate::supervisor::process`]): then their processes end with the tasktracker, however it ends.
pub(crate) fn run(
    settings: TaskTrackerSettings,
    environment: BTreeMap<String, String>,
    supervisor: Option<PathBuf>,
    stop: impl Future<Output = ()>,
    started: impl FnOnce(&RunningWorker),
) -> Result<(), TaskTrackerError> {
    let (listener, http) = listen(&settings)?;
    if let Some(error) = folder_error(&settings) {
        return Err(error);
    }
    let name = tracker_name(&settings, http);
    let is_for_users = matches!(settings.run_as, RunAs::JobUser(_));
    let (disks, user) = (&settings.local_folders, &settings.user);
    let folders = Arc::new(LocalFolders::acquire(disks, http.port(), &name, user, is_for_users, LOCK_TIMEOUT)?);
    let logs = make_log_folder(&settings)?;

    let jobs = Arc::new(LocalizedJobs::new(folders.clone(), settings.configuration.clone(), settings.run_as.clone()));
    let (lost, lost_received) = mpsc::unbounded_channel();
    let (events, events_received) = mpsc::unbounded_channel();
    let retain = Duration::from_secs(settings.log_retain_hours.saturating_mul(3600));
    let attempt_logs = AttemptLogs { folder: logs.clone(), limit_bytes: settings.log_limit_bytes, retain };
    let (registrations, registered) = watch::channel(0);
    let surroundings = ContainerSurroundings {
        settings: &settings,
        tracker: &name,
        http_port: http.port(),
        folders: &folders,
        logs: &attempt_logs,
        memory_monitor: &Arc::default(),
        health: &Arc::new(NodeHealth::new(settings.min_free_bytes)),
        environment: &environment,
        supervisor,
    };
    let web = start_web(listener, &surroundings, jobs.clone(), lost)?;
    let of_containers = surroundings.settings.containers.as_ref();
    let started_containers = of_containers.map(|of| StartedContainers::new(of, &surroundings, registered));
    let mut containers = started_containers.transpose()?;
    let runner = Arc::new(attempt_runner(&surroundings, jobs, events.clone()));
    let beat_digest = containers.as_ref().map(|containers| containers.beat_digest.clone());
    let identity = TrackerIdentity { name: name.clone(), http_port: http.port(), beat_digest, registrations };
    let all_folders = folders.all().map(Path::to_owned).collect();
    let about = containers.as_ref().map(|containers| containers.about.clone());
    let running = RunningWorker { name, http, folders: all_folders, logs, containers: about };

    let runtime = start_runtime()?;
    let (jobtracker, user) = (settings.jobtracker.clone(), settings.user.clone());
    let mut heartbeats = HeartbeatLoop::new(settings, identity, runner.clone(), events_received, lost_received);
    let ended = runtime.block_on(async {
        started(&running);
        work_until(stop, &mut heartbeats, &runner, &mut containers, (&jobtracker, &user), events).await
    });
    web.end();
    // Nothing below waits for a file that hangs.
    runtime.shutdown_background();
    remove_within(folders, REMOVAL_TIMEOUT);
    Ok(ended?)
}

fn listen(settings: &TaskTrackerSettings) -> Result<(TcpListener, SocketAddr), TaskTrackerError> {
    let address = &settings.http_address;
    let listen_error = |source| TaskTrackerError::Listen { address: address.to_string(), source };
    let listener = TcpListener::bind((address.host.as_str(), address.port)).map_err(listen_error)?;
    let http = listener.local_addr().map_err(listen_error)?;
    Ok((listener, http))
}

/// The key at the JobTracker; another tracker of this machine has another port.
fn tracker_name(settings: &TaskTrackerSettings, http: SocketAddr) -> String {
    let given = settings.name.as_ref().map(|name| format!(".{name}")).unwrap_or_default();
    format!("tracker_{}:{STREAMING_ONLY}{given}/{}:{}", settings.host, http.ip(), http.port())
}

fn start_web(
    listener: TcpListener,
    surroundings: &ContainerSurroundings<'_>,
    jobs: Arc<LocalizedJobs>,
    lost: mpsc::UnboundedSender<(AttemptId, String)>,
) -> io::Result<WorkerWebThread> {
    let ContainerSurroundings { settings, tracker, http_port, logs, .. } = surroundings;
    let web_state = WorkerWebState {
        jobs,
        logs: (*logs).clone(),
        container_logs: ContainerLogs::new((*logs).clone()),
        needs_tickets: settings.needs_log_tickets,
        lost,
        port: *http_port,
        about: format!("{tracker}\na tasktracker of {} for Hadoop Streaming\n", settings.jobtracker),
        output_permits: ReadPermits::new(OUTPUT_READS),
        log_permits: ReadPermits::new(LOG_READS),
    };
    allow_descriptors(2 * WEB_LIMITS.connections + OTHER_DESCRIPTORS);
    let names = ServedNames::new(settings.web_hosts.clone(), keys::WEB_HOSTS.name);
    WorkerWebThread::start(listener, require_served_name(web::router(web_state), names, &[]))
}

fn attempt_runner(
    surroundings: &ContainerSurroundings<'_>,
    jobs: Arc<LocalizedJobs>,
    events: mpsc::UnboundedSender<AttemptMessage>,
) -> AttemptRunner {
    let settings = surroundings.settings;
    AttemptRunner {
        jobs,
        map_completions: Arc::new(MapCompletionPoller::default()),
        logs: surroundings.logs.clone(),
        environment: surroundings.environment.clone(),
        supervisor: surroundings.supervisor.clone(),
        memory_monitor: surroundings.memory_monitor.clone(),
        limits_memory: settings.limits_memory,
        memory_interval: settings.memory_interval,
        hang_monitor: Arc::new(HangMonitor::new(surroundings.logs.clone())),
        health: surroundings.health.clone(),
        time_limit: time_limit(&settings.configuration),
        events,
    }
}

/// For the rounds of this thread, with a first thread for blocking work.
fn start_runtime() -> io::Result<tokio::runtime::Runtime> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().thread_keep_alive(BLOCKING_KEPT).build()?;
    drop(runtime.spawn_blocking(|| ()));
    Ok(runtime)
}

/// Works until `stop` is done or the heartbeats end; then ends what runs, and signs off.
async fn work_until(
    stop: impl Future<Output = ()>,
    heartbeats: &mut HeartbeatLoop,
    runner: &AttemptRunner,
    containers: &mut Option<StartedContainers>,
    (jobtracker, user): (&HostPort, &str),
    events: mpsc::UnboundedSender<AttemptMessage>,
) -> Result<(), HeartbeatError> {
    let (container_runner, mut service) = match containers {
        Some(StartedContainers { runner, service, .. }) => (Some(&*runner), Some(service)),
        None => (None, None),
    };
    let ended = tokio::select! {
        () = stop => Ok(()),
        ended = heartbeats.run() => ended.map(|never| match never {}),
        () = runner.map_completions.run(jobtracker, user) => Ok(()),
        () = runner.memory_monitor.run(runner.memory_interval) => Ok(()),
        () = runner.hang_monitor.run(events) => Ok(()),
        () = remove_old_logs(&runner.logs, container_runner) => Ok(()),
        never = run_containers(service.as_deref_mut()) => match never {},
    };
    let of_containers = async {
        if let Some(service) = service {
            service.shut_down().await;
        }
    };
    tokio::join!(heartbeats.shut_down(ATTEMPTS_TIMEOUT), of_containers);
    heartbeats.sign_off(SIGN_OFF_TIMEOUT).await;
    ended
}

fn make_log_folder(settings: &TaskTrackerSettings) -> Result<PathBuf, TaskTrackerError> {
    let local = settings.local_folders.first().cloned().unwrap_or_default();
    let logs = settings.log_folder.clone().unwrap_or(local).join("userlogs");
    match make_trusted(&logs, FOLDER_MODE) {
        Ok(()) => Ok(logs),
        Err(error @ FsError::Untrusted { .. }) => Err(TaskTrackerError::Untrusted(error)),
        Err(error) => Err(TaskTrackerError::Folder { folder: logs, user: settings.user.clone(), source: error.into() }),
    }
}

/// Removes the folders, as far as the time allows.
fn remove_within(folders: Arc<LocalFolders>, timeout: Duration) {
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let removal = std::thread::Builder::new().name("removal".to_owned()).spawn(move || {
        folders.remove();
        drop(done);
    });
    // Without a thread the next start removes them.
    if removal.is_ok() && is_done.recv_timeout(timeout) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        tracing::warn!(
            "files of jobs are still being removed; the next tasktracker on the same disks removes the rest"
        );
    }
}

/// Raises the soft limit on open files to `needed`, up to the hard limit.
fn allow_descriptors(needed: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(needed as u64, |maximum| maximum.min(needed as u64));
    if limit.current.is_some_and(|current| current < wanted) {
        // If the system refuses, connections wait for descriptors.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
}

/// Beats about containers without end; waits without end where there are none.
async fn run_containers(service: Option<&mut ContainerService>) -> Infallible {
    match service {
        Some(service) => service.run().await,
        None => std::future::pending().await,
    }
}

async fn remove_old_logs(logs: &AttemptLogs, containers: Option<&Arc<ContainerRunner>>) {
    loop {
        let (logs, containers) = (logs.clone(), containers.cloned());
        let remove = move || {
            logs.remove_old();
            if let Some(containers) = containers {
                containers.remove_old_logs();
            }
        };
        let _ = tokio::task::spawn_blocking(remove).await;
        tokio::time::sleep(LOG_ROUND).await;
    }
}

/// The thread that serves HTTP.
struct WorkerWebThread {
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl WorkerWebThread {
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
            // A dropped sender stops it too.
            let _ = stopped.await;
        };
        let serve = move || {
            runtime.block_on(accept_until(listener, router, WEB_LIMITS, shutdown));
            // Does not wait for a read that hangs.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("tracker web".to_owned()).spawn(serve)?;
        Ok(Self { stop, thread })
    }

    fn end(self) {
        drop(self.stop);
        // The panic hook has logged a panic there.
        let _ = self.thread.join();
    }
}

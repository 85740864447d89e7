//! The tracker's side of InterTrackerProtocol: one heartbeat after the other, each resent until it is answered (1.2.1
//! `TaskTracker.offerService`, `transmitHeartBeat`). An attempt that ends or waits for permission to commit is reported at once; otherwise
//! the interval of the last answer applies.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::clock::wall_ms;
use crate::fs::{FileUri, FileUriError};
use crate::ipc::client::{IpcClient, IpcError};
use crate::model::{AttemptId, PerKind};
use crate::wire::protocol::{Call, InterTrackerCall, Protocol, Value};
use crate::wire::{
    BEAT_DIGEST, HealthStatus, HeartbeatRequest, HeartbeatResponse, LACKS, REPLACES, ResourceStatus, SIGNED_OFF,
    TaskTrackerStatus,
};

use super::attempt_runner::AttemptRunner;
use super::attempt_table::{AttemptCommand, AttemptEvent, AttemptMessage, AttemptTable};
use super::error::HeartbeatError;
use super::node_health::WorkOffer;
use super::settings::TaskTrackerSettings;
use super::tracked_attempt::AttemptOutcome;

/// The first pause after a failed call; each further one is twice as long.
const FIRST_RETRY_PAUSE: Duration = Duration::from_millis(100);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(3);
/// Shortest interval, whatever the answer says.
const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// The exception by which a JobTracker rejects a tracker.
const DISALLOWED: &str = "org.apache.hadoop.mapred.DisallowedTaskTrackerException";

/// The tracker's name and address in its reports.
#[derive(Clone, Debug)]
pub(crate) struct TrackerIdentity {
    /// The key of the tracker at the JobTracker.
    pub(crate) name: String,
    pub(crate) http_port: u16,
    /// SHA-256 of the secret of its beats about containers, hex digits; none: it sends none.
    pub(crate) beat_digest: Option<String>,
    /// Counts how often the JobTracker has registered it.
    pub(crate) registrations: watch::Sender<u64>,
}

pub(crate) struct HeartbeatLoop {
    settings: TaskTrackerSettings,
    identity: TrackerIdentity,
    attempts: AttemptTable,
    runner: Arc<AttemptRunner>,
    events: UnboundedReceiver<AttemptMessage>,
    /// Map outputs that can no longer be read.
    lost: UnboundedReceiver<(AttemptId, String)>,
    connection: Option<IpcClient>,
    /// A call was sent on `connection` whose answer has not come.
    has_unanswered: bool,
    has_system_dir: bool,
    /// The system directory is not on a local path.
    bad_system_dir: Option<FileUriError>,
    response_id: i16,
    restarted: bool,
    initial_contact: bool,
}

impl HeartbeatLoop {
    /// A loop that has not started.
    pub(crate) fn new(
        settings: TaskTrackerSettings,
        identity: TrackerIdentity,
        runner: Arc<AttemptRunner>,
        events: UnboundedReceiver<AttemptMessage>,
        lost: UnboundedReceiver<(AttemptId, String)>,
    ) -> Self {
        Self {
            attempts: AttemptTable::new(settings.slots),
            settings,
            identity,
            runner,
            events,
            lost,
            connection: None,
            has_unanswered: false,
            has_system_dir: false,
            bad_system_dir: None,
            response_id: -1,
            restarted: true,
            initial_contact: true,
        }
    }

    /// Exchanges heartbeats until the JobTracker rejects the tracker.
    pub(crate) async fn run(&mut self) -> Result<std::convert::Infallible, HeartbeatError> {
        let mut next = Instant::now();
        loop {
            self.wait_until(next).await;
            while let Ok(message) = self.events.try_recv() {
                self.apply_message(message);
            }
            let request = self.request();
            let response = self.send_until_answered(request).await?;
            let interval = Duration::from_millis(u64::try_from(response.interval_ms).unwrap_or(0));
            next = Instant::now() + interval.max(MIN_INTERVAL);
            self.apply_response(response);
        }
    }

    /// Waits until `next`, or until an event that must be reported at once.
    async fn wait_until(&mut self, next: Instant) {
        loop {
            tokio::select! {
                Some(message) = self.events.recv() => {
                    if self.apply_message(message) {
                        return;
                    }
                }
                Some((attempt, why)) = self.lost.recv() => {
                    remove_in_background(self.runner.jobs.forget_output(attempt));
                    self.attempts.on_output_lost(attempt, &why);
                    return;
                }
                () = sleep_until(next) => return,
            }
        }
    }

    fn apply_message(&mut self, (attempt, launch, event): AttemptMessage) -> bool {
        match &event {
            AttemptEvent::Ended(AttemptOutcome::Succeeded { .. }) => self.runner.health.on_started(),
            AttemptEvent::Ended(AttemptOutcome::Short(why)) => {
                let wave = self.attempts.wave_of(attempt, launch);
                let used_permille = self.attempts.running_permille();
                if let Some(wave) = wave {
                    self.runner.health.on_shortage(wave, why, used_permille, Instant::now());
                }
            }
            AttemptEvent::Running | AttemptEvent::CommitPending | AttemptEvent::Ended(_) => {}
        }
        let (report_at_once, commands) = self.attempts.apply_event(attempt, launch, event, wall_ms());
        self.execute_commands(commands);
        report_at_once
    }

    fn request(&mut self) -> Box<HeartbeatRequest> {
        let folders = self.runner.jobs.folders();
        let free = folders.free_space();
        let dir_failures = i32::try_from(folders.failures()).unwrap_or(i32::MAX);
        self.runner.health.set_free_space(free);
        let offer = self.runner.health.offer(Instant::now());
        let accepts = self.attempts.has_free_slot() && offer.takes_work;
        let slots = PerKind::new(offer.of(self.settings.slots.map), offer.of(self.settings.slots.reduce));
        let count = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        Box::new(HeartbeatRequest {
            status: TaskTrackerStatus {
                name: self.identity.name.as_str().into(),
                host: self.settings.host.as_str().into(),
                http_port: self.identity.http_port.into(),
                task_failures: self.attempts.failure_count(),
                dir_failures,
                max_map_slots: count(slots.map),
                max_reduce_slots: count(slots.reduce),
                resources: resources(free.map(|free| free.bytes).filter(|_| accepts)),
                tasks: self.attempts.build_reports(wall_ms()),
                health: HealthStatus {
                    healthy: !offer.is_ill,
                    report: self.health_report(&offer).into(),
                    last_reported_ms: 0,
                },
            },
            restarted: self.restarted,
            initial_contact: self.initial_contact,
            accept_new_tasks: accepts,
            response_id: self.response_id,
        })
    }

    /// In its first heartbeat the names of killed tasktrackers that it has cleared up after, so that the JobTracker waits for none of
    /// them, unless it is ill; in each, by which secret its beats about containers are known, and what it lacks.
    fn health_report(&self, offer: &WorkOffer) -> String {
        let replaced = if offer.is_ill { String::new() } else { self.replaced() };
        let digest = self.identity.beat_digest.as_ref().map(|digest| format!("{BEAT_DIGEST}{digest}"));
        // All words of such a first report are names.
        let lack = offer.complaint.as_ref().filter(|_| replaced.is_empty()).map(|why| format!("{LACKS}{why}"));
        [Some(replaced), digest, lack]
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn replaced(&self) -> String {
        if !self.restarted {
            return String::new();
        }
        let names = self.runner.jobs.folders().replaced();
        let names: Vec<&str> = names.filter(|name| *name != self.identity.name).collect();
        if names.is_empty() { String::new() } else { format!("{REPLACES}{}", names.join(" ")) }
    }

    /// Reports to the JobTracker that nothing runs here any more, so that it waits for nothing of this tracker. Without an answer it
    /// finds out after its expiry interval.
    pub(crate) async fn sign_off(&mut self, timeout: Duration) {
        if self.initial_contact {
            // It knows nothing of this tracker.
            return;
        }
        self.attempts.finish_all(wall_ms());
        let mut request = self.request();
        request.accept_new_tasks = false;
        let status = &mut request.status;
        (status.max_map_slots, status.max_reduce_slots) = (0, 0);
        status.health = HealthStatus { healthy: false, report: SIGNED_OFF.into(), last_reported_ms: wall_ms() };
        let call = Call::InterTracker(InterTrackerCall::Heartbeat { request });
        // A heartbeat may be on its way, whose answer would be taken for this one's.
        if std::mem::take(&mut self.has_unanswered) {
            self.connection = None;
        }
        let said = tokio::time::timeout(timeout, async { self.call(&call).await });
        match said.await {
            Ok(Ok(_)) => tracing::info!("signed off at the JobTracker at {}", self.settings.jobtracker),
            Ok(Err(error)) => {
                tracing::info!("could not sign off at the JobTracker at {}: {error}", self.settings.jobtracker)
            }
            Err(_) => tracing::info!("the JobTracker at {} has not answered the sign-off", self.settings.jobtracker),
        }
    }

    /// Resends the same heartbeat until it is answered.
    async fn send_until_answered(
        &mut self,
        request: Box<HeartbeatRequest>,
    ) -> Result<HeartbeatResponse, HeartbeatError> {
        let call = Call::InterTracker(InterTrackerCall::Heartbeat { request });
        let mut pause = FIRST_RETRY_PAUSE;
        loop {
            self.has_unanswered = true;
            let answer = self.call(&call).await;
            self.has_unanswered = false;
            self.runner.health.on_heartbeat(matches!(answer, Ok(Value::Heartbeat(_))), Instant::now());
            match answer {
                Ok(Value::Heartbeat(response)) => {
                    if pause > FIRST_RETRY_PAUSE {
                        tracing::info!("the JobTracker at {} answers again", self.settings.jobtracker);
                    }
                    return Ok(response);
                }
                Ok(_) => {
                    if let Some(error) = self.bad_system_dir.take() {
                        return Err(error.into());
                    }
                }
                Err(error) => {
                    self.check_error(&error)?;
                    if pause == FIRST_RETRY_PAUSE {
                        tracing::warn!(
                            "the JobTracker at {} cannot be reached: {error}; retrying: start it, or set mapred.job.tracker to another",
                            self.settings.jobtracker
                        );
                    }
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(MAX_RETRY_PAUSE);
        }
    }

    /// Returns an error that a retry cannot cure; drops a broken connection.
    fn check_error(&mut self, error: &IpcError) -> Result<(), HeartbeatError> {
        match error {
            IpcError::Remote { exception, .. } if exception.class == DISALLOWED => {
                Err(HeartbeatError::Disallowed(exception.message.clone()))
            }
            IpcError::Version { .. } => Err(HeartbeatError::Version(error.to_string())),
            IpcError::Remote { fatal: false, .. } => Ok(()),
            _ => {
                self.connection = None;
                Ok(())
            }
        }
    }

    async fn call(&mut self, call: &Call) -> Result<Value, IpcError> {
        if self.connection.is_none() {
            let address = (self.settings.jobtracker.host.as_str(), self.settings.jobtracker.port);
            let client = IpcClient::connect(address, Protocol::InterTracker, &self.settings.user).await?;
            self.connection = Some(client);
        }
        let Some(client) = &mut self.connection else { return Err(IpcError::Closed) };
        if !self.has_system_dir {
            let system = client.call(&Call::InterTracker(InterTrackerCall::GetSystemDir)).await?;
            match system {
                Value::String(Some(system)) => match FileUri::parse(&system) {
                    Ok(system) => {
                        self.runner.jobs.set_system_dir(system);
                        self.has_system_dir = true;
                    }
                    Err(error) => {
                        self.bad_system_dir = Some(error);
                        return Ok(Value::Void);
                    }
                },
                // The JobTracker is not ready.
                _ => return Ok(Value::Void),
            }
        }
        client.call(call).await
    }

    fn apply_response(&mut self, response: HeartbeatResponse) {
        self.response_id = response.response_id;
        if self.initial_contact {
            tracing::info!("the JobTracker at {} has registered this tasktracker", self.settings.jobtracker);
            self.identity.registrations.send_modify(|count| *count += 1);
        }
        (self.restarted, self.initial_contact) = (false, false);
        response.recovered_jobs.iter().for_each(|job| self.runner.map_completions.restart_events(*job));
        let commands = self.attempts.apply_actions(response.actions, wall_ms());
        // The reports of this heartbeat may have caused completion events.
        self.runner.map_completions.wake();
        self.execute_commands(commands);
    }

    fn execute_commands(&mut self, commands: Vec<AttemptCommand>) {
        for command in commands {
            match command {
                AttemptCommand::Start { task, handle, launch } => {
                    let attempt = task.status.attempt;
                    self.attempts.set_wave(attempt, self.runner.health.wave());
                    if let Err(error) = self.runner.start(task, handle, launch) {
                        let outcome = AttemptOutcome::Short(format!("cannot start a thread: {error}"));
                        self.apply_message((attempt, launch, AttemptEvent::Ended(outcome)));
                    }
                }
                AttemptCommand::ForgetOutput(attempt) => remove_in_background(self.runner.jobs.forget_output(attempt)),
                AttemptCommand::ForgetJob(job) => {
                    self.runner.map_completions.forget(job);
                    remove_in_background(self.runner.jobs.forget(job));
                }
                AttemptCommand::ForgetAll => {
                    tracing::warn!(
                        "the JobTracker does not know this tracker: killing all attempts and registering again"
                    );
                    self.initial_contact = true;
                    self.runner.map_completions.forget_all();
                    remove_in_background(self.runner.jobs.forget_all());
                }
            }
        }
    }

    /// Kills all attempts and waits for the end of their processes, at most for `timeout`.
    pub(crate) async fn shut_down(&mut self, timeout: Duration) {
        self.attempts.kill_all();
        let all_gone = async {
            while self.attempts.running_count() > 0 {
                let Some((attempt, launch, event)) = self.events.recv().await else { return };
                // No attempt waits for a slot now.
                drop(self.attempts.apply_event(attempt, launch, event, wall_ms()));
                self.attempts.kill_all();
            }
        };
        if tokio::time::timeout(timeout, all_gone).await.is_err() {
            tracing::warn!("{} attempts did not end in time", self.attempts.running_count());
        }
    }
}

/// Removes files on another thread: heartbeats do not wait for a disk.
fn remove_in_background(files: impl Send + 'static) {
    // Without a thread they are removed here.
    let _ = std::thread::Builder::new().name("removal".to_owned()).spawn(move || drop(files));
}

fn resources(free_bytes: Option<u64>) -> ResourceStatus {
    ResourceStatus::of_space(free_bytes.map_or(i64::MAX, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX)))
}

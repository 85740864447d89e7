//! The tracker's side of InterTrackerProtocol: one heartbeat after the other, each sent until it is answered (1.2.1
//! `TaskTracker.offerService`, `transmitHeartBeat`).
//!
//! Whatever ends or waits for leave is told at once; else the interval of the last answer is kept.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep, sleep_until};

use crate::clock::wall_ms;
use crate::fs::{FileUri, FileUriError};
use crate::ipc::client::{IpcClient, IpcError};
use crate::model::AttemptId;
use crate::wire::protocol::{Call, InterTrackerCall, Protocol, Value};
use crate::wire::{HealthStatus, HeartbeatRequest, HeartbeatResponse, ResourceStatus, TaskTrackerStatus};

use super::attempt_runner::Workshop;
use super::attempt_table::{AttemptBook, AttemptEvent, Deed, Told};
use super::error::ConversationError;
use super::settings::TaskTrackerSettings;
use super::tracked_attempt::Ending;

/// The first pause after a call that failed; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// No interval is shorter, whatever the answer says.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// The exception by which a JobTracker sends a tracker away.
const DISALLOWED: &str = "org.apache.hadoop.mapred.DisallowedTaskTrackerException";

/// Where the tracker is, as it tells it.
#[derive(Clone, Debug)]
pub struct TrackerFace {
    /// Its name, the key by which it is known.
    pub name: String,
    /// The port of its web server.
    pub http_port: u16,
}

/// The state of the conversation.
pub struct Conversation {
    settings: TaskTrackerSettings,
    face: TrackerFace,
    book: AttemptBook,
    workshop: Arc<Workshop>,
    events: UnboundedReceiver<Told>,
    /// Outputs that cannot be read any more.
    lost: UnboundedReceiver<(AttemptId, String)>,
    connection: Option<IpcClient>,
    knows_system: bool,
    /// The system directory is none that we reach.
    bad_system: Option<FileUriError>,
    response_id: i16,
    restarted: bool,
    initial_contact: bool,
}

// === impl Conversation ===

impl Conversation {
    /// One that has not begun.
    pub fn new(
        settings: TaskTrackerSettings,
        face: TrackerFace,
        workshop: Arc<Workshop>,
        events: UnboundedReceiver<Told>,
        lost: UnboundedReceiver<(AttemptId, String)>,
    ) -> Self {
        Self {
            book: AttemptBook::new(settings.slots),
            settings,
            face,
            workshop,
            events,
            lost,
            connection: None,
            knows_system: false,
            bad_system: None,
            response_id: -1,
            restarted: true,
            initial_contact: true,
        }
    }

    /// Talks for ever.
    ///
    /// # Errors
    /// [`ConversationError`]
    pub async fn hold(&mut self) -> Result<std::convert::Infallible, ConversationError> {
        let mut next = Instant::now();
        loop {
            self.wait_until(next).await;
            while let Ok(told) = self.events.try_recv() {
                self.take(told);
            }
            let request = self.request();
            let response = self.deliver(request).await?;
            let interval = Duration::from_millis(u64::try_from(response.interval_ms).unwrap_or(0));
            next = Instant::now() + interval.max(SHORTEST_INTERVAL);
            self.obey(response);
        }
    }

    /// Until then, or until something happens that is to be told at once.
    async fn wait_until(&mut self, next: Instant) {
        loop {
            tokio::select! {
                Some(told) = self.events.recv() => {
                    if self.take(told) {
                        return;
                    }
                }
                Some((attempt, why)) = self.lost.recv() => {
                    remove_aside(self.workshop.jobs.forget_output(attempt));
                    self.book.lose_output(attempt, &why);
                    return;
                }
                () = sleep_until(next) => return,
            }
        }
    }

    fn take(&mut self, (attempt, launch, event): Told) -> bool {
        let (tells_at_once, deeds) = self.book.take_event(attempt, launch, event, wall_ms());
        self.do_all(deeds);
        tells_at_once
    }

    fn request(&mut self) -> Box<HeartbeatRequest> {
        let folders = self.workshop.jobs.folders();
        let room_bytes = folders.room_bytes();
        // A disk without any room takes nothing, whatever the limit.
        let has_room = room_bytes.is_none_or(|bytes| bytes > 0 && bytes >= self.settings.least_room_bytes);
        let dir_failures = i32::try_from(folders.failures()).unwrap_or(i32::MAX);
        let accepts = self.book.has_free_slot() && has_room;
        let slots = self.settings.slots;
        let count = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        Box::new(HeartbeatRequest {
            status: TaskTrackerStatus {
                name: self.face.name.as_str().into(),
                host: self.settings.host.as_str().into(),
                http_port: self.face.http_port.into(),
                task_failures: self.book.failures(),
                dir_failures,
                max_map_slots: count(slots.map),
                max_reduce_slots: count(slots.reduce),
                resources: resources(room_bytes.filter(|_| accepts)),
                tasks: self.book.reports(wall_ms()),
                health: HealthStatus { healthy: true, report: "".into(), last_reported_ms: 0 },
            },
            restarted: self.restarted,
            initial_contact: self.initial_contact,
            accept_new_tasks: accepts,
            response_id: self.response_id,
        })
    }

    /// Sends the same heartbeat until it is answered.
    async fn deliver(&mut self, request: Box<HeartbeatRequest>) -> Result<HeartbeatResponse, ConversationError> {
        let call = Call::InterTracker(InterTrackerCall::Heartbeat { request });
        let mut pause = FIRST_PAUSE;
        loop {
            match self.call(&call).await {
                Ok(Value::Heartbeat(response)) => {
                    if pause > FIRST_PAUSE {
                        tracing::info!("the JobTracker at {} answers again", self.settings.jobtracker);
                    }
                    return Ok(response);
                }
                Ok(_) => {
                    if let Some(error) = self.bad_system.take() {
                        return Err(error.into());
                    }
                }
                Err(error) => {
                    self.judge(&error)?;
                    if pause == FIRST_PAUSE {
                        tracing::warn!(
                            "the JobTracker at {} cannot be reached: {error}; trying again until it can: start it, or name another by mapred.job.tracker",
                            self.settings.jobtracker
                        );
                    }
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Whether an error is worth another try.
    fn judge(&mut self, error: &IpcError) -> Result<(), ConversationError> {
        match error {
            IpcError::Remote { exception, .. } if exception.class == DISALLOWED => {
                Err(ConversationError::Disallowed(exception.message.clone()))
            }
            IpcError::Version { .. } => Err(ConversationError::Version(error.to_string())),
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
        if !self.knows_system {
            let told = client.call(&Call::InterTracker(InterTrackerCall::GetSystemDir)).await?;
            match told {
                Value::String(Some(system)) => match FileUri::parse(&system) {
                    Ok(system) => {
                        self.workshop.jobs.set_system(system);
                        self.knows_system = true;
                    }
                    Err(error) => {
                        self.bad_system = Some(error);
                        return Ok(Value::Void);
                    }
                },
                // It is not ready.
                _ => return Ok(Value::Void),
            }
        }
        client.call(call).await
    }

    fn obey(&mut self, response: HeartbeatResponse) {
        self.response_id = response.response_id;
        if self.initial_contact {
            tracing::info!("the JobTracker at {} has taken this tasktracker on", self.settings.jobtracker);
        }
        (self.restarted, self.initial_contact) = (false, false);
        response.recovered_jobs.iter().for_each(|job| self.workshop.news.read_anew(*job));
        let deeds = self.book.obey(response.actions, wall_ms());
        // What was told of maps may have made news.
        self.workshop.news.look();
        self.do_all(deeds);
    }

    fn do_all(&mut self, deeds: Vec<Deed>) {
        for deed in deeds {
            match deed {
                Deed::Start { task, handle, launch } => {
                    let attempt = task.status.attempt;
                    if let Err(error) = self.workshop.start(task, handle, launch) {
                        let ending = Ending::Failed(format!("the system gives no thread: {error}"));
                        // The next heartbeat tells it; nothing can be started in its place now.
                        drop(self.book.take_event(attempt, launch, AttemptEvent::Ended(ending), wall_ms()));
                    }
                }
                Deed::ForgetOutput(attempt) => remove_aside(self.workshop.jobs.forget_output(attempt)),
                Deed::ForgetJob(job) => {
                    self.workshop.news.forget(job);
                    remove_aside(self.workshop.jobs.forget(job));
                }
                Deed::ForgetAll => {
                    tracing::warn!("the JobTracker does not know this tracker: it ends everything and registers anew");
                    self.initial_contact = true;
                    self.workshop.news.forget_all();
                    remove_aside(self.workshop.jobs.forget_all());
                }
            }
        }
    }

    /// Ends all attempts and waits until their processes are gone, at most for `patience`.
    pub async fn end(&mut self, patience: Duration) {
        self.book.kill_all();
        let all_gone = async {
            while self.book.started() > 0 {
                let Some((attempt, launch, event)) = self.events.recv().await else { return };
                // Nothing waits for a slot any more.
                drop(self.book.take_event(attempt, launch, event, wall_ms()));
                self.book.kill_all();
            }
        };
        if tokio::time::timeout(patience, all_gone).await.is_err() {
            tracing::warn!("{} attempts did not end in time", self.book.started());
        }
    }
}

/// Removes files on another thread: heartbeats do not wait for a disk.
fn remove_aside(files: impl Send + 'static) {
    // Without a thread they go here.
    let _ = std::thread::Builder::new().name("removal".to_owned()).spawn(move || drop(files));
}

fn resources(room_bytes: Option<u64>) -> ResourceStatus {
    ResourceStatus::of_space(room_bytes.map_or(i64::MAX, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX)))
}

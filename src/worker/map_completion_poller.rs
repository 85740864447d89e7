//! Polls the JobTracker for completion events and delivers them to the reduces of this machine, job by job (1.2.1
//! `TaskTracker.MapEventsFetcherThread`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use crate::config::HostPort;
use crate::ipc::client::{IpcClient, IpcError};
use crate::model::JobId;
use crate::streaming::shuffle::copy_phase::MapCompletionFeed;
use crate::streaming::shuffle::fetch_schedule::MapEvent;
use crate::wire::protocol::{Call, InterTrackerCall, Protocol, Value};
use crate::wire::{CompletionStatus, Phase, TaskCompletionEvent};

use super::attempt_handle::AttemptHandle;

/// Events per call, as stock trackers request.
const MAX_EVENTS_PER_CALL: i32 = 500;
/// Between two calls for a job without a wake-up.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// After a failed call.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The jobs whose completion events reduces wait for.
#[derive(Debug, Default)]
pub(crate) struct MapCompletionPoller {
    jobs: Mutex<BTreeMap<JobId, PolledJob>>,
    woken: Notify,
}

#[derive(Debug, Default)]
struct PolledJob {
    /// Events of all kinds received so far.
    received: i32,
    /// Events of maps, for reduces that start later.
    events: Vec<MapEvent>,
    subscribers: Vec<(Weak<MapCompletionFeed>, Arc<AttemptHandle>)>,
}

impl MapCompletionPoller {
    fn jobs(&self) -> MutexGuard<'_, BTreeMap<JobId, PolledJob>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes a new reduce to the completion events of its job's maps.
    pub(crate) fn subscribe(&self, job: JobId, reduce: Arc<AttemptHandle>) -> Arc<MapCompletionFeed> {
        let feed = Arc::new(MapCompletionFeed::default());
        let mut jobs = self.jobs();
        let polled = jobs.entry(job).or_default();
        feed.push(polled.events.iter().cloned());
        polled.subscribers.push((Arc::downgrade(&feed), reduce));
        drop(jobs);
        self.wake();
        feed
    }

    /// Polls soon: there may be new events.
    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }

    /// Forgets a job that is over.
    pub(crate) fn forget(&self, job: JobId) {
        self.jobs().remove(&job);
    }

    /// Reads a job's events from the first one: a restarted JobTracker has a new list.
    pub(crate) fn restart_events(&self, job: JobId) {
        if let Some(polled) = self.jobs().get_mut(&job) {
            polled.received = 0;
            polled.events.clear();
        }
    }

    pub(crate) fn forget_all(&self) {
        self.jobs().clear();
    }

    /// Jobs with waiting reduces, with the number of events received so far.
    fn jobs_to_poll(&self) -> Vec<(JobId, i32)> {
        let mut jobs = self.jobs();
        let copies = |reduce: &AttemptHandle| {
            let phase = reduce.progress().map_or(Phase::Starting, |progress| progress.status().0);
            matches!(phase, Phase::Starting | Phase::Shuffle)
        };
        for polled in jobs.values_mut() {
            polled.subscribers.retain(|(feed, reduce)| feed.strong_count() > 0 && copies(reduce));
        }
        let waited = jobs.iter().filter(|(_, polled)| !polled.subscribers.is_empty());
        waited.map(|(job, polled)| (*job, polled.received)).collect()
    }

    fn deliver(&self, job: JobId, from: i32, events: Vec<TaskCompletionEvent>) {
        let mut jobs = self.jobs();
        let Some(polled) = jobs.get_mut(&job).filter(|polled| polled.received == from) else { return };
        polled.received = from.saturating_add(i32::try_from(events.len()).unwrap_or(i32::MAX));
        let events: Vec<MapEvent> = events.into_iter().filter(|event| event.is_map).map(map_event).collect();
        for feed in polled.subscribers.iter().filter_map(|(feed, _)| feed.upgrade()) {
            feed.push(events.iter().cloned());
        }
        polled.events.extend(events);
    }

    /// Polls the JobTracker, without end.
    pub(crate) async fn run(&self, jobtracker: &HostPort, user: &str) {
        let mut connection: Option<IpcClient> = None;
        loop {
            let waited = self.jobs_to_poll();
            if waited.is_empty() {
                self.woken.notified().await;
                continue;
            }
            let mut pause = POLL_INTERVAL;
            for (job, from) in waited {
                match fetch_events(&mut connection, jobtracker, user, job, from).await {
                    Ok(events) => {
                        if events.len() >= MAX_EVENTS_PER_CALL as usize {
                            pause = Duration::ZERO;
                        }
                        self.deliver(job, from, events);
                    }
                    Err(error) => {
                        if !matches!(error, IpcError::Remote { fatal: false, .. }) {
                            connection = None;
                        }
                        tracing::info!("completion events of {job}: {error}");
                        pause = RETRY_INTERVAL;
                    }
                }
            }
            // After an error too: a wake-up does not mean that the JobTracker is back.
            let _ = tokio::time::timeout(pause, self.woken.notified()).await;
        }
    }
}

async fn fetch_events(
    connection: &mut Option<IpcClient>,
    jobtracker: &HostPort,
    user: &str,
    job: JobId,
    from: i32,
) -> Result<Vec<TaskCompletionEvent>, IpcError> {
    let client = match connection {
        Some(client) => client,
        None => {
            let address = (jobtracker.host.as_str(), jobtracker.port);
            connection.insert(IpcClient::connect(address, Protocol::InterTracker, user).await?)
        }
    };
    let call = InterTrackerCall::GetTaskCompletionEvents { job: Some(job), from, max: MAX_EVENTS_PER_CALL };
    match client.call(&Call::InterTracker(call)).await? {
        Value::CompletionEvents(events) => Ok(events),
        _ => Ok(Vec::new()),
    }
}

fn map_event(event: TaskCompletionEvent) -> MapEvent {
    let attempt = event.attempt;
    match (event.status, event.tracker_http.0) {
        (CompletionStatus::Succeeded, Some(tracker)) => {
            MapEvent::Succeeded { attempt, tracker, run_ms: u64::try_from(event.run_time_ms).unwrap_or(0) }
        }
        (CompletionStatus::TipFailed, _) => MapEvent::GivenUp(attempt),
        _ => MapEvent::Obsolete(attempt),
    }
}

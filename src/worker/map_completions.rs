//! Completion events on their way from the JobTracker to the reduces of this machine, job by job (1.2.1
//! `TaskTracker.MapEventsFetcherThread`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use crate::config::HostPort;
use crate::ipc::client::{IpcClient, IpcError};
use crate::model::JobId;
use crate::streaming::shuffle::copy_phase::MapNews;
use crate::streaming::shuffle::fetch_schedule::MapEvent;
use crate::wire::protocol::{Call, InterTrackerCall, Protocol, Value};
use crate::wire::{CompletionStatus, Phase, TaskCompletionEvent};

use super::attempt_handle::AttemptHandle;

/// Events asked for at a time, as stock trackers do.
const EVENTS_AT_A_TIME: i32 = 500;
/// Between two questions about a job while nothing says that something has changed.
const PAUSE: Duration = Duration::from_millis(250);
/// After a question that was not answered.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);

/// Who waits for news of maps.
#[derive(Debug, Default)]
pub struct MapNewsDesk {
    jobs: Mutex<BTreeMap<JobId, Followed>>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Followed {
    /// Events of all kinds received so far.
    received: i32,
    /// What came of maps, for reduces that begin later.
    events: Vec<MapEvent>,
    readers: Vec<(Weak<MapNews>, Arc<AttemptHandle>)>,
}

// === impl MapNewsDesk ===

impl MapNewsDesk {
    fn jobs(&self) -> MutexGuard<'_, BTreeMap<JobId, Followed>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// News of a job's maps for a reduce that begins.
    pub fn follow(&self, job: JobId, reduce: Arc<AttemptHandle>) -> Arc<MapNews> {
        let news = Arc::new(MapNews::default());
        let mut jobs = self.jobs();
        let followed = jobs.entry(job).or_default();
        news.push(followed.events.iter().cloned());
        followed.readers.push((Arc::downgrade(&news), reduce));
        drop(jobs);
        self.look();
        news
    }

    /// Something may have changed.
    pub fn look(&self) {
        self.wake.notify_one();
    }

    /// A job is over.
    pub fn forget(&self, job: JobId) {
        self.jobs().remove(&job);
    }

    /// The list of a job's events is another one from now on: it is read from its beginning.
    pub fn read_anew(&self, job: JobId) {
        if let Some(followed) = self.jobs().get_mut(&job) {
            followed.received = 0;
            followed.events.clear();
        }
    }

    /// All are.
    pub fn forget_all(&self) {
        self.jobs().clear();
    }

    /// Jobs that somebody waits for, with the number of their events received so far.
    fn waited_for(&self) -> Vec<(JobId, i32)> {
        let mut jobs = self.jobs();
        let copies = |reduce: &AttemptHandle| {
            let phase = reduce.progress().map_or(Phase::Starting, |progress| progress.told().0);
            matches!(phase, Phase::Starting | Phase::Shuffle)
        };
        for followed in jobs.values_mut() {
            followed.readers.retain(|(news, reduce)| news.strong_count() > 0 && copies(reduce));
        }
        let waited = jobs.iter().filter(|(_, followed)| !followed.readers.is_empty());
        waited.map(|(job, followed)| (*job, followed.received)).collect()
    }

    fn take(&self, job: JobId, from: i32, events: Vec<TaskCompletionEvent>) {
        let mut jobs = self.jobs();
        let Some(followed) = jobs.get_mut(&job).filter(|followed| followed.received == from) else { return };
        followed.received = from.saturating_add(i32::try_from(events.len()).unwrap_or(i32::MAX));
        let events: Vec<MapEvent> = events.into_iter().filter(|event| event.is_map).map(map_event).collect();
        for news in followed.readers.iter().filter_map(|(news, _)| news.upgrade()) {
            news.push(events.iter().cloned());
        }
        followed.events.extend(events);
    }

    /// Asks the JobTracker for ever.
    pub async fn serve(&self, jobtracker: &HostPort, user: &str) {
        let mut connection: Option<IpcClient> = None;
        loop {
            let waited = self.waited_for();
            if waited.is_empty() {
                self.wake.notified().await;
                continue;
            }
            let mut pause = PAUSE;
            for (job, from) in waited {
                match ask(&mut connection, jobtracker, user, job, from).await {
                    Ok(events) => {
                        if events.len() >= EVENTS_AT_A_TIME as usize {
                            pause = Duration::ZERO;
                        }
                        self.take(job, from, events);
                    }
                    Err(error) => {
                        if !matches!(error, IpcError::Remote { fatal: false, .. }) {
                            connection = None;
                        }
                        tracing::info!("completion events of {job}: {error}");
                        pause = PAUSE_AFTER_ERROR;
                    }
                }
            }
            // Errors: whoever says that something has changed cannot know that the JobTracker is there again.
            let _ = tokio::time::timeout(pause, self.wake.notified()).await;
        }
    }
}

async fn ask(
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
    let call = InterTrackerCall::GetTaskCompletionEvents { job: Some(job), from, max: EVENTS_AT_A_TIME };
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

//! The copy phase of one reduce: threads fetch the outputs of all maps by the schedule until all are in.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::failure::TaskFailure;
use super::super::progress::Progress;
use super::copied_outputs::{BufferError, CopiedOutputs};
use super::fetch::{FetchError, FetchMapOutput};
use super::fetch_schedule::{FetchDecision, FetchSchedule, MapEvent, ScheduleRules};
use super::host_queues::FetchOrder;

/// Longest wait without a record of activity.
const ACTIVITY_INTERVAL: Duration = Duration::from_secs(1);

/// Completion events of maps on their way from the JobTracker to one reduce: the tracker pushes, the reduce takes.
#[derive(Debug, Default)]
pub(crate) struct MapCompletionFeed {
    events: Mutex<Vec<MapEvent>>,
    changed: Condvar,
}

struct CopyPhase<'a> {
    reduce: u32,
    fetcher: &'a dyn FetchMapOutput,
    copied: &'a CopiedOutputs<'a>,
    feed: &'a MapCompletionFeed,
    progress: &'a Progress,
    maps: u32,
    start: Instant,
    state: Mutex<CopyState>,
    changed: Condvar,
}

struct CopyState {
    schedule: FetchSchedule,
    copied_bytes: u64,
    failure: Option<TaskFailure>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MapCompletionFeed {
    /// Appends events, in the order of the job's completion events.
    pub(crate) fn push(&self, events: impl IntoIterator<Item = MapEvent>) {
        locked(&self.events).extend(events);
        self.changed.notify_all();
    }

    /// Takes the events since the last call; waits at most `time` for one.
    pub(crate) fn take(&self, time: Duration) -> Vec<MapEvent> {
        let mut events = locked(&self.events);
        if events.is_empty() {
            (events, _) = self.changed.wait_timeout(events, time).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut *events)
    }

    /// Ends a wait without events.
    fn wake(&self) {
        // Under the lock, so that it cannot fall between a check and a wait.
        let _events = locked(&self.events);
        self.changed.notify_all();
    }
}

/// Fetches the outputs of all maps for one reduce. Errors: [`TaskFailure::Shuffle`] when too many fetches failed; those of storing outputs.
#[expect(clippy::disallowed_methods, reason = "waits after failures are about the clock of the machine")]
pub(crate) fn copy_map_outputs(
    rules: ScheduleRules,
    parallel_copies: usize,
    feed: &MapCompletionFeed,
    fetcher: &dyn FetchMapOutput,
    copied: &CopiedOutputs<'_>,
    progress: &Progress,
) -> Result<(), TaskFailure> {
    let state = CopyState { schedule: FetchSchedule::new(rules, 0), copied_bytes: 0, failure: None };
    let phase = CopyPhase {
        reduce: rules.seed,
        fetcher,
        copied,
        feed,
        progress,
        maps: rules.maps,
        start: Instant::now(),
        state: Mutex::new(state),
        changed: Condvar::new(),
    };
    let threads = parallel_copies.clamp(1, rules.maps.max(1) as usize);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| phase.fetch_outputs());
        }
        phase.apply_events();
    });
    let state = phase.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    progress.check()?;
    state.failure.map_or(Ok(()), Err)
}

impl CopyPhase<'_> {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_finished(&self, state: &CopyState) -> bool {
        state.schedule.is_complete() || state.failure.is_some() || self.progress.is_stopped()
    }

    /// Applies events until all outputs are in.
    fn apply_events(&self) {
        self.report_progress(&locked(&self.state));
        loop {
            // Waiting for maps is activity.
            self.progress.record_activity();
            let events = self.feed.take(ACTIVITY_INTERVAL);
            let mut state = locked(&self.state);
            events.into_iter().for_each(|event| state.schedule.apply_event(event));
            self.changed.notify_all();
            if self.is_finished(&state) {
                return;
            }
        }
    }

    /// Fetches until all outputs are in.
    fn fetch_outputs(&self) {
        loop {
            let Some(order) = self.next_fetch() else {
                self.feed.wake();
                return;
            };
            let segment = self
                .fetcher
                .fetch(&order, self.reduce)
                .map_err(BufferError::Fetch)
                .and_then(|fetched| self.copied.buffer(fetched));
            let mut state = locked(&self.state);
            match segment {
                Ok(segment) if state.schedule.on_fetched(&order, self.now_ms()) => {
                    state.copied_bytes += segment.stored_bytes();
                    self.report_progress(&state);
                    drop(state);
                    if let Err(failure) = self.copied.add(segment) {
                        locked(&self.state).failure.get_or_insert(failure);
                    }
                }
                Ok(segment) => self.copied.discard(segment),
                Err(BufferError::Failed(failure)) => drop(state.failure.get_or_insert(failure)),
                Err(BufferError::Fetch(error)) => self.on_fetch_failed(&mut state, order, &error),
            }
            self.changed.notify_all();
        }
    }

    fn on_fetch_failed(&self, state: &mut CopyState, order: FetchOrder, error: &FetchError) {
        let map = order.attempt;
        if error.is_shortage() {
            state.failure.get_or_insert(TaskFailure::Short(format!("the output of {map}: {error}")));
            return;
        }
        tracing::info!("{}: {map} from {}: {error}", self.progress.attempt(), order.tracker);
        let response = state.schedule.on_fetch_failed(order, error.fault(), self.now_ms());
        if response.is_reported {
            self.progress.report_failed_fetch(map);
        }
        if let Some(reason) = response.give_up_reason {
            state.failure.get_or_insert(TaskFailure::Shuffle { reason });
        }
    }

    /// Waits for the next fetch; `None` when the phase is over.
    fn next_fetch(&self) -> Option<FetchOrder> {
        let mut state = locked(&self.state);
        loop {
            if self.is_finished(&state) {
                return None;
            }
            let now_ms = self.now_ms();
            let wait = match state.schedule.next_fetch(now_ms) {
                FetchDecision::Fetch(order) => return Some(order),
                FetchDecision::Complete => return None,
                FetchDecision::Wait => ACTIVITY_INTERVAL,
                FetchDecision::WaitUntil(time_ms) => {
                    Duration::from_millis(time_ms.saturating_sub(now_ms)).min(ACTIVITY_INTERVAL)
                }
            };
            (state, _) = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn report_progress(&self, state: &CopyState) {
        let done = state.schedule.done();
        self.progress.set_done_thousandths((done as u64 * 333).checked_div(u64::from(self.maps)).unwrap_or(333));
        let seconds = self.start.elapsed().as_secs_f64().max(0.001);
        let speed = state.copied_bytes as f64 / f64::from(1 << 20) / seconds;
        let end = if state.schedule.is_complete() { "" } else { " > " };
        self.progress.set_status(|| format!("reduce > copy ({done} of {} at {speed:.2} MB/s){end}", self.maps));
    }
}

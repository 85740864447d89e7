//! All outputs of a job's maps for one reduce: some threads that fetch, by the rules of the schedule, until everything is in.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::failure::TaskFailure;
use super::super::progress::Progress;
use super::copied_outputs::{CopiedOutputs, HoldError};
use super::fetch_schedule::{FetchOrder, MapEvent, Next, Schedule, ScheduleRules};
use super::http::{FetchError, FetchMapOutput};

/// How often who waits shows that it lives.
const LOOK: Duration = Duration::from_secs(1);

/// News of maps on their way from the JobTracker to one reduce. Whoever hears of completion events pushes them.
#[derive(Debug, Default)]
pub struct MapNews {
    news: Mutex<Vec<MapEvent>>,
    changed: Condvar,
}

/// What the threads of one reduce share.
struct Copying<'a> {
    reduce: u32,
    fetcher: &'a dyn FetchMapOutput,
    copied: &'a CopiedOutputs<'a>,
    news: &'a MapNews,
    progress: &'a Progress,
    maps: u32,
    begun: Instant,
    state: Mutex<CopyState>,
    changed: Condvar,
}

struct CopyState {
    schedule: Schedule,
    copied_bytes: u64,
    failure: Option<TaskFailure>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl MapNews ===

impl MapNews {
    /// Tells of maps, in the order of the job's completion events.
    pub fn push(&self, events: impl IntoIterator<Item = MapEvent>) {
        locked(&self.news).extend(events);
        self.changed.notify_all();
    }

    /// What came since the last call; waits at most `time` for something.
    fn take(&self, time: Duration) -> Vec<MapEvent> {
        let mut news = locked(&self.news);
        if news.is_empty() {
            (news, _) = self.changed.wait_timeout(news, time).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut *news)
    }

    /// Ends a wait without news.
    fn wake(&self) {
        // Under the lock, so that it cannot fall between a look and a wait.
        let _news = locked(&self.news);
        self.changed.notify_all();
    }
}

/// Fetches the output of all maps for the reduce of this index.
///
/// # Errors
/// [`TaskFailure::Shuffle`] when too much failed; those of holding what came.
#[expect(clippy::disallowed_methods, reason = "waits after failures are about the clock of the machine")]
pub fn copy(
    rules: ScheduleRules,
    parallel_copies: usize,
    news: &MapNews,
    fetcher: &dyn FetchMapOutput,
    copied: &CopiedOutputs<'_>,
    progress: &Progress,
) -> Result<(), TaskFailure> {
    let state = CopyState { schedule: Schedule::new(rules, 0), copied_bytes: 0, failure: None };
    let copying = Copying {
        reduce: rules.seed,
        fetcher,
        copied,
        news,
        progress,
        maps: rules.maps,
        begun: Instant::now(),
        state: Mutex::new(state),
        changed: Condvar::new(),
    };
    let threads = parallel_copies.clamp(1, rules.maps.max(1) as usize);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| copying.serve());
        }
        copying.listen();
    });
    let state = copying.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    progress.check()?;
    state.failure.map_or(Ok(()), Err)
}

// === impl Copying ===

impl Copying<'_> {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_over(&self, state: &CopyState) -> bool {
        state.schedule.is_complete() || state.failure.is_some() || self.progress.is_stopped()
    }

    /// Passes news on until all is in.
    fn listen(&self) {
        self.tell(&locked(&self.state));
        loop {
            // Who waits for maps lives.
            self.progress.note_life();
            let events = self.news.take(LOOK);
            let mut state = locked(&self.state);
            events.into_iter().for_each(|event| state.schedule.take(event));
            self.changed.notify_all();
            if self.is_over(&state) {
                return;
            }
        }
    }

    /// Fetches until all is in.
    fn serve(&self) {
        loop {
            let Some(order) = self.next_order() else {
                self.news.wake();
                return;
            };
            let held = self
                .fetcher
                .fetch(&order, self.reduce)
                .map_err(HoldError::Fetch)
                .and_then(|fetched| self.copied.hold(fetched));
            let mut state = locked(&self.state);
            match held {
                Ok(held) if state.schedule.fetched(&order, self.now_ms()) => {
                    state.copied_bytes += held.stored_bytes();
                    self.tell(&state);
                    drop(state);
                    if let Err(failure) = self.copied.add(held) {
                        locked(&self.state).failure.get_or_insert(failure);
                    }
                }
                Ok(held) => self.copied.discard(held),
                Err(HoldError::Failed(failure)) => drop(state.failure.get_or_insert(failure)),
                Err(HoldError::Fetch(error)) => self.note_fault(&mut state, order, &error),
            }
            self.changed.notify_all();
        }
    }

    fn note_fault(&self, state: &mut CopyState, order: FetchOrder, error: &FetchError) {
        tracing::info!("{}: {} from {}: {error}", self.progress.attempt(), order.attempt, order.tracker);
        let map = order.attempt;
        let verdict = state.schedule.failed(order, error.fault(), self.now_ms());
        if verdict.reports {
            self.progress.add_failed_fetch(map);
        }
        if let Some(reason) = verdict.gives_up {
            state.failure.get_or_insert(TaskFailure::Shuffle { reason });
        }
    }

    /// Waits for something to fetch; `None` when nothing will come any more.
    fn next_order(&self) -> Option<FetchOrder> {
        let mut state = locked(&self.state);
        loop {
            if self.is_over(&state) {
                return None;
            }
            let now_ms = self.now_ms();
            let wait = match state.schedule.next(now_ms) {
                Next::Fetch(order) => return Some(order),
                Next::Complete => return None,
                Next::Wait => LOOK,
                Next::WaitUntil(time_ms) => Duration::from_millis(time_ms.saturating_sub(now_ms)).min(LOOK),
            };
            (state, _) = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn tell(&self, state: &CopyState) {
        let done = state.schedule.done();
        self.progress.set_done((done as u64 * 333).checked_div(u64::from(self.maps)).unwrap_or(333));
        let seconds = self.begun.elapsed().as_secs_f64().max(0.001);
        let speed = state.copied_bytes as f64 / f64::from(1 << 20) / seconds;
        let end = if state.schedule.is_complete() { "" } else { " > " };
        self.progress.tell(|| format!("reduce > copy ({done} of {} at {speed:.2} MB/s){end}", self.maps));
    }
}

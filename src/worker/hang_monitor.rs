//! Attempts whose files hang: a file system that does not answer may block a thread, but neither a slot nor the time limit of the attempt.
//! A stopped attempt whose thread does not return in time is reported without it. The thread stays until the file system answers; it then
//! finds its attempt ended.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use crate::model::AttemptId;
use crate::supervisor::process_tree::kill_processes_in;

use super::attempt_handle::AttemptHandle;
use super::attempt_logs::AttemptLogs;
use super::attempt_table::{AttemptEvent, AttemptMessage};
use super::tracked_attempt::AttemptOutcome;

const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Time for the thread of a stopped attempt to return, beside the time between two signals to its command.
const GRACE: Duration = Duration::from_secs(10);
/// Longest time between two signals that counts here.
const MAX_KILL_DELAY: Duration = Duration::from_secs(60);
/// Most abandoned threads: beyond it an attempt keeps its slot.
const MAX_ABANDONED: usize = 64;

#[derive(Debug)]
pub(crate) struct HangMonitor {
    logs: AttemptLogs,
    attempts: Mutex<Vec<MonitoredAttempt>>,
    /// Abandoned threads that have not returned.
    abandoned: AtomicUsize,
}

#[derive(Debug)]
struct MonitoredAttempt {
    attempt: AttemptId,
    launch: u64,
    handle: Arc<AttemptHandle>,
    /// When it was first seen stopped.
    ends_since: Option<Instant>,
}

impl HangMonitor {
    /// Monitors no attempts yet; the reason for abandoning an attempt goes into its log too.
    pub(crate) fn new(logs: AttemptLogs) -> Self {
        Self { logs, attempts: Mutex::default(), abandoned: AtomicUsize::new(0) }
    }

    /// Monitors an attempt until its end is reported.
    pub(crate) fn add(&self, attempt: AttemptId, launch: u64, handle: &Arc<AttemptHandle>) {
        let monitored = MonitoredAttempt { attempt, launch, handle: handle.clone(), ends_since: None };
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).push(monitored);
    }

    /// Records the return of an abandoned thread.
    pub(crate) fn on_thread_returned(&self, attempt: AttemptId) {
        self.abandoned.fetch_sub(1, Ordering::SeqCst);
        tracing::info!("{attempt}: its files answer again; its thread has ended");
    }

    /// Reports the ends of attempts whose threads do not return.
    fn check_attempts(&self, now: Instant, events: &UnboundedSender<AttemptMessage>) {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.retain(|monitored| !monitored.handle.has_ended());
        for monitored in attempts.iter_mut() {
            monitored.handle.expire_step(now);
            if !monitored.handle.is_ending() {
                continue;
            }
            let ends_since = *monitored.ends_since.get_or_insert(now);
            let timeout = monitored.handle.kill_delay().min(MAX_KILL_DELAY) + GRACE;
            let may_abandon = self.abandoned.load(Ordering::SeqCst) < MAX_ABANDONED;
            if now.duration_since(ends_since) > timeout && may_abandon && monitored.handle.abandon() {
                self.abandoned.fetch_add(1, Ordering::SeqCst);
                // The receiver is gone when the tracker ends.
                let _ = events.send((
                    monitored.attempt,
                    monitored.launch,
                    AttemptEvent::Ended(monitored.outcome(&self.logs)),
                ));
            }
        }
    }

    /// Checks at intervals, without end.
    pub(crate) async fn run(&self, events: UnboundedSender<AttemptMessage>) {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            self.check_attempts(Instant::now(), &events);
        }
    }
}

impl MonitoredAttempt {
    fn outcome(&self, logs: &AttemptLogs) -> AttemptOutcome {
        let attempt = self.attempt;
        let text = format!("{}. A file that it uses hangs; its thread was abandoned", self.handle.end_reason(attempt));
        tracing::warn!("{attempt}: {text}");
        let (logs, logged, folder) = (logs.clone(), text.clone(), self.handle.folder().cloned());
        // The work of its thread. Each takes time, and logs may hang too: neither waits for the other.
        let _ = std::thread::Builder::new().spawn(move || logs.append_to_syslog(attempt, &logged));
        let _ = std::thread::Builder::new().spawn(move || folder.map(|folder| kill_processes_in(&folder)));
        if self.handle.is_killed() { AttemptOutcome::Killed(text) } else { AttemptOutcome::Failed(text) }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(600);

    fn monitor() -> (tempfile::TempDir, HangMonitor) {
        let scratch = tempfile::tempdir().unwrap();
        let logs = AttemptLogs { folder: scratch.path().to_owned(), limit_bytes: None, retain: Duration::ZERO };
        (scratch, HangMonitor::new(logs))
    }

    fn attempt(number: usize) -> AttemptId {
        format!("attempt_202611211027_0016_m_{number:06}_0").parse().unwrap()
    }

    #[test]
    fn an_attempt_whose_file_hangs_ends_without_its_thread() {
        let ((_scratch, monitor), (events, mut messages)) = (monitor(), unbounded_channel());
        let (hangs, works) = (Arc::<AttemptHandle>::default(), Arc::<AttemptHandle>::default());
        let (answer, file) = std::sync::mpsc::channel::<()>();
        monitor.add(attempt(0), 7, &hangs);
        monitor.add(attempt(1), 8, &works);
        std::thread::scope(|scope| {
            let (begun, has_begun) = std::sync::mpsc::channel();
            let hanging = hangs.clone();
            let thread = scope.spawn(move || {
                hanging.with_time_limit(Some(LIMIT), || {
                    begun.send(()).unwrap();
                    file.recv()
                })
            });
            has_begun.recv().unwrap();
            let start = Instant::now();
            monitor.check_attempts(start + LIMIT - Duration::from_secs(1), &events);
            assert!(!hangs.is_ending());
            let late = start + LIMIT + Duration::from_secs(1);
            monitor.check_attempts(late, &events);
            assert!(hangs.is_ending() && messages.try_recv().is_err());
            monitor.check_attempts(late + GRACE + Duration::from_secs(1), &events);
            let (whose, launch, AttemptEvent::Ended(AttemptOutcome::Failed(text))) = messages.try_recv().unwrap()
            else {
                panic!("not failed")
            };
            assert_eq!((whose, launch), (attempt(0), 7));
            assert!(text.contains("failed to report status for 600 seconds") && text.contains("hangs"), "{text}");
            drop(answer);
            assert!(thread.join().unwrap().is_err());
        });
        // Its own thread has nothing left to report.
        assert!(!hangs.claim_end() && hangs.is_abandoned() && !works.is_ending());
        assert!(messages.try_recv().is_err());
    }

    #[test]
    fn the_number_of_abandoned_threads_is_limited() {
        let ((_scratch, monitor), (events, mut messages)) = (monitor(), unbounded_channel());
        let handles: Vec<_> = (0..MAX_ABANDONED + 1).map(|_| Arc::<AttemptHandle>::default()).collect();
        for (number, handle) in handles.iter().enumerate() {
            monitor.add(attempt(number), 1, handle);
            handle.kill();
        }
        let start = Instant::now();
        monitor.check_attempts(start, &events);
        monitor.check_attempts(start + GRACE + Duration::from_secs(1), &events);
        let ended = std::iter::from_fn(|| messages.try_recv().ok()).count();
        assert_eq!(ended, MAX_ABANDONED);
        monitor.on_thread_returned(attempt(0));
        monitor.check_attempts(start + GRACE + Duration::from_secs(2), &events);
        assert!(matches!(messages.try_recv().unwrap().2, AttemptEvent::Ended(AttemptOutcome::Killed(_))));
    }
}

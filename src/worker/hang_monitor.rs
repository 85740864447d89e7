//! Attempts whose files hang: a file system that does not answer holds a thread for as long as it likes, but neither a slot nor the
//! time limit of the attempt.
//!
//! An attempt that is to end and whose thread does not come back in time is reported without it. The thread stays until the file system
//! answers; it then finds its attempt ended.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use crate::model::AttemptId;
use crate::supervisor::process_tree::kill_workers_in;

use super::attempt_handle::AttemptHandle;
use super::attempt_logs::AttemptLogs;
use super::attempt_table::{AttemptEvent, Told};
use super::tracked_attempt::Ending;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// A thread that is to end has so long, beside the time between two signals to its command.
const GRACE: Duration = Duration::from_secs(10);
/// No job gives its commands more time between two signals here.
const MAX_KILL_DELAY: Duration = Duration::from_secs(60);
/// More threads are not left behind: then an attempt keeps its slot.
const MAX_ABANDONED: usize = 64;

/// The attempts that are looked at.
#[derive(Debug)]
pub struct HangWatch {
    logs: AttemptLogs,
    attempts: Mutex<Vec<Watched>>,
    /// Threads that were left behind and have not come back.
    abandoned: AtomicUsize,
}

#[derive(Debug)]
struct Watched {
    attempt: AttemptId,
    launch: u64,
    handle: Arc<AttemptHandle>,
    /// When it was first seen that it is to end.
    ends_since: Option<Instant>,
}

// === impl HangWatch ===

impl HangWatch {
    /// Of no attempts yet; why an attempt was left behind goes into its log too.
    pub fn new(logs: AttemptLogs) -> Self {
        Self { logs, attempts: Mutex::default(), abandoned: AtomicUsize::new(0) }
    }

    /// From now on an attempt is looked at, until its end is told.
    pub fn add(&self, attempt: AttemptId, launch: u64, handle: &Arc<AttemptHandle>) {
        let watched = Watched { attempt, launch, handle: handle.clone(), ends_since: None };
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
    }

    /// A thread that was left behind has come back.
    pub fn note_return(&self, attempt: AttemptId) {
        self.abandoned.fetch_sub(1, Ordering::SeqCst);
        tracing::info!("{attempt}: its files answer again; its thread has ended");
    }

    /// Tells the ends of attempts whose threads do not come back.
    fn look(&self, now: Instant, events: &UnboundedSender<Told>) {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.retain(|watched| !watched.handle.has_ended());
        for watched in attempts.iter_mut() {
            watched.handle.look_at_step(now);
            if !watched.handle.is_to_end() {
                continue;
            }
            let ends_since = *watched.ends_since.get_or_insert(now);
            let patience = watched.handle.kill_delay().min(MAX_KILL_DELAY) + GRACE;
            let may_abandon = self.abandoned.load(Ordering::SeqCst) < MAX_ABANDONED;
            if now.duration_since(ends_since) > patience && may_abandon && watched.handle.abandon() {
                self.abandoned.fetch_add(1, Ordering::SeqCst);
                // Nobody listens any more when the tracker ends.
                let _ = events.send((watched.attempt, watched.launch, AttemptEvent::Ended(watched.ending(&self.logs))));
            }
        }
    }

    /// Looks for ever.
    pub async fn serve(&self, events: UnboundedSender<Told>) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.look(Instant::now(), &events);
        }
    }
}

// === impl Watched ===

impl Watched {
    fn ending(&self, logs: &AttemptLogs) -> Ending {
        let attempt = self.attempt;
        let words = format!("{}. A file that it uses hangs; its thread was left behind", self.handle.reason(attempt));
        tracing::warn!("{attempt}: {words}");
        let (logs, noted, folder) = (logs.clone(), words.clone(), self.handle.folder().cloned());
        // What its thread would have done. Both take time, and logs may hang too.
        let _ = std::thread::Builder::new().spawn(move || {
            folder.map(|folder| kill_workers_in(&folder));
            logs.note(attempt, &noted);
        });
        if self.handle.is_killed() { Ending::Killed(words) } else { Ending::Failed(words) }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(600);

    fn watch() -> (tempfile::TempDir, HangWatch) {
        let scratch = tempfile::tempdir().unwrap();
        let logs = AttemptLogs { folder: scratch.path().to_owned(), limit_bytes: None, retain: Duration::ZERO };
        (scratch, HangWatch::new(logs))
    }

    fn attempt(number: usize) -> AttemptId {
        format!("attempt_202611211027_0016_m_{number:06}_0").parse().unwrap()
    }

    #[test]
    fn an_attempt_whose_file_hangs_ends_without_its_thread() {
        let ((_scratch, watch), (events, mut told)) = (watch(), unbounded_channel());
        let (hangs, works) = (Arc::<AttemptHandle>::default(), Arc::<AttemptHandle>::default());
        let (answer, file) = std::sync::mpsc::channel::<()>();
        watch.add(attempt(0), 7, &hangs);
        watch.add(attempt(1), 8, &works);
        std::thread::scope(|scope| {
            let (begun, has_begun) = std::sync::mpsc::channel();
            let hanging = hangs.clone();
            let thread = scope.spawn(move || {
                hanging.within(Some(LIMIT), || {
                    begun.send(()).unwrap();
                    file.recv()
                })
            });
            has_begun.recv().unwrap();
            let start = Instant::now();
            watch.look(start + LIMIT - Duration::from_secs(1), &events);
            assert!(!hangs.is_to_end());
            let late = start + LIMIT + Duration::from_secs(1);
            watch.look(late, &events);
            assert!(hangs.is_to_end() && told.try_recv().is_err());
            watch.look(late + GRACE + Duration::from_secs(1), &events);
            let (whose, launch, AttemptEvent::Ended(Ending::Failed(words))) = told.try_recv().unwrap() else {
                panic!("not failed")
            };
            assert_eq!((whose, launch), (attempt(0), 7));
            assert!(words.contains("failed to report status for 600 seconds") && words.contains("hangs"), "{words}");
            drop(answer);
            assert!(thread.join().unwrap().is_err());
        });
        // Its own thread has nothing to tell any more.
        assert!(!hangs.end() && hangs.is_abandoned() && !works.is_to_end());
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn so_many_threads_and_no_more_are_left_behind() {
        let ((_scratch, watch), (events, mut told)) = (watch(), unbounded_channel());
        let handles: Vec<_> = (0..MAX_ABANDONED + 1).map(|_| Arc::<AttemptHandle>::default()).collect();
        for (number, handle) in handles.iter().enumerate() {
            watch.add(attempt(number), 1, handle);
            handle.kill();
        }
        let start = Instant::now();
        watch.look(start, &events);
        watch.look(start + GRACE + Duration::from_secs(1), &events);
        let ended = std::iter::from_fn(|| told.try_recv().ok()).count();
        assert_eq!(ended, MAX_ABANDONED);
        watch.note_return(attempt(0));
        watch.look(start + GRACE + Duration::from_secs(2), &events);
        assert!(matches!(told.try_recv().unwrap().2, AttemptEvent::Ended(Ending::Killed(_))));
    }
}

//! What a running attempt tells, and how it is told to end: the one thing it shares with whoever speaks to the JobTracker.
//!
//! The attempt's threads write, the heartbeat reads whenever it likes; nobody calls back. An attempt that gives no sign of life for
//! its time limit is told to end as by a kill.

use std::io::{PipeReader, PipeWriter, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::AttemptId;
use crate::supervisor::process_tree::{CommandTree, MemoryUse, ProcessTable};
use crate::wire::Phase;

use super::counters::{Framework, TaskCounters, TooManyCounters};
use super::failure::{TaskFailure, TooMuchMemory};

/// Signs of life are looked for at least that often, when there is a time limit.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// Why an attempt is to end before its time.
#[derive(Debug)]
enum Stop {
    Kill,
    Timeout(Duration),
    TooManyCounters(TooManyCounters),
    TooMuchMemory(TooMuchMemory),
}

/// What is known of the memory of an attempt's processes.
#[derive(Debug, Default)]
struct Memory {
    trees: Vec<CommandTree>,
    /// Address space that they may take, bytes.
    limit_bytes: Option<u64>,
    /// They took more when they were looked at last.
    was_beyond: bool,
}

/// A command runs; until this goes, its processes count.
#[derive(Debug)]
pub struct Followed<'a> {
    progress: &'a Progress,
    tree: CommandTree,
}

/// What people and the JobTracker are told.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    phase: Phase,
    /// What the command says of itself wins over what the framework says.
    status: String,
    is_status_of_command: bool,
}

/// Shared by the threads of one attempt and the heartbeat.
#[derive(Debug)]
pub struct Progress {
    attempt: AttemptId,
    counters: TaskCounters,
    told: Mutex<Told>,
    done_thousandths: AtomicU64,
    lives: AtomicBool,
    time_limit: Option<Duration>,
    stop: Mutex<Option<Stop>>,
    stop_changed: Condvar,
    is_stopped: AtomicBool,
    /// Closed when the attempt is to end: who waits for a pipe waits for this one too.
    alarm: PipeReader,
    unless_alarmed: Mutex<Option<PipeWriter>>,
    failed_fetches: Mutex<Vec<AttemptId>>,
    memory: Mutex<Memory>,
    ended: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Progress ===

impl Progress {
    /// Of an attempt that has not begun.
    ///
    /// # Errors
    /// [`TaskFailure::Pipe`] when the system gives no pipe.
    pub fn new(attempt: AttemptId, phase: Phase, time_limit: Option<Duration>) -> Result<Self, TaskFailure> {
        let (alarm, unless_alarmed) = pipe().map_err(TaskFailure::Pipe)?;
        Ok(Self {
            attempt,
            counters: TaskCounters::default(),
            told: Mutex::new(Told { phase, status: "initializing".to_owned(), is_status_of_command: false }),
            done_thousandths: AtomicU64::new(0),
            lives: AtomicBool::new(true),
            time_limit,
            stop: Mutex::new(None),
            stop_changed: Condvar::new(),
            is_stopped: AtomicBool::new(false),
            alarm,
            unless_alarmed: Mutex::new(Some(unless_alarmed)),
            failed_fetches: Mutex::default(),
            memory: Mutex::default(),
            ended: AtomicBool::new(false),
        })
    }

    /// Which attempt it is.
    #[must_use]
    pub fn attempt(&self) -> AttemptId {
        self.attempt
    }

    /// What it counts.
    #[must_use]
    pub fn counters(&self) -> &TaskCounters {
        &self.counters
    }

    /// Its phase and what is shown of it.
    #[must_use]
    pub fn told(&self) -> (Phase, String) {
        let told = locked(&self.told);
        (told.phase, told.status.clone())
    }

    /// Share that is done, 0 to 1000.
    #[must_use]
    pub fn done_thousandths(&self) -> u64 {
        self.done_thousandths.load(Ordering::Relaxed)
    }

    /// Outputs of maps that could not be fetched since this was last asked: they go into the next heartbeat.
    #[must_use]
    pub fn take_failed_fetches(&self) -> Vec<AttemptId> {
        std::mem::take(&mut *locked(&self.failed_fetches))
    }

    /// Tells the attempt to end; [`TaskFailure::Killed`] comes of it.
    pub fn kill(&self) {
        self.stop(Stop::Kill);
    }

    /// Ends the attempt because work on a file took longer than this.
    pub(crate) fn time_out(&self, limit: Duration) {
        self.stop(Stop::Timeout(limit));
    }

    /// An output could not be fetched.
    pub fn add_failed_fetch(&self, map: AttemptId) {
        let mut failed = locked(&self.failed_fetches);
        if !failed.contains(&map) {
            failed.push(map);
        }
    }

    /// It did something.
    #[inline]
    pub(crate) fn note_life(&self) {
        if !self.lives.load(Ordering::Relaxed) {
            self.lives.store(true, Ordering::Relaxed);
        }
    }

    /// How much is done.
    pub fn set_done(&self, thousandths: u64) {
        self.note_life();
        self.done_thousandths.store(thousandths.min(1000), Ordering::Relaxed);
    }

    /// It goes into a phase.
    pub fn enter(&self, phase: Phase, status: &str) {
        self.note_life();
        *locked(&self.told) = Told { phase, status: status.to_owned(), is_status_of_command: false };
    }

    /// What the framework says of it.
    pub fn tell(&self, status: impl FnOnce() -> String) {
        let mut told = locked(&self.told);
        if !told.is_status_of_command {
            told.status = status();
        }
    }

    /// What the command says of itself.
    pub fn tell_for_command(&self, status: String) {
        self.note_life();
        let mut told = locked(&self.told);
        (told.status, told.is_status_of_command) = (status, true);
    }

    /// Ends the attempt because its command counts too many things.
    pub(crate) fn stop_counting(&self, too_many: TooManyCounters) {
        self.stop(Stop::TooManyCounters(too_many));
    }

    /// From now on its processes may take no more address space than this.
    pub fn limit_memory(&self, bytes: u64) {
        locked(&self.memory).limit_bytes = Some(bytes);
    }

    /// A command runs.
    pub(crate) fn follow(&self, tree: CommandTree) -> Followed<'_> {
        locked(&self.memory).trees.push(tree);
        Followed { progress: self, tree }
    }

    /// Counts the memory of its processes, and ends the attempt when they take more than twice what they may, or more than they may
    /// for the second time: one that starts another has its memory twice for a moment (1.2.1 `isProcessTreeOverLimit`).
    pub fn note_memory(&self, processes: &ProcessTable) {
        let mut memory = locked(&self.memory);
        let Some(first) = memory.trees.first().copied() else { return };
        let mut used = MemoryUse::default();
        for tree in &memory.trees {
            let of_tree = processes.memory_of(tree.root, tree.with_root);
            used.virtual_bytes += of_tree.virtual_bytes;
            used.physical_bytes += of_tree.physical_bytes;
        }
        if used == MemoryUse::default() {
            return;
        }
        self.counters.set(Framework::VirtualMemoryBytes, used.virtual_bytes);
        self.counters.set(Framework::PhysicalMemoryBytes, used.physical_bytes);
        let Some(limit_bytes) = memory.limit_bytes else { return };
        let is_beyond = used.virtual_bytes > limit_bytes;
        let was_beyond = std::mem::replace(&mut memory.was_beyond, is_beyond);
        drop(memory);
        if is_beyond && (was_beyond || used.virtual_bytes > limit_bytes.saturating_mul(2)) {
            let (attempt, pid, used_bytes) = (self.attempt, first.root, used.virtual_bytes);
            self.stop(Stop::TooMuchMemory(TooMuchMemory { attempt, pid, used_bytes, limit_bytes }));
        }
    }

    fn stop(&self, why: Stop) {
        let mut stop = locked(&self.stop);
        if stop.is_none() {
            *stop = Some(why);
        }
        self.is_stopped.store(true, Ordering::Release);
        drop(stop);
        // Closing it wakes whoever waits for the other end.
        locked(&self.unless_alarmed).take();
        self.stop_changed.notify_all();
    }

    /// Whether it is to end.
    #[inline]
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// # Errors
    /// The reason, when it is to end.
    #[inline]
    pub fn check(&self) -> Result<(), TaskFailure> {
        if self.is_stopped() { Err(self.reason()) } else { Ok(()) }
    }

    /// Why it is to end.
    #[must_use]
    pub fn reason(&self) -> TaskFailure {
        match &*locked(&self.stop) {
            Some(Stop::Timeout(limit)) => TaskFailure::TimedOut { attempt: self.attempt, seconds: limit.as_secs() },
            Some(Stop::TooManyCounters(too_many)) => too_many.clone().into(),
            Some(Stop::TooMuchMemory(too_much)) => (*too_much).into(),
            Some(Stop::Kill) | None => TaskFailure::Killed,
        }
    }

    /// Readable (hung up) once the attempt is to end.
    pub(crate) fn alarm(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }

    /// Waits, at most for `time`; `false` when the attempt is to end.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        let guard = locked(&self.stop);
        let (guard, _) = self
            .stop_changed
            .wait_timeout_while(guard, time, |stop| stop.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        guard.is_none()
    }

    /// Runs `work` under the time limit.
    pub fn watched<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(limit) = self.time_limit else { return work() };
        std::thread::scope(|scope| {
            scope.spawn(|| self.watch(limit));
            // Also when the work panics, or nobody would end the watch.
            let _end = EndOfWatch(self);
            work()
        })
    }

    #[expect(clippy::disallowed_methods, reason = "a time limit is about the clock of the machine")]
    fn watch(&self, limit: Duration) {
        let look = (limit / 8).clamp(Duration::from_millis(10), LONGEST_LOOK);
        let mut last_life = Instant::now();
        let mut stop = locked(&self.stop);
        while stop.is_none() && !self.ended.load(Ordering::Acquire) {
            if self.lives.swap(false, Ordering::Relaxed) {
                last_life = Instant::now();
            }
            if last_life.elapsed() > limit {
                drop(stop);
                self.stop(Stop::Timeout(limit));
                return;
            }
            (stop, _) = self.stop_changed.wait_timeout(stop, look).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        locked(&self.progress.memory).trees.retain(|tree| *tree != self.tree);
    }
}

/// Ends the watch when it goes.
struct EndOfWatch<'a>(&'a Progress);

impl Drop for EndOfWatch<'_> {
    fn drop(&mut self) {
        // Under the lock, or the watch could go to sleep between its look and this.
        let _stop = locked(&self.0.stop);
        self.0.ended.store(true, Ordering::Release);
        self.0.stop_changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervisor::process_tree::Process;

    const ATTEMPT: &str = "attempt_202611211027_0016_m_000000_0";

    fn progress(limit_ms: Option<u64>) -> Progress {
        Progress::new(ATTEMPT.parse().unwrap(), Phase::Map, limit_ms.map(Duration::from_millis)).unwrap()
    }

    #[test]
    fn who_gives_no_sign_of_life_is_stopped() {
        let silent = progress(Some(40));
        silent.watched(|| assert!(!silent.sleep(Duration::from_secs(60))));
        assert_eq!(
            silent.check().unwrap_err().to_string(),
            format!("Task {ATTEMPT} failed to report status for 0 seconds. Killing!")
        );
        let alive = progress(Some(60_000));
        alive.watched(|| alive.check().unwrap());
        alive.check().unwrap();
    }

    #[test]
    fn the_first_reason_counts() {
        let progress = progress(None);
        assert!(progress.sleep(Duration::ZERO));
        progress.kill();
        progress.stop(Stop::Timeout(Duration::ZERO));
        assert!(matches!(progress.check(), Err(TaskFailure::Killed)));
        let mut byte = [0];
        assert_eq!(std::io::Read::read(&mut &progress.alarm, &mut byte).unwrap(), 0);
    }

    #[test]
    fn who_takes_too_much_memory_is_stopped() {
        let table = |bytes| -> ProcessTable {
            [Process { pid: 7, parent: 1, virtual_bytes: bytes, physical_bytes: bytes / 2 }].into_iter().collect()
        };
        let greedy = progress(None);
        greedy.limit_memory(100);
        greedy.note_memory(&table(1000));
        greedy.check().unwrap();
        let command = greedy.follow(CommandTree { root: 7, with_root: true });
        for bytes in [150, 100, 150] {
            greedy.note_memory(&table(bytes));
            greedy.check().unwrap();
        }
        assert_eq!(greedy.counters().get(Framework::VirtualMemoryBytes), 150);
        assert_eq!(greedy.counters().get(Framework::PhysicalMemoryBytes), 75);
        greedy.note_memory(&table(150));
        assert_eq!(
            greedy.check().unwrap_err().to_string(),
            format!(
                "TaskTree [pid=7,tipID={ATTEMPT}] is running beyond memory-limits. Current usage : 150bytes. Limit : 100bytes. \
                 Killing task."
            )
        );
        drop(command);
        let hasty = progress(None);
        hasty.limit_memory(100);
        let _command = hasty.follow(CommandTree { root: 7, with_root: true });
        hasty.note_memory(&table(201));
        assert!(hasty.check().is_err());
    }

    #[test]
    fn the_command_has_the_last_word_on_its_status() {
        let progress = progress(None);
        progress.tell(|| "Records".to_owned());
        assert_eq!(progress.told(), (Phase::Map, "Records".to_owned()));
        progress.tell_for_command("half".to_owned());
        progress.tell(|| "Records".to_owned());
        assert_eq!(progress.told().1, "half");
        progress.enter(Phase::Reduce, "reduce > reduce");
        assert_eq!(progress.told(), (Phase::Reduce, "reduce > reduce".to_owned()));
    }
}

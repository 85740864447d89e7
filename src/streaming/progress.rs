//! State shared by the threads of a running attempt and the heartbeat: counters, phase, status, failed fetches, and the stop request. The
//! attempt's threads write, the heartbeat reads at any time; there are no callbacks. An attempt without activity for its time limit is
//! stopped like a killed one.

use std::io::{PipeReader, PipeWriter, pipe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::model::AttemptId;
use crate::supervisor::process_tree::{CommandTree, MemoryUse, ProcessTable, TreeUse};
use crate::wire::Phase;

use super::counters::{FrameworkCounter, StreamingCounterValues, TaskCounters, TooManyCounters};
use super::failure::{TaskFailure, TooMuchMemory};

/// Longest interval between two checks for activity, when there is a time limit.
const MAX_WATCH_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Debug)]
enum StopReason {
    Kill,
    Timeout(Duration),
    TooManyCounters(TooManyCounters),
    TooMuchMemory(TooMuchMemory),
}

#[derive(Debug, Default)]
struct TaskMemory {
    trees: Vec<CommandTree>,
    /// Limit of their address space, bytes.
    limit_bytes: Option<u64>,
    /// CPU time of the processes at the last measurement, ms: their end adds it to the counters.
    cpu_ms: u64,
    /// They were beyond the limit at the last measurement.
    was_beyond: bool,
}

/// Guard: the command's processes are measured until it is dropped.
#[derive(Debug)]
pub(crate) struct TrackedCommand<'a> {
    progress: &'a Progress,
    tree: CommandTree,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ReportedStatus {
    phase: Phase,
    /// The command's own status takes precedence over the framework's.
    status: String,
    is_status_of_command: bool,
}

/// Shared by the threads of one attempt and the heartbeat.
#[derive(Debug)]
pub struct Progress {
    attempt: AttemptId,
    counters: TaskCounters,
    reported: Mutex<ReportedStatus>,
    done_thousandths: AtomicU64,
    is_active: AtomicBool,
    time_limit: Option<Duration>,
    stop: Mutex<Option<StopReason>>,
    stop_changed: Condvar,
    is_stopped: AtomicBool,
    /// Hangs up when the attempt is stopped: threads that wait for a pipe wait for this one too. None once it has ended: what is known of
    /// a map stays as long as its output, and the descriptors of many would add up.
    alarm: Mutex<Option<Arc<PipeReader>>>,
    alarm_trigger: Mutex<Option<PipeWriter>>,
    failed_fetches: Mutex<Vec<AttemptId>>,
    memory: Mutex<TaskMemory>,
    is_finished: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    /// The progress of an attempt that has not started.
    ///
    /// # Errors
    /// [`TaskFailure::Pipe`] when no pipe can be opened.
    pub fn new(attempt: AttemptId, phase: Phase, time_limit: Option<Duration>) -> Result<Self, TaskFailure> {
        let (alarm, alarm_trigger) = pipe().map_err(TaskFailure::Pipe)?;
        Ok(Self {
            attempt,
            counters: TaskCounters::default(),
            reported: Mutex::new(ReportedStatus {
                phase,
                status: "initializing".to_owned(),
                is_status_of_command: false,
            }),
            done_thousandths: AtomicU64::new(0),
            is_active: AtomicBool::new(true),
            time_limit,
            stop: Mutex::new(None),
            stop_changed: Condvar::new(),
            is_stopped: AtomicBool::new(false),
            alarm: Mutex::new(Some(Arc::new(alarm))),
            alarm_trigger: Mutex::new(Some(alarm_trigger)),
            failed_fetches: Mutex::default(),
            memory: Mutex::default(),
            is_finished: AtomicBool::new(false),
        })
    }

    pub(crate) fn attempt(&self) -> AttemptId {
        self.attempt
    }

    /// Counters of the framework and of the command.
    pub(crate) fn counters(&self) -> &TaskCounters {
        &self.counters
    }

    pub(crate) fn status(&self) -> (Phase, String) {
        let reported = locked(&self.reported);
        (reported.phase, reported.status.clone())
    }

    /// Share that is done, 0 to 1000.
    pub(crate) fn done_thousandths(&self) -> u64 {
        self.done_thousandths.load(Ordering::Relaxed)
    }

    /// Takes the map outputs that could not be fetched since the last call: the next heartbeat reports them.
    pub(crate) fn take_failed_fetches(&self) -> Vec<AttemptId> {
        std::mem::take(&mut *locked(&self.failed_fetches))
    }

    /// Stops the attempt with [`TaskFailure::Killed`].
    pub(crate) fn kill(&self) {
        self.stop(StopReason::Kill);
    }

    /// Stops the attempt because work on a file took longer than this.
    pub(crate) fn time_out(&self, limit: Duration) {
        self.stop(StopReason::Timeout(limit));
    }

    /// Records a map output that could not be fetched.
    pub(crate) fn report_failed_fetch(&self, map: AttemptId) {
        let mut failed = locked(&self.failed_fetches);
        if !failed.contains(&map) {
            failed.push(map);
        }
    }

    /// Records activity, which restarts the time limit.
    #[inline]
    pub(crate) fn record_activity(&self) {
        if !self.is_active.load(Ordering::Relaxed) {
            self.is_active.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn set_done_thousandths(&self, thousandths: u64) {
        self.record_activity();
        self.done_thousandths.store(thousandths.min(1000), Ordering::Relaxed);
    }

    /// Enters a phase; the framework's status replaces the command's.
    pub(crate) fn enter_phase(&self, phase: Phase, status: &str) {
        self.record_activity();
        *locked(&self.reported) = ReportedStatus { phase, status: status.to_owned(), is_status_of_command: false };
    }

    /// Sets the framework's status, unless the command has set its own.
    pub(crate) fn set_status(&self, status: impl FnOnce() -> String) {
        let mut reported = locked(&self.reported);
        if !reported.is_status_of_command {
            reported.status = status();
        }
    }

    pub(crate) fn set_command_status(&self, status: String) {
        self.record_activity();
        let mut reported = locked(&self.reported);
        (reported.status, reported.is_status_of_command) = (status, true);
    }

    /// Stops the attempt because its command has too many counters.
    pub(crate) fn stop_for_counters(&self, too_many: TooManyCounters) {
        self.stop(StopReason::TooManyCounters(too_many));
    }

    /// Limits the address space of its processes.
    pub(crate) fn limit_memory(&self, bytes: u64) {
        locked(&self.memory).limit_bytes = Some(bytes);
    }

    /// Measures the processes of a command until the guard is dropped.
    pub(crate) fn track_command(&self, tree: CommandTree) -> TrackedCommand<'_> {
        locked(&self.memory).trees.push(tree);
        TrackedCommand { progress: self, tree }
    }

    /// Records the memory of its processes, and stops the attempt when they exceed twice the limit, or the limit in two
    /// measurements in a row: a process that forks briefly counts twice (1.2.1 `isProcessTreeOverLimit`).
    pub(crate) fn record_memory(&self, processes: &ProcessTable) {
        let mut memory = locked(&self.memory);
        let Some(first) = memory.trees.first().copied() else { return };
        let mut used = MemoryUse::default();
        for tree in &memory.trees {
            let of_tree = processes.memory_of(tree.root, tree.with_root);
            used.virtual_bytes += of_tree.virtual_bytes;
            used.physical_bytes += of_tree.physical_bytes;
        }
        memory.cpu_ms = memory.trees.iter().map(|tree| processes.cpu_ms_of(*tree)).sum();
        if used == MemoryUse::default() {
            return;
        }
        self.counters.set(FrameworkCounter::VirtualMemoryBytes, used.virtual_bytes);
        self.counters.set(FrameworkCounter::PhysicalMemoryBytes, used.physical_bytes);
        let Some(limit_bytes) = memory.limit_bytes else { return };
        let is_beyond = used.virtual_bytes > limit_bytes;
        let was_beyond = std::mem::replace(&mut memory.was_beyond, is_beyond);
        drop(memory);
        if is_beyond && (was_beyond || used.virtual_bytes > limit_bytes.saturating_mul(2)) {
            let (attempt, pid, used_bytes) = (self.attempt, first.root, used.virtual_bytes);
            self.stop(StopReason::TooMuchMemory(TooMuchMemory { attempt, pid, used_bytes, limit_bytes }));
        }
    }

    /// What its processes use, as last measured, and CPU time of those before them.
    pub(crate) fn used(&self) -> TreeUse {
        let running_ms = locked(&self.memory).cpu_ms;
        let count = |counter| u64::try_from(self.counters.get(counter)).unwrap_or(0);
        TreeUse {
            resident_bytes: count(FrameworkCounter::PhysicalMemoryBytes),
            cpu_ms: count(FrameworkCounter::CpuMilliseconds).saturating_add(running_ms),
        }
    }

    fn stop(&self, reason: StopReason) {
        let mut stop = locked(&self.stop);
        if stop.is_none() {
            *stop = Some(reason);
        }
        self.is_stopped.store(true, Ordering::Release);
        drop(stop);
        // Closing it wakes the threads that wait for the other end.
        locked(&self.alarm_trigger).take();
        self.stop_changed.notify_all();
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn check(&self) -> Result<(), TaskFailure> {
        if self.is_stopped() { Err(self.stop_reason()) } else { Ok(()) }
    }

    pub(crate) fn stop_reason(&self) -> TaskFailure {
        match &*locked(&self.stop) {
            Some(StopReason::Timeout(limit)) => {
                TaskFailure::TimedOut { attempt: self.attempt, seconds: limit.as_secs() }
            }
            Some(StopReason::TooManyCounters(too_many)) => too_many.clone().into(),
            Some(StopReason::TooMuchMemory(too_much)) => (*too_much).into(),
            Some(StopReason::Kill) | None => TaskFailure::Killed,
        }
    }

    /// Readable (hung up) once the attempt is stopped. Errors: [`TaskFailure::Killed`]: it has ended.
    pub(crate) fn alarm(&self) -> Result<Arc<PipeReader>, TaskFailure> {
        locked(&self.alarm).clone().ok_or(TaskFailure::Killed)
    }

    /// Gives back its descriptors: nothing of the attempt runs any more.
    pub(crate) fn close_alarm(&self) {
        drop((locked(&self.alarm).take(), locked(&self.alarm_trigger).take()));
    }

    /// Waits at most for `time`; `false` when the attempt is stopped.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        let guard = locked(&self.stop);
        let (guard, _) = self
            .stop_changed
            .wait_timeout_while(guard, time, |stop| stop.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        guard.is_none()
    }

    pub(crate) fn run_with_time_limit<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(limit) = self.time_limit else { return work() };
        std::thread::scope(|scope| {
            scope.spawn(|| self.watch_activity(limit));
            // Also when the work panics, or the watching thread would never end.
            let _end = WatchGuard(self);
            work()
        })
    }

    #[expect(clippy::disallowed_methods, reason = "a time limit is about the clock of the machine")]
    fn watch_activity(&self, limit: Duration) {
        let interval = (limit / 8).clamp(Duration::from_millis(10), MAX_WATCH_INTERVAL);
        let mut last_activity = Instant::now();
        let mut stop = locked(&self.stop);
        while stop.is_none() && !self.is_finished.load(Ordering::Acquire) {
            if self.is_active.swap(false, Ordering::Relaxed) {
                last_activity = Instant::now();
            }
            if last_activity.elapsed() > limit {
                drop(stop);
                self.stop(StopReason::Timeout(limit));
                return;
            }
            (stop, _) = self.stop_changed.wait_timeout(stop, interval).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for TrackedCommand<'_> {
    fn drop(&mut self) {
        let mut memory = locked(&self.progress.memory);
        memory.trees.retain(|tree| *tree != self.tree);
        memory.cpu_ms = 0;
    }
}

struct WatchGuard<'a>(&'a Progress);

impl Drop for WatchGuard<'_> {
    fn drop(&mut self) {
        // Under the lock, or the watching thread could start to wait between its check and this.
        let _stop = locked(&self.0.stop);
        self.0.is_finished.store(true, Ordering::Release);
        self.0.stop_changed.notify_all();
    }
}

/// All that the worker reports of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgressReport {
    phase: Phase,
    status: String,
    done_thousandths: u64,
    counters: StreamingCounterValues,
    /// Since the report before.
    failed_fetches: Vec<AttemptId>,
}

impl Progress {
    /// What there is to report now. Failed fetches are in one report only.
    pub(crate) fn report(&self) -> ProgressReport {
        let (phase, status) = self.status();
        ProgressReport {
            phase,
            status,
            done_thousandths: self.done_thousandths(),
            counters: self.counters.values(),
            failed_fetches: self.take_failed_fetches(),
        }
    }

    /// Takes over what the attempt's own process reports.
    pub(crate) fn apply_report(&self, report: ProgressReport) {
        let mut reported = locked(&self.reported);
        (reported.phase, reported.status) = (report.phase, report.status);
        drop(reported);
        self.done_thousandths.store(report.done_thousandths.min(1000), Ordering::Relaxed);
        self.counters.set_values(report.counters);
        report.failed_fetches.into_iter().for_each(|map| self.report_failed_fetch(map));
    }
}

#[cfg(test)]
mod tests {
    use crate::supervisor::process_tree::ProcessEntry;

    use super::super::counters::FrameworkCounter;
    use super::*;

    const ATTEMPT: &str = "attempt_202611211027_0016_m_000000_0";

    fn progress(limit_ms: Option<u64>) -> Progress {
        Progress::new(ATTEMPT.parse().unwrap(), Phase::Map, limit_ms.map(Duration::from_millis)).unwrap()
    }

    #[test]
    fn an_attempt_without_activity_is_stopped() {
        let silent = progress(Some(40));
        silent.run_with_time_limit(|| assert!(!silent.sleep(Duration::from_secs(60))));
        assert_eq!(
            silent.check().unwrap_err().to_string(),
            format!("Task {ATTEMPT} failed to report status for 0 seconds. Killing!")
        );
        let alive = progress(Some(60_000));
        alive.run_with_time_limit(|| alive.check().unwrap());
        alive.check().unwrap();
    }

    #[test]
    fn the_first_reason_counts() {
        let progress = progress(None);
        assert!(progress.sleep(Duration::ZERO));
        progress.kill();
        progress.stop(StopReason::Timeout(Duration::ZERO));
        assert!(matches!(progress.check(), Err(TaskFailure::Killed)));
        let mut byte = [0];
        assert_eq!(std::io::Read::read(&mut &*progress.alarm().unwrap(), &mut byte).unwrap(), 0);
    }

    #[test]
    fn an_attempt_that_has_ended_holds_no_descriptor() {
        let progress = progress(None);
        let trigger = progress.alarm_trigger.lock().unwrap().as_ref().unwrap().try_clone().unwrap();
        progress.close_alarm();
        // The system frees the pipe with its last reader.
        let broken = std::io::Write::write(&mut &trigger, b"x").unwrap_err();
        assert_eq!(broken.kind(), std::io::ErrorKind::BrokenPipe);
        assert!(progress.alarm_trigger.lock().unwrap().is_none() && progress.alarm().is_err());
    }

    #[test]
    fn an_attempt_over_its_memory_limit_is_stopped() {
        let table = |bytes| -> ProcessTable {
            [ProcessEntry { pid: 7, parent: 1, virtual_bytes: bytes, physical_bytes: bytes / 2, cpu_ms: 0 }]
                .into_iter()
                .collect()
        };
        let greedy = progress(None);
        greedy.limit_memory(100);
        greedy.record_memory(&table(1000));
        greedy.check().unwrap();
        let command = greedy.track_command(CommandTree { root: 7, with_root: true });
        for bytes in [150, 100, 150] {
            greedy.record_memory(&table(bytes));
            greedy.check().unwrap();
        }
        assert_eq!(greedy.counters().get(FrameworkCounter::VirtualMemoryBytes), 150);
        assert_eq!(greedy.counters().get(FrameworkCounter::PhysicalMemoryBytes), 75);
        greedy.record_memory(&table(150));
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
        let _command = hasty.track_command(CommandTree { root: 7, with_root: true });
        hasty.record_memory(&table(201));
        assert!(hasty.check().is_err());
    }

    #[test]
    fn the_commands_own_status_takes_precedence() {
        let progress = progress(None);
        progress.set_status(|| "Records".to_owned());
        assert_eq!(progress.status(), (Phase::Map, "Records".to_owned()));
        progress.set_command_status("half".to_owned());
        progress.set_status(|| "Records".to_owned());
        assert_eq!(progress.status().1, "half");
        progress.enter_phase(Phase::Reduce, "reduce > reduce");
        assert_eq!(progress.status(), (Phase::Reduce, "reduce > reduce".to_owned()));
    }

    #[test]
    fn a_report_makes_another_process_show_the_same() {
        let attempt = "attempt_202611211027_0016_m_000000_0".parse().unwrap();
        let [own, of_worker] = [(), ()].map(|()| Progress::new(attempt, Phase::Starting, None).unwrap());
        own.enter_phase(Phase::Shuffle, "reduce > copy");
        own.set_command_status("half".to_owned());
        own.set_done_thousandths(500);
        own.counters().add(FrameworkCounter::MapInputRecords, 7);
        own.counters().add_of_command("g", "n", 3).unwrap();
        own.report_failed_fetch(attempt);
        let sent = serde_json::to_string(&own.report()).unwrap();
        of_worker.apply_report(serde_json::from_str(&sent).unwrap());
        assert_eq!(of_worker.status(), (Phase::Shuffle, "half".to_owned()));
        assert_eq!(of_worker.done_thousandths(), 500);
        assert_eq!(of_worker.counters().snapshot(), own.counters().snapshot());
        assert_eq!((of_worker.take_failed_fetches(), own.report().failed_fetches), (vec![attempt], vec![]));
    }
}

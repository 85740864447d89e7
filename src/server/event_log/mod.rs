//! Writes the event log of the Fair scheduler from a thread of its own (1.2.1 contrib `FairSchedulerEventLog`). Nothing
//! waits for it: what exceeds the memory for waiting lines is dropped and counted in the log.

mod daily_file;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::clock::Clock;
use crate::scheduler::fair::event_log::LogEvent;

use daily_file::DailyFile;

/// Most memory for lines that wait to be written, bytes.
const MAX_WAITING_BYTES: usize = 8 << 20;

/// Longest wait for the last lines at a stop.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Lines that are appended at one moment.
struct LineBatch {
    directory: Arc<Path>,
    wall_ms: i64,
    lines: Vec<String>,
    bytes: usize,
}

struct WriterThread {
    batches: Sender<LineBatch>,
    /// Closes when the thread ends.
    ended: Receiver<()>,
}

/// The event log. Dropping it writes what waits, and that the scheduler stops.
pub(crate) struct EventLog {
    file_name: String,
    clock: Clock,
    /// None until the first line.
    writer: Option<WriterThread>,
    waiting_bytes: Arc<AtomicUsize>,
    /// Lines dropped since the last batch that was written.
    dropped: usize,
    /// Where the events go of a scheduler that has not stopped.
    open: Option<Arc<Path>>,
}

impl EventLog {
    /// The event log of a daemon; no file exists before its first line.
    pub(crate) fn new(user: &str, host: &str, clock: Clock) -> Self {
        Self {
            file_name: format!("hadoop-{user}-fairscheduler-{host}.log"),
            clock,
            writer: None,
            waiting_bytes: Arc::default(),
            dropped: 0,
            open: None,
        }
    }

    /// Appends lines, or drops them while too many wait.
    pub(crate) fn append(&mut self, directory: Arc<Path>, wall_ms: i64, mut lines: Vec<String>) {
        let is_shutdown = lines.last().is_some_and(|line| *line == LogEvent::Shutdown.to_string());
        self.open = (!is_shutdown).then(|| directory.clone());
        let bytes = lines.iter().map(|line| size_of::<String>() + line.len()).sum::<usize>();
        let waiting = self.waiting_bytes.load(Ordering::Relaxed);
        if waiting > 0 && waiting.saturating_add(bytes) > MAX_WAITING_BYTES {
            self.dropped = self.dropped.saturating_add(lines.len());
            return;
        }
        if self.writer.is_none() {
            self.writer = start_writer(self.file_name.clone(), self.waiting_bytes.clone());
        }
        let Some(writer) = &self.writer else { return };
        if self.dropped > 0 {
            let text = format!("{} events before this one are missing: the disk was too slow", self.dropped);
            lines.insert(0, LogEvent::Info(&text).to_string());
            self.dropped = 0;
        }
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        // A thread that ended has logged why.
        let _ = writer.batches.send(LineBatch { directory, wall_ms, lines, bytes });
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        if let Some(directory) = self.open.take() {
            self.append(directory, self.clock.now().wall_ms, vec![LogEvent::Shutdown.to_string()]);
        }
        let Some(WriterThread { batches, ended }) = self.writer.take() else { return };
        drop(batches);
        if ended.recv_timeout(CLOSE_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("{}: the last events are not written yet: the disk is too slow", self.file_name);
        }
    }
}

/// None, which is logged, where no thread can be started.
fn start_writer(file_name: String, waiting_bytes: Arc<AtomicUsize>) -> Option<WriterThread> {
    let (batches, inbox) = channel();
    let (end, ended) = channel();
    let thread = std::thread::Builder::new().name("event-log".to_owned());
    let started = thread.spawn(move || {
        write_all(&file_name, &inbox, &waiting_bytes);
        drop(end);
    });
    match started {
        Ok(_) => Some(WriterThread { batches, ended }),
        Err(error) => {
            tracing::error!("the event log of the Fair scheduler is not written: {error}");
            None
        }
    }
}

/// Writes batches until the other end closes. An error is logged once, until a write succeeds.
fn write_all(file_name: &str, inbox: &Receiver<LineBatch>, waiting_bytes: &AtomicUsize) {
    let mut file = None;
    let mut has_failed = false;
    for LineBatch { directory, wall_ms, lines, bytes } in inbox {
        let file = match &mut file {
            Some(file) if DailyFile::is_in(file, &directory) => file,
            _ => file.insert(DailyFile::new(&directory, file_name)),
        };
        match file.append(wall_ms, &lines) {
            Ok(()) => has_failed = false,
            Err(error) if !has_failed => {
                tracing::error!("events of the Fair scheduler are lost: {error}");
                has_failed = true;
            }
            Err(_) => {}
        }
        waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;

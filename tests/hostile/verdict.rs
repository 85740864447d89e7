//! What became of one attack: figures of before, during and after, and all that did not hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::stage::{Stage, is_whole};
use crate::victims::{GIVEN_UP, Times, VictimOptions, Victims};

/// Most honest heartbeats during an attack, ms.
const HEARTBEAT_MS: f64 = 50.0;
/// The longest honest submission during an attack, ms.
const SUBMISSION_MS: f64 = 1_000.0;
/// Memory that may be more than before, some seconds after.
const MEMORY_AFTER_BYTES: u64 = 64 << 20;
/// Within this time memory has fallen: a thread that waits for work keeps what it freed until it works again, or ends after 10 s.
const MEMORY_FALLS: Duration = Duration::from_secs(20);
/// What an attack may add to the log.
const LOG_BYTES: usize = 1 << 20;
/// After SIGTERM, with what a loaded machine adds.
const STOP: Duration = Duration::from_secs(7);

/// An attack is measured for so long after its last word.
const AFTER: Duration = Duration::from_millis(400);

/// An attack with its victims.
pub struct Attack {
    name: &'static str,
    pub stage: Stage,
    pub victims: Victims,
    quiet: Times,
    quiet_bytes: u64,
    quiet_log_bytes: usize,
    during: Option<Times>,
    most_bytes: u64,
    broken: Vec<String>,
}

// === impl Attack ===

impl Attack {
    /// Starts the honest users and measures them in a quiet time.
    pub fn on(stage: Stage, name: &'static str, wanted: &VictimOptions) -> Self {
        let victims = Victims::start(stage.rpc, stage.serving.http, wanted);
        let missing = victims.await_answers_after(Instant::now());
        assert!(missing.is_empty(), "{missing:?} without an attack: no answer\n{}", stage.serving.log.text());
        let from = Instant::now();
        std::thread::sleep(Duration::from_millis(if is_whole() { 5_000 } else { 600 }));
        let quiet = victims.times(from, Instant::now());
        let (quiet_bytes, quiet_log_bytes) = (stage.serving.resident_bytes(), stage.serving.log.bytes());
        Self {
            name,
            stage,
            victims,
            quiet,
            quiet_bytes,
            quiet_log_bytes,
            during: None,
            most_bytes: quiet_bytes,
            broken: Vec::new(),
        }
    }

    /// Attacks, and measures the honest users until shortly after it.
    pub fn strike<T>(&mut self, attack: impl FnOnce(&Stage) -> T) -> T {
        let from = Instant::now();
        let (most, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let watching = {
            let (most, is_over, pid) = (Arc::clone(&most), Arc::clone(&is_over), self.stage.serving.process_id());
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    most.fetch_max(crate::daemon::process_usage::resident_bytes(pid), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(20));
                }
            })
        };
        let outcome = attack(&self.stage);
        std::thread::sleep(AFTER);
        is_over.store(true, Ordering::Relaxed);
        watching.join().unwrap();
        self.most_bytes = self.most_bytes.max(most.load(Ordering::Relaxed));
        self.during = Some(self.victims.times(from, Instant::now()));
        outcome
    }

    /// Notes what must be so.
    pub fn must(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(otherwise());
        }
    }

    /// The longest honest deeds after the attack, in a time of its own.
    pub fn aftermath(&mut self) {
        let from = Instant::now();
        std::thread::sleep(AFTER);
        for deed in self.victims.await_answers_after(from) {
            self.broken.push(format!("no {deed:?} is answered afterwards"));
        }
        let after = self.victims.times(from, Instant::now());
        self.judge_times(&after, "after");
    }

    fn judge_times(&mut self, times: &Times, when: &str) {
        for (what, figures) in
            [("heartbeat", &times.heartbeat), ("submission", &times.submission), ("page", &times.page)]
        {
            if let Some(failure) = figures.failures.first() {
                self.broken.push(format!("{what} {when}: {} failed, {}", figures.failures.len(), excerpt(failure)));
            }
            if figures.longest_ms > GIVEN_UP.as_secs_f64() * 1e3 {
                self.broken.push(format!("{what} {when} took {:.0} ms", figures.longest_ms));
            }
        }
        if is_whole() {
            if times.heartbeat.most_ms > HEARTBEAT_MS {
                self.broken.push(format!("heartbeats {when} took {:.0} ms", times.heartbeat.most_ms));
            }
            if times.submission.longest_ms > SUBMISSION_MS {
                self.broken.push(format!("a submission {when} took {:.0} ms", times.submission.longest_ms));
            }
        }
    }

    /// Judges what is left, stops the daemon and prints the line. What is broken fails the test.
    pub fn close(mut self) {
        self.aftermath();
        let limit = self.quiet_bytes + MEMORY_AFTER_BYTES;
        let end = Instant::now() + MEMORY_FALLS;
        while self.stage.serving.resident_bytes() > limit && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
        let after_bytes = self.stage.serving.resident_bytes();
        let log_bytes = self.stage.serving.log.bytes() - self.quiet_log_bytes;
        let during = self.during.take().expect("an attack without an attack");
        self.judge_times(&during, "during");
        let mib = |bytes: u64| bytes >> 20;
        if after_bytes > limit {
            self.broken.push(format!("memory stays {} MiB above", mib(after_bytes - self.quiet_bytes)));
        }
        if log_bytes > LOG_BYTES {
            self.broken.push(format!("{} MiB of log", log_bytes >> 20));
        }
        self.victims.stop();
        let Self { name, stage, quiet, quiet_bytes, most_bytes, mut broken, .. } = self;
        if let Err(why) = stage.stop_within(STOP) {
            broken.push(why);
        }
        let verdict = if broken.is_empty() { "held".to_owned() } else { format!("BROKEN: {}", broken.join("; ")) };
        let line = format!(
            "{name} | quiet: {quiet}; during: {during}; memory {} -> {} -> {} MiB; log {} kB; verdict {verdict}",
            mib(quiet_bytes),
            mib(most_bytes),
            mib(after_bytes),
            log_bytes >> 10,
        );
        pronounce(&line, broken.is_empty());
    }
}

/// Prints the line of an attack; one that succeeded fails the test.
pub fn pronounce(line: &str, has_held: bool) {
    eprintln!("hostile: {line}");
    assert!(has_held, "{line}");
}

/// So much of a text as a line may hold.
pub fn excerpt(text: &str) -> String {
    let short: String = text.chars().take(160).collect();
    short.replace('\n', " ")
}

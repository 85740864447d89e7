//! When a daemon is killed: at any moment, or in the middle of something that it is seen to do.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::anyhow;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use crate::dice::Dice;

use jobtracker::clock::wall_ms;

use super::world::{ALLOC_INTERVAL_MS, World};

/// What a kill is aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aim {
    /// Any moment from 0.2 to 3 s after it was ready.
    AnyTime,
    /// Around a tick.
    Tick,
    /// While the log of the database grows.
    Commit,
    /// While the budget file is replaced.
    Image,
    /// While the log is moved into the database.
    Checkpoint,
    /// In the middle of a clean stop, which ends with the log being moved into the database.
    Stop,
    /// Before it is ready.
    Start,
}

/// Where a kill hit.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// Since the daemon was ready, or for [`Aim::Start`] since it was started.
    pub after: Duration,
    /// What was waited for was seen.
    pub is_on_target: bool,
}

/// A thread that will kill.
#[derive(Debug)]
pub struct Assassin {
    thread: JoinHandle<rustix::io::Result<Hit>>,
}

/// What the thread goes by.
struct Plan {
    pid: Pid,
    aim: Aim,
    dice: Dice,
    started_ms: i64,
    budget_file: PathBuf,
    state: PathBuf,
    is_killed: Arc<AtomicBool>,
}

const LOOK_EVERY: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_secs(4);

// === impl Aim ===

impl Aim {
    /// What the kill of that number, from 0, is aimed at; so that each comes up early and all in turn.
    pub fn of(number: u32) -> Self {
        match number % 10 {
            0 | 9 => Aim::Start,
            2 | 6 => Aim::Tick,
            3 | 7 => Aim::Image,
            4 => Aim::Commit,
            5 => Aim::Checkpoint,
            8 => Aim::Stop,
            _ => Aim::AnyTime,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Aim::AnyTime => "any time",
            Aim::Tick => "tick",
            Aim::Commit => "commit",
            Aim::Image => "budget file",
            Aim::Checkpoint => "checkpoint",
            Aim::Stop => "clean stop",
            Aim::Start => "start",
        }
    }
}

// === impl Assassin ===

impl Assassin {
    /// Has the daemon killed; `is_killed` is set just before.
    pub fn hire(
        pid: Pid,
        aim: Aim,
        dice: Dice,
        world: &World,
        started_ms: i64,
        is_killed: Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let plan =
            Plan { pid, aim, dice, started_ms, budget_file: world.budget_file(), state: world.state(), is_killed };
        let thread = std::thread::Builder::new().name("assassin".to_owned()).spawn(move || plan.carry_out())?;
        Ok(Self { thread })
    }

    /// Whether it is done.
    pub fn is_done(&self) -> bool {
        self.thread.is_finished()
    }

    /// Where it hit. Blocks until it is done.
    pub fn hit(self) -> anyhow::Result<Hit> {
        Ok(self.thread.join().map_err(|_| anyhow!("the thread that kills has panicked"))??)
    }
}

// === impl Plan ===

impl Plan {
    fn carry_out(mut self) -> rustix::io::Result<Hit> {
        let began = Instant::now();
        let is_on_target = self.wait(began);
        self.is_killed.store(true, Ordering::SeqCst);
        kill_process(self.pid, Signal::KILL)?;
        Ok(Hit { after: began.elapsed(), is_on_target })
    }

    fn wait(&mut self, began: Instant) -> bool {
        let us = |dice: &mut Dice, most: u32| Duration::from_micros(u64::from(dice.below(most)));
        let early = Duration::from_millis(200) + us(&mut self.dice, 2_000_000);
        match self.aim {
            Aim::AnyTime => pause(Duration::from_millis(200) + us(&mut self.dice, 2_800_000)),
            Aim::Start => pause(us(&mut self.dice, 60_000)),
            Aim::Tick => {
                // Ticks come at whole intervals after the start of the market, which is a moment after the process's.
                let tick_ms = self.started_ms + ALLOC_INTERVAL_MS * i64::from(1 + self.dice.below(3));
                let until_ms = tick_ms - wall_ms();
                pause(Duration::from_millis(until_ms.max(0).cast_unsigned()) + us(&mut self.dice, 60_000));
            }
            Aim::Commit => {
                pause(early);
                let log = self.state.join("state.db-wal");
                let seen = watch(began, || stamp(&log));
                pause(us(&mut self.dice, 1500));
                return seen;
            }
            Aim::Image => {
                pause(early);
                let mut new = self.budget_file.clone().into_os_string();
                new.push(".new");
                let (new, file) = (PathBuf::from(new), self.budget_file.clone());
                let seen = watch(began, || (new.exists(), stamp(&file)));
                pause(us(&mut self.dice, 3000));
                return seen;
            }
            Aim::Checkpoint => {
                pause(early);
                let database = self.state.join("state.db");
                let seen = watch(began, || stamp(&database));
                pause(us(&mut self.dice, 1500));
                return seen;
            }
            Aim::Stop => {
                pause(early);
                let database = self.state.join("state.db");
                self.is_killed.store(true, Ordering::SeqCst);
                // A process that is gone already is killed in vain.
                let _ = kill_process(self.pid, Signal::TERM);
                if self.dice.percent(50) {
                    let seen = watch(began, || stamp(&database));
                    pause(us(&mut self.dice, 1500));
                    return seen;
                }
                pause(us(&mut self.dice, 40_000));
            }
        }
        true
    }
}

/// Looks until the sight changes, or it takes too long.
fn watch<T: PartialEq>(began: Instant, mut look: impl FnMut() -> T) -> bool {
    let first = look();
    while began.elapsed() < LONGEST {
        if look() != first {
            return true;
        }
        pause(LOOK_EVERY);
    }
    false
}

/// What changes when a file does.
fn stamp(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let file = fs::metadata(path).ok()?;
    Some((file.ino(), file.len(), file.mtime(), file.mtime_nsec()))
}

fn pause(time: Duration) {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::park_timeout(left);
    }
}

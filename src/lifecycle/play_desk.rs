//! Plays of the past for the page `/what-if`: one at a time, on a thread of the lowest priority, within bounds; what came of them is
//! kept for ten minutes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::clock::wall_ms;
use crate::config::keys::{self, Key, ValueKind};
use crate::config::settings::{LoadOptions, SchedulerName, UnknownScheduler};
use crate::process_stat::ThreadStat;
use crate::store::{RecordedSize, RecordedSpan};
use crate::web::{MOST_KEPT_PLAYS, PlayForm, PlayRefusal, PlayRun, PlayState, Plays};

use super::what_if::{PlayBounds, PlayFailure, PlayQuestion, play_within};

/// Processor time that both plays may take, s.
const MOST_CPU_S: u64 = 20;
/// Time that they may take on a busy machine, s.
const MOST_WALL_S: u64 = 600;
/// What they may be of: the daemon has this memory to spare.
const MOST: RecordedSize = RecordedSize { jobs: 20_000, tasks: 200_000 };
/// Most TaskTrackers.
const MOST_NODES: usize = 10_000;
/// Most keys with other values.
const MOST_SET: usize = 32;
/// How long the outcome is kept, ms.
const KEPT_MS: i64 = 600_000;
/// Nothing else waits for a thread of this niceness.
const LOWEST: i32 = 19;
/// Most characters of a refused value that are repeated.
const SHOWN_CHARACTERS: usize = 64;

/// What is expected of a key on the page: one whose value is a path, a program or a text could have the daemon read what its
/// administrator may not.
const SETTABLE: &str = "KEY=VALUE on a line of its own, with a key of the configuration whose value is a number, a ratio, true or \
     false, or one of some words; the command takes every key";

pub(super) struct PlayDesk {
    sources: LoadOptions,
    database: PathBuf,
    runs: Arc<Mutex<KeptRuns>>,
    is_closed: Arc<AtomicBool>,
}

/// The newest last.
#[derive(Debug, Default)]
struct KeptRuns {
    begun: u64,
    all: Vec<PlayRun>,
}

struct Bounds {
    is_closed: Arc<AtomicBool>,
    begun_ms: i64,
    most_cpu_ms: u64,
    ended: Option<String>,
}

impl PlayDesk {
    pub(super) fn new(sources: LoadOptions, database: PathBuf) -> Self {
        Self { sources, database, runs: Arc::default(), is_closed: Arc::default() }
    }

    fn begin_within(
        &self,
        form: PlayForm,
        by: &str,
        most_cpu_ms: u64,
    ) -> Result<(String, JoinHandle<()>), PlayRefusal> {
        let question = question(&form)?;
        let begun_ms = wall_ms();
        let id = {
            let mut runs = lock(&self.runs);
            runs.forget(begun_ms);
            if let Some(running) = runs.all.iter().find(|run| matches!(run.state, PlayState::Running)) {
                let passed_s = u64::try_from(begun_ms.saturating_sub(running.begun_ms) / 1_000).unwrap_or(0);
                return Err(PlayRefusal::Busy { retry_s: MOST_CPU_S.saturating_sub(passed_s).max(1) });
            }
            runs.begin(form, by, begun_ms)
        };
        let (sources, database) = (self.sources.clone(), self.database.clone());
        let (runs, own_id) = (Arc::clone(&self.runs), id.clone());
        let mut bounds = Bounds { is_closed: Arc::clone(&self.is_closed), begun_ms, most_cpu_ms, ended: None };
        let play = move || {
            if let Err(error) = rustix::process::nice(LOWEST) {
                tracing::debug!("a what-if keeps its priority: {error}");
            }
            let played = catch_unwind(AssertUnwindSafe(|| {
                let mut may_continue = || bounds.may_continue();
                let bounds = PlayBounds { most: MOST, may_continue: &mut may_continue };
                play_within(&question, &sources, &database, bounds)
            }));
            let state = match played {
                Ok(Ok(comparison)) => PlayState::Done(Arc::new(comparison)),
                Ok(Err(PlayFailure::Ended)) => PlayState::Failed(bounds.ended.unwrap_or_default()),
                Ok(Err(failure)) => PlayState::Failed(failure.to_string()),
                Err(_) => PlayState::Failed("a defect of this program ended the plays; its log says more".to_owned()),
            };
            lock(&runs).end(&own_id, state);
        };
        match std::thread::Builder::new().name("what-if".to_owned()).spawn(play) {
            Ok(thread) => Ok((id, thread)),
            Err(error) => {
                lock(&self.runs).all.retain(|run| run.id != id);
                Err(PlayRefusal::NotBegun(error.to_string()))
            }
        }
    }
}

impl Plays for PlayDesk {
    fn begin(&self, form: PlayForm, by: &str) -> Result<String, PlayRefusal> {
        self.begin_within(form, by, MOST_CPU_S * 1_000).map(|(id, _)| id)
    }

    fn all(&self) -> Vec<PlayRun> {
        let mut runs = lock(&self.runs);
        runs.forget(wall_ms());
        runs.all.iter().rev().cloned().collect()
    }

    fn conf_dir(&self) -> Option<PathBuf> {
        let folder = self.sources.conf_dir.as_ref()?;
        // Who reads it is elsewhere.
        Some(std::path::absolute(folder).unwrap_or_else(|_| folder.clone()))
    }
}

/// A play that runs ends: its outcome has no address any more.
impl Drop for PlayDesk {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for PlayDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlayDesk").field("database", &self.database).finish_non_exhaustive()
    }
}

fn lock(runs: &Mutex<KeptRuns>) -> MutexGuard<'_, KeptRuns> {
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KeptRuns {
    fn begin(&mut self, form: PlayForm, by: &str, begun_ms: i64) -> String {
        self.begun += 1;
        // Another run of the daemon counts from 1 again.
        let id = format!("{begun_ms:x}-{}", self.begun);
        let (by, state) = (by.to_owned(), PlayState::Running);
        self.all.push(PlayRun { id: id.clone(), form, by, begun_ms, kept_until_ms: None, state });
        id
    }

    fn end(&mut self, id: &str, state: PlayState) {
        if let Some(run) = self.all.iter_mut().find(|run| run.id == id) {
            run.state = state;
            run.kept_until_ms = Some(wall_ms().saturating_add(KEPT_MS));
        }
    }

    fn forget(&mut self, now_ms: i64) {
        self.all.retain(|run| run.kept_until_ms.is_none_or(|until_ms| now_ms < until_ms));
        let over = self.all.len().saturating_sub(MOST_KEPT_PLAYS);
        self.all.drain(..over);
    }
}

impl Bounds {
    fn may_continue(&mut self) -> bool {
        let wall_s = u64::try_from(wall_ms().saturating_sub(self.begun_ms) / 1_000).unwrap_or(0);
        let cpu_ms = ThreadStat::of_this_thread().map_or(0, |thread| thread.cpu_ms);
        let why = match () {
            () if self.is_closed.load(Ordering::Relaxed) => "the daemon is stopping".to_owned(),
            () if cpu_ms > self.most_cpu_ms => {
                let most_s = self.most_cpu_ms / 1_000;
                format!(
                    "the plays took more than {most_s} s of processor time and were ended: ask for a shorter time, or run the command"
                )
            }
            () if wall_s > MOST_WALL_S => {
                format!(
                    "the plays took more than {MOST_WALL_S} s on a busy machine and were ended: try again later, or run the command"
                )
            }
            () => return true,
        };
        self.ended = Some(why);
        false
    }
}

/// What a form asks for.
fn question(form: &PlayForm) -> Result<PlayQuestion, PlayRefusal> {
    let wrong = |field, value: &str, expected: &str| PlayRefusal::Field {
        field,
        value: value.chars().take(SHOWN_CHARACTERS).collect(),
        expected: expected.to_owned(),
    };
    let scheduler = match form.policy.as_str() {
        "" => None,
        name => Some(name.parse::<SchedulerName>().map_err(|_: UnknownScheduler| {
            wrong("policy", name, "fifo, capacity, fair, constraint, dynamic or one of their class names")
        })?),
    };
    if form.set.len() > MOST_SET {
        return Err(wrong("set", &format!("{} lines", form.set.len()), &format!("at most {MOST_SET} lines")));
    }
    for line in &form.set {
        check_set(line).map_err(|expected| wrong("set", line, &expected))?;
    }
    let nodes = match form.nodes.as_str() {
        "" => None,
        text => {
            let nodes = text.parse().ok().filter(|nodes| (1..=MOST_NODES).contains(nodes));
            let expected = format!("a whole number from 1 to {MOST_NODES}");
            Some(nodes.ok_or_else(|| wrong("nodes", text, &expected))?)
        }
    };
    let span =
        RecordedSpan { since_ms: form.since_ms.unwrap_or(i64::MIN), until_ms: form.until_ms.unwrap_or(i64::MAX) };
    let (set, with_orders) = (form.set.clone(), !form.without_orders);
    Ok(PlayQuestion { scheduler, set, nodes, with_orders, span, shows_jobs: true })
}

/// Refuses what may not be set on the page, with what is expected.
fn check_set(line: &str) -> Result<(), String> {
    let (name, value) = line.split_once('=').ok_or(SETTABLE)?;
    let key = keys::all().find(|key| key.is_spelled(name)).filter(|key| is_settable(key)).ok_or(SETTABLE)?;
    // A variable would show the value of another key.
    match key.kind.refusal(value) {
        Some(expected) => Err(format!("{} = {expected}", key.name)),
        None => Ok(()),
    }
}

fn is_settable(key: &Key) -> bool {
    match key.kind {
        ValueKind::Flag | ValueKind::Ratio(_) | ValueKind::Decimal | ValueKind::Number(..) | ValueKind::OneOf(_) => {
            true
        }
        ValueKind::Text
        | ValueKind::List
        | ValueKind::Class
        | ValueKind::Address
        | ValueKind::HttpUrl
        | ValueKind::HostPatterns
        | ValueKind::LocalPath
        | ValueKind::LocalPaths
        | ValueKind::FileSystemPath
        | ValueKind::Version
        | ValueKind::Build => false,
    }
}

#[cfg(test)]
#[path = "tests/play_desk.rs"]
mod tests;

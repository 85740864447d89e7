//! `jobtracker demo`: a cluster in one process with two competing users, and a check of their output and charges.
//!
//! `scratch` is its folder, `corpus` the input text, `cluster` the daemons, [`word_task`] the tasks' program, `scenario` the users'
//! actions, `market_table` and `screen` the display, `bill` and `word_check` the checks at the end.
//!
//! Invariant: users have no privileges here. They submit, bid and query over the same ports, signed, as anywhere.

mod bill;
mod cluster;
mod corpus;
mod error;
mod market_table;
mod scenario;
mod scratch;
mod screen;
mod word_check;
pub(crate) mod word_task;

use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};

use cluster::DemoCluster;
use corpus::Corpus;
pub(crate) use error::DemoError;
pub(crate) use scenario::DemoOptions;
use scenario::Scenario;
use scratch::{BIDDERS, BUDGET, SLOTS, Scratch};
use screen::Screen;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DemoEnd {
    Right,
    /// A check failed, and was printed.
    Wrong,
    Interrupted,
}

#[derive(Debug, thiserror::Error)]
#[error("{error}{}", log.as_ref().map(|log| format!("; the log of the daemons is {}", log.display())).unwrap_or_default())]
pub(crate) struct DemoFailure {
    pub(crate) error: Box<DemoError>,
    pub(crate) log: Option<PathBuf>,
}

/// Runs a demo and prints its progress. Its folder is removed afterwards, unless it is kept or a check failed.
pub(crate) fn run(options: &DemoOptions) -> Result<DemoEnd, DemoFailure> {
    let mut scratch = Scratch::create().map_err(|error| DemoFailure { error: error.into(), log: None })?;
    let ended = scratch.log_to_file().and_then(|()| run_in(&scratch, options));
    if leaves_files(&ended, options) {
        scratch.keep();
    }
    let log = scratch.log();
    ended.map_err(|error| DemoFailure { error: error.into(), log: Some(log) })
}

fn run_in(scratch: &Scratch, options: &DemoOptions) -> Result<DemoEnd, DemoError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(DemoError::system)?;
    let mut cluster = DemoCluster::new();
    let mut screen = Screen::of_stdout();
    let ended = runtime.block_on(async {
        let stopped = stopped().map_err(DemoError::system)?;
        tokio::pin!(stopped);
        let ended = tokio::select! {
            ended = play_and_check(scratch, options, &mut cluster, &mut screen) => ended?,
            () = &mut stopped => return Ok(DemoEnd::Interrupted),
        };
        if options.keep {
            tokio::select! {
                error = cluster.wait_for_failure() => return Err(error),
                () = stopped => {}
            }
        }
        Ok(ended)
    });
    screen.end();
    cluster.stop();
    if ended.is_ok() && leaves_files(&ended, options) {
        screen.say(&format!("Files and logs of it stay in {}", scratch.folder().display()));
    }
    ended
}

/// Whether the folder stays afterwards.
fn leaves_files(ended: &Result<DemoEnd, DemoError>, options: &DemoOptions) -> bool {
    options.keep || !matches!(ended, Ok(DemoEnd::Right | DemoEnd::Interrupted))
}

async fn play_and_check(
    scratch: &Scratch,
    options: &DemoOptions,
    cluster: &mut DemoCluster,
    screen: &mut Screen,
) -> Result<DemoEnd, DemoError> {
    let serving = cluster.start(scratch).await?;
    screen.say(&format!("Page:    http://{}/ shows what happens", serving.http));
    let corpus = Corpus::write(&scratch.corpus_folder(), u64::from(options.corpus_mb) * 1_000_000).await?;
    screen.say(&format!("Text:    {corpus}"));
    screen.say(&format!(
        "Cluster: a JobTracker and two workers in this process, with {} slots for maps\n         \
         and {} for reduces",
        SLOTS.map, SLOTS.reduce
    ));
    let [alice, bob] = BIDDERS;
    screen.say(&format!(
        "Market:  a tick each second; {} and {} have {BUDGET} credits each, and bid for\n         \
         a slot over a tick\n\
         Jobs:    both count the words; a map takes {} ms at least, to be seen",
        alice.name, bob.name, options.map_ms
    ));
    let mut scenario = Scenario::new(scratch, options, &serving);
    let played = tokio::select! {
        played = scenario.play(screen) => played,
        error = cluster.wait_for_failure() => Err(error),
    };
    screen.end();
    played?;
    let report = scenario.check(&corpus).await?;
    screen.say(&report.text);
    if options.keep {
        screen.say(&scenario.next_steps(scratch, &options.program));
    } else if report.is_right {
        screen.say(&format!("To look around in it: {} demo --keep", options.program));
    }
    Ok(if report.is_right { DemoEnd::Right } else { DemoEnd::Wrong })
}

/// Completes at the first SIGINT, SIGTERM or SIGHUP from now on.
fn stopped() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

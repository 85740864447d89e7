//! `jobtracker demo`: a whole cluster in one process, two users who compete on it, and the proof that both were served and charged right.
//!
//! `scratch` is the folder all of it lies in, `corpus` what is counted, `cluster` the daemons, [`word_task`] what their tasks run,
//! `story` who does what and when, `moment` and `screen` what is seen of it, `bill` and `verdict` what is proved at the end.
//!
//! Invariant: users have no privileges here. They submit, bid and ask over the same ports, signed, as they would anywhere.

mod bill;
mod cluster;
mod corpus;
mod error;
mod moment;
mod scratch;
mod screen;
mod story;
mod verdict;
pub mod word_task;

use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};

use cluster::Cluster;
use corpus::Corpus;
pub use error::DemoError;
use scratch::{BIDDERS, BUDGET, SLOTS, Scratch};
use screen::Screen;
use story::Story;

/// What a demo is told.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Size of the text, MB.
    pub corpus_mb: u32,
    /// Maps of each job, about.
    pub maps: u32,
    /// A map takes at least so long, ms.
    pub map_ms: u64,
    /// Whether the cluster goes on when the story is over.
    pub keep: bool,
    /// Whether reduces count wrong.
    pub miscount: bool,
    /// How the user calls this program.
    pub program: String,
}

/// How a demo ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoEnd {
    /// Counts and bill are right.
    Right,
    /// Something is not as it should be, and was said.
    Wrong,
    /// Somebody did not want to see the end.
    Interrupted,
}

/// Why a demo did not come to its end, and where to read on.
#[derive(Debug, thiserror::Error)]
#[error("{error}{}", log.as_ref().map(|log| format!("; what the daemons said is in {}", log.display())).unwrap_or_default())]
pub struct DemoFailure {
    /// Why.
    pub error: Box<DemoError>,
    /// What the daemons said.
    pub log: Option<PathBuf>,
}

/// Runs a demo, and tells of it on standard output. Its folder is gone afterwards, unless it is kept or something went wrong.
///
/// # Errors
/// [`DemoFailure`]
pub fn run(options: &DemoOptions) -> Result<DemoEnd, DemoFailure> {
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
    let mut cluster = Cluster::new();
    let mut screen = Screen::of_stdout();
    let ended = runtime.block_on(async {
        let stopped = stopped().map_err(DemoError::system)?;
        tokio::pin!(stopped);
        let ended = tokio::select! {
            ended = to_the_verdict(scratch, options, &mut cluster, &mut screen) => ended?,
            () = &mut stopped => return Ok(DemoEnd::Interrupted),
        };
        if options.keep {
            tokio::select! {
                error = cluster.broken() => return Err(error),
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

/// Whether there is something to look at afterwards.
fn leaves_files(ended: &Result<DemoEnd, DemoError>, options: &DemoOptions) -> bool {
    options.keep || !matches!(ended, Ok(DemoEnd::Right | DemoEnd::Interrupted))
}

async fn to_the_verdict(
    scratch: &Scratch,
    options: &DemoOptions,
    cluster: &mut Cluster,
    screen: &mut Screen,
) -> Result<DemoEnd, DemoError> {
    let corpus = Corpus::write(&scratch.corpus_folder(), u64::from(options.corpus_mb) * 1_000_000).await?;
    screen.say(&format!("Text:    {corpus}"));
    let serving = cluster.start(scratch).await?;
    screen.say(&format!(
        "Cluster: a JobTracker and two workers in this process, with {} slots for maps\n         \
         and {} for reduces; its page is http://{}/",
        SLOTS.map, SLOTS.reduce, serving.http
    ));
    let [alice, bob] = BIDDERS;
    screen.say(&format!(
        "Market:  a tick each second; {} and {} have {BUDGET} credits each, and bid for\n         \
         a slot over a tick\n\
         Jobs:    both count the words; a map takes {} ms at least, to be seen",
        alice.name, bob.name, options.map_ms
    ));
    let mut story = Story::new(scratch, options, &serving);
    let played = tokio::select! {
        played = story.play(screen) => played,
        error = cluster.broken() => Err(error),
    };
    screen.end();
    played?;
    let verdict = story.verdict(&corpus).await?;
    screen.say(&verdict.text);
    if options.keep {
        screen.say(&story.next_steps(scratch, &options.program));
    } else if verdict.is_right {
        screen.say(&format!("To look around in it: {} demo --keep", options.program));
    }
    Ok(if verdict.is_right { DemoEnd::Right } else { DemoEnd::Wrong })
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

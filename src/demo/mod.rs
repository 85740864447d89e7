//! `jobtracker demo`: a whole cluster in one process, two users who compete on it, and the proof that both were served and charged right.
//!
//! [`scratch`] is the folder all of it lies in, [`corpus`] what is counted, [`cluster`] the daemons, [`word_task`] what their tasks run,
//! [`story`] who does what and when, [`moment`] and [`screen`] what is seen of it, [`bill`] and [`verdict`] what is proved at the end.
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
use scratch::Scratch;
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

/// Runs a demo, and tells of it on standard output. Its folder is gone afterwards, unless it is kept or something went wrong.
///
/// # Errors
/// [`DemoError`], and where the log is.
pub fn run(options: &DemoOptions) -> Result<DemoEnd, (DemoError, Option<PathBuf>)> {
    let mut scratch = Scratch::create().map_err(|error| (error, None))?;
    let ended = scratch.log_to_file().and_then(|()| run_in(&scratch, options));
    match &ended {
        Ok(DemoEnd::Right | DemoEnd::Interrupted) if !options.keep => {}
        _ => scratch.keep(),
    }
    let log = scratch.log();
    ended.map_err(|error| (error, Some(log)))
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
    match &ended {
        Ok(DemoEnd::Right | DemoEnd::Interrupted) if !options.keep => {}
        Ok(_) => screen.say(&format!("Files and logs of it stay in {}", scratch.folder().display())),
        Err(_) => {}
    }
    ended
}

async fn to_the_verdict(
    scratch: &Scratch,
    options: &DemoOptions,
    cluster: &mut Cluster,
    screen: &mut Screen,
) -> Result<DemoEnd, DemoError> {
    let corpus = Corpus::write(&scratch.corpus_folder(), u64::from(options.corpus_mb) * 1_000_000)?;
    screen.say(&format!("Text: {corpus}."));
    let serving = cluster.start(scratch).await?;
    screen.say(&format!("Cluster: {}; its page is http://{}/", cluster::SLOTS_TEXT, serving.http));
    screen.say(&format!(
        "Market: a tick each second; {}. Each map takes {} ms at least, to be seen.",
        scratch.people_text(),
        options.map_ms
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
        screen.say(&format!(
            "Look around in it: `{} demo --keep` leaves it running. Read on in README.md.",
            options.program
        ));
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

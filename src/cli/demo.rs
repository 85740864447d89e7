//! `jobtracker demo`, and `jobtracker demo-task`, which its tasks run.

use std::io::{BufWriter, stdin, stdout};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::demo::{DemoEnd, DemoFailure, DemoOptions, word_task};

/// What `demo` is told.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoArguments {
    /// Leaves the cluster running until Ctrl-C, and its files for good
    #[arg(long)]
    keep: bool,
    /// Size of the text whose words are counted, MB
    #[arg(long, value_name = "MB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4096))]
    corpus_mb: u32,
    /// Maps of each of the two jobs, about
    #[arg(long, value_name = "COUNT", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=5000))]
    maps: u32,
    /// A map takes at least so long, ms
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    map_ms: u64,
    /// Has the reduces count wrong, to see that it is found
    #[arg(long, hide = true)]
    miscount: bool,
}

/// What a task of a demo does.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum DemoTask {
    /// Counts words
    Map {
        /// Takes at least so long, ms
        #[arg(long, default_value_t = 0)]
        at_least_ms: u64,
    },
    /// Sums counts up
    Reduce {
        /// Counts one too many
        #[arg(long)]
        miscount: bool,
    },
}

/// Exit code when counts or bill are wrong, or the demo does not come to its end.
const FAILED: u8 = 1;
/// Exit code after Ctrl-C, as of whatever a shell runs.
const INTERRUPTED: u8 = 130;

/// Runs the demo.
///
/// # Errors
/// [`DemoFailure`]
pub fn run(arguments: &DemoArguments) -> Result<ExitCode, DemoFailure> {
    let DemoArguments { keep, corpus_mb, maps, map_ms, miscount } = *arguments;
    let program = std::env::args().next().unwrap_or_else(|| "jobtracker".to_owned());
    let options = DemoOptions { corpus_mb, maps, map_ms, keep, miscount, program };
    Ok(match crate::demo::run(&options)? {
        DemoEnd::Right => ExitCode::SUCCESS,
        DemoEnd::Wrong => ExitCode::from(FAILED),
        DemoEnd::Interrupted => ExitCode::from(INTERRUPTED),
    })
}

/// Runs a task between standard input and standard output.
///
/// # Errors
/// Those of reading and writing.
#[expect(clippy::disallowed_methods, reason = "a map takes as long as it is told")]
pub fn run_task(task: &DemoTask) -> std::io::Result<()> {
    let begin = Instant::now();
    let (lines, counts) = (stdin().lock(), BufWriter::new(stdout().lock()));
    match *task {
        DemoTask::Map { at_least_ms } => word_task::map(lines, counts, || {
            std::thread::sleep(Duration::from_millis(at_least_ms).saturating_sub(begin.elapsed()));
        }),
        DemoTask::Reduce { miscount } => word_task::reduce(lines, counts, miscount),
    }
}

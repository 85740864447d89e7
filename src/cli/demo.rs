//! `jobtracker demo`, and the hidden `jobtracker demo-task` that its tasks run.

use std::io::{BufWriter, stdin, stdout};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::cli::exit_code::{FAILED, INTERRUPTED};
use crate::demo::{DemoEnd, DemoFailure, DemoOptions, word_task};

/// Options of `demo`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DemoArguments {
    /// Keep the cluster running until Ctrl-C, and keep its files
    #[arg(long)]
    keep: bool,
    /// Size of the generated text, MB
    #[arg(long, value_name = "MB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4096))]
    corpus_mb: u32,
    /// Approximate number of maps of each of the two jobs
    #[arg(long, value_name = "COUNT", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=5000))]
    maps: u32,
    /// Minimum run time of a map, ms
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    map_ms: u64,
    /// Make the reduces count wrong, to test the check
    #[arg(long, hide = true)]
    miscount: bool,
}

/// Tasks of the demo.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum DemoTask {
    /// Count words
    Map {
        /// Minimum run time, ms
        #[arg(long, default_value_t = 0)]
        at_least_ms: u64,
    },
    /// Add up counts
    Reduce {
        /// Add one to a count
        #[arg(long)]
        miscount: bool,
    },
}

/// Ends with 1 when counts or bill are wrong, or the demo fails.
pub(crate) fn run(arguments: &DemoArguments) -> Result<ExitCode, DemoFailure> {
    let DemoArguments { keep, corpus_mb, maps, map_ms, miscount } = *arguments;
    let program = std::env::args().next().unwrap_or_else(|| "jobtracker".to_owned());
    let options = DemoOptions { corpus_mb, maps, map_ms, keep, miscount, program };
    Ok(match crate::demo::run(&options)? {
        DemoEnd::Right => ExitCode::SUCCESS,
        DemoEnd::Wrong => ExitCode::from(FAILED),
        DemoEnd::Interrupted => ExitCode::from(INTERRUPTED),
    })
}

#[expect(clippy::disallowed_methods, reason = "the option sets the run time of a map")]
pub(crate) fn run_task(task: &DemoTask) -> std::io::Result<()> {
    let begin = Instant::now();
    let (lines, counts) = (stdin().lock(), BufWriter::new(stdout().lock()));
    match *task {
        DemoTask::Map { at_least_ms } => word_task::map(lines, counts, || {
            std::thread::sleep(Duration::from_millis(at_least_ms).saturating_sub(begin.elapsed()));
        }),
        DemoTask::Reduce { miscount } => word_task::reduce(lines, counts, miscount),
    }
}

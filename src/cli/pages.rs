//! `jobtracker pages`: shows the pages and the API of a state database or a backup of it, without a JobTracker.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::lifecycle::{StatePages, StatePagesError};
use crate::store::StoreError;

use super::exit_code::{FAILED, HasExitCode, WRONG_USAGE};
use super::serve::reach;
use super::terminal::print;
use super::time_text::format_time;

/// Options of `pages`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PagesArguments {
    /// The state.db or the backup to show; it is never changed
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// Address to serve on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50031")]
    http: SocketAddr,
    /// Show money, and jobs whatever their access lists say, to everybody who reaches the address
    #[arg(long)]
    show_all: bool,
}

impl HasExitCode for StatePagesError {
    /// The exit code: 2 for a file or an address that a person must change, 1 for any other failure.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Store(
                StoreError::OtherSchema { .. } | StoreError::Damaged { .. } | StoreError::File { action: "read", .. },
            )
            | Self::Address { .. } => WRONG_USAGE,
            Self::Store(_) | Self::System(_) => FAILED,
        }
    }
}

/// Serves until it is stopped.
pub(crate) fn run(arguments: &PagesArguments) -> Result<(), StatePagesError> {
    let PagesArguments { state, http, show_all } = arguments;
    let pages = StatePages { file: state.clone(), http: *http, shows_all: *show_all };
    pages.serve(|address, at_ms| {
        let shown = format!(
            "{} as of {}: http://{address}/, open to {}; Ctrl-C ends\n",
            state.display(),
            format_time(at_ms),
            reach(address)
        );
        // Who does not read the line still has the pages.
        let _ = print(&shown);
    })
}

//! The `jobtracker` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    jobtracker::cli::main()
}

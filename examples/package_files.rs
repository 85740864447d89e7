//! Writes what a package installs beside the program: man pages and completion scripts.
//!
//! `cargo run --example package_files -- FOLDER`

use std::fs::{create_dir_all, write};
use std::path::PathBuf;

use anyhow::Context;
use clap_complete::{Shell, generate};

fn main() -> anyhow::Result<()> {
    let folder =
        std::env::args_os().nth(1).map(PathBuf::from).context("expected one argument: the folder to write to")?;
    let man = folder.join("man");
    create_dir_all(&man)?;
    // A page for each subcommand, such as jobtracker-job-submit.1.
    clap_mangen::generate_to(jobtracker::cli::command(), &man)?;
    let completions = folder.join("completions");
    create_dir_all(&completions)?;
    for (shell, name) in [(Shell::Bash, "jobtracker"), (Shell::Zsh, "_jobtracker"), (Shell::Fish, "jobtracker.fish")] {
        let mut script = Vec::new();
        generate(shell, &mut jobtracker::cli::command(), "jobtracker", &mut script);
        write(completions.join(name), script)?;
    }
    Ok(())
}

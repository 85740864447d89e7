//! `jobtracker completion`: completion scripts for shells.

use clap_complete::{Shell, generate};

/// Options of `completion`.
#[derive(Clone, Debug, clap::Args)]
pub struct CompletionArguments {
    /// Shell to print the completion script for
    #[arg(value_name = "SHELL")]
    shell: ShellArgument,
}

/// Supported shells.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ShellArgument {
    Bash,
    Zsh,
    Fish,
}

/// The script for the commands and options of `command`.
pub fn completion(arguments: &CompletionArguments, mut command: clap::Command) -> String {
    let shell = match arguments.shell {
        ShellArgument::Bash => Shell::Bash,
        ShellArgument::Zsh => Shell::Zsh,
        ShellArgument::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    generate(shell, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

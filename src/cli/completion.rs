//! `jobtracker completion`: completion scripts for shells.

use clap::{Arg, Command, ValueHint};
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

/// Values that are paths; shells complete all others with nothing.
const PATHS: [&str; 4] = ["FILE", "DIR", "PATH", "PROGRAM"];

/// The command with hints for shells: by default they would offer files where a job id or a queue is asked for.
pub fn with_hints(command: Command) -> Command {
    let hint = |arg: Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        let is_path = names.iter().any(|name| PATHS.contains(&name.as_str()));
        let takes_value = arg.get_action().takes_values();
        match arg.get_value_hint() {
            ValueHint::Unknown if takes_value && !is_path => arg.value_hint(ValueHint::Other),
            _ => arg,
        }
    };
    command.mut_args(hint).mut_subcommands(with_hints)
}

/// The script for the commands and options of `command`.
pub fn completion(arguments: &CompletionArguments, mut command: Command) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zsh_completes_files_only_where_a_path_is_asked_for() {
        let script = completion(&CompletionArguments { shell: ShellArgument::Zsh }, crate::cli::command());
        let line = |words: &str| script.lines().find(|line| line.contains(words)).unwrap_or_default().to_owned();
        assert!(line("--key-file=").contains("_files"), "{}", line("--key-file="));
        assert!(line("-- Job ids").is_empty() || !line("-- Job ids").contains("_default"));
        let jobs: Vec<&str> = script.lines().filter(|line| line.contains("Job id")).collect();
        assert!(
            !jobs.is_empty() && jobs.iter().all(|line| !line.contains("_default") && !line.contains("_files")),
            "{jobs:?}"
        );
    }
}

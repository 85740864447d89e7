//! `jobtracker completion`: completion scripts for shells.

use clap::{Arg, Command, ValueHint};
use clap_complete::{Shell, generate};

/// Options of `completion`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CompletionArguments {
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
pub(crate) fn with_hints(command: Command) -> Command {
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

pub(crate) fn completion(arguments: &CompletionArguments, mut command: Command) -> String {
    let shell = match arguments.shell {
        ShellArgument::Bash => Shell::Bash,
        ShellArgument::Zsh => Shell::Zsh,
        ShellArgument::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    generate(shell, &mut command, name, &mut script);
    with_names(shell, &String::from_utf8_lossy(&script))
}

/// The script with a question to the server where a job, a queue, a worker or a scheduler is named.
fn with_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => format!("{script}\n{BASH_NAMES}"),
        Shell::Zsh => {
            let script = script.replace("    _jobtracker \"$@\"\n", "    _jobtracker_or_names \"$@\"\n");
            let script = script.replace("compdef _jobtracker jobtracker", "compdef _jobtracker_or_names jobtracker");
            match script.split_once("\n\n") {
                Some((head, rest)) => format!("{head}\n\n{ZSH_NAMES}\n{rest}"),
                None => script,
            }
        }
        _ => format!("{script}\n{FISH_NAMES}"),
    }
}

/// Names come before the options of the generated function, unless an option is begun.
const BASH_NAMES: &str = r#"_jobtracker_or_names() {
    local word="${COMP_WORDS[COMP_CWORD]}"
    if [[ "$word" != -* ]]; then
        local names
        names=$("$1" complete-names -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
        if [[ -n "$names" ]]; then
            # Names are others' texts: compgen -W would expand what stands in them.
            COMPREPLY=()
            local name
            while IFS= read -r name; do
                [[ "$name" != "$word"* ]] || COMPREPLY+=("$name")
            done <<<"$names"
            return 0
        fi
    fi
    _jobtracker "$@"
}
complete -F _jobtracker_or_names -o bashdefault -o default jobtracker
"#;
const ZSH_NAMES: &str = r#"_jobtracker_or_names() {
    if [[ "${words[CURRENT]}" != -* ]]; then
        local -a names
        names=(${(f)"$(${words[1]} complete-names -- ${words[2,CURRENT-1]} 2>/dev/null)"})
        if (( $#names )); then
            compadd -a names
            return
        fi
    fi
    _jobtracker "$@"
}
"#;
const FISH_NAMES: &str = r#"complete -c jobtracker -a '(set -l words (commandline -opc); $words[1] complete-names -- $words[2..-1] 2>/dev/null)'
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_script_asks_for_names_once_it_has_read_the_words_before() {
        for shell in [ShellArgument::Bash, ShellArgument::Zsh, ShellArgument::Fish] {
            let script = completion(&CompletionArguments { shell }, crate::cli::command());
            assert!(script.contains("complete-names -- "), "{shell:?}");
        }
        let zsh = completion(&CompletionArguments { shell: ShellArgument::Zsh }, crate::cli::command());
        assert!(zsh.starts_with("#compdef jobtracker"), "{}", zsh.lines().next().unwrap());
        assert!(zsh.contains("compdef _jobtracker_or_names jobtracker"), "{}", zsh.lines().last().unwrap());
        assert!(zsh.contains("    _jobtracker_or_names \"$@\"\nelse"), "where it is loaded by its name");
    }

    #[test]
    fn bash_offers_the_names_that_the_program_prints() {
        let script = completion(&CompletionArguments { shell: ShellArgument::Bash }, crate::cli::command());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("script"), script).unwrap();
        // In the place of the program: the names of all that it is asked for.
        let words = r#"
            fake() {
                [[ "$*" == "complete-names -- job status" ]] && printf '%s\n' job_1_0001 job_1_0002 '$(echo>ran)' '`echo>ran`' '*'
            }
            source ./script
            COMP_WORDS=(fake job status job_1_0002) COMP_CWORD=3
            _jobtracker_or_names fake job_1_0002 status
            echo "${COMPREPLY[@]}"
            COMP_WORDS[3]=
            _jobtracker_or_names fake '' status
            echo "${#COMPREPLY[@]}""#;
        let output =
            std::process::Command::new("bash").args(["-c", words]).current_dir(folder.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "job_1_0002\n5\n", "{output:?}");
        assert!(!folder.path().join("ran").exists(), "a name is a text, not a command");
    }

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

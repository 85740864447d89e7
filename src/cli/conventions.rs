//! What holds for every command: the same short option for the same word, `--user` as another word for `--as` where it does
//! not filter, and at the end of each help examples and the manual.

use clap::{Arg, Command};

use super::examples::EXAMPLES;

/// Short options, by the word that they stand for.
pub(super) const SHORTS: &[(&str, char)] = &[
    ("all", 'a'),
    ("cores", 'c'),
    ("detach", 'd'),
    ("env", 'e'),
    ("follow", 'f'),
    ("limit", 'l'),
    ("memory", 'm'),
    ("name", 'n'),
    ("queue", 'q'),
    ("state", 's'),
    ("user", 'u'),
    ("wait", 'w'),
    ("yes", 'y'),
];
/// Words of `job submit` without a short option: Hadoop Streaming's own options begin with the letter after one dash.
pub(super) const STREAMING_WORDS: [&str; 2] = ["detach", "name"];
const STREAMING_COMMAND: &str = "jobtracker job submit";
/// Who asks; another word for it is the one that filters elsewhere.
const ASKS: &str = "signed_as";
const FILTERS: &str = "user";

/// The command and all below it with the conventions.
pub(super) fn with_conventions(command: Command) -> Command {
    let path = command.get_name().to_owned();
    with_conventions_at(command, &path)
}

fn with_conventions_at(command: Command, path: &str) -> Command {
    let filters = command.get_arguments().any(|arg| arg.get_id() == FILTERS);
    let command = command.mut_args(|arg| match arg.get_id() == ASKS && !filters {
        true => arg.visible_alias(FILTERS).visible_short_alias('u'),
        false => with_short(arg, path),
    });
    let command = command.mut_args(with_negative_values);
    let own = command.get_after_help().map(ToString::to_string);
    let examples = if command.has_subcommands() { None } else { examples_text(path) };
    let help = [own.clone(), examples, Some(manual_text(path))];
    let help = help.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    command.after_help(help).mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        // The exit codes of a group are those of its commands.
        let below = match (below.get_after_help(), &own) {
            (None, Some(own)) => below.after_help(own),
            _ => below,
        };
        with_conventions_at(below, &path)
    })
}

/// A value that begins with a dash is the value, so that its own error names it: `--reduces -1`, `--deadline -5m`.
fn with_negative_values(arg: Arg) -> Arg {
    if arg.is_positional() || !arg.get_action().takes_values() {
        return arg;
    }
    let is_duration = arg.get_value_names().is_some_and(|names| {
        names.iter().any(|name| name.contains("DURATION") || name.as_str() == "TIME" || name.as_str() == "CREDITS")
    });
    if is_duration { arg.allow_hyphen_values(true) } else { arg.allow_negative_numbers(true) }
}

fn with_short(arg: Arg, path: &str) -> Arg {
    let short = SHORTS.iter().find(|(word, _)| arg.get_long() == Some(*word)).map(|(_, short)| *short);
    let is_of_streaming =
        path == STREAMING_COMMAND && arg.get_long().is_some_and(|word| STREAMING_WORDS.contains(&word));
    match short.filter(|_| !is_of_streaming) {
        Some(short) => arg.short(short),
        None => arg,
    }
}

fn examples_text(path: &str) -> Option<String> {
    let lines: Vec<_> = EXAMPLES.iter().filter(|(line, _)| is_of(line, path)).collect();
    let width = lines.iter().map(|(line, _)| line.len()).max()?;
    let shown = lines.iter().map(|(line, what)| match what.is_empty() {
        true => format!("\n  {line}"),
        false => format!("\n  {line:width$}  # {what}"),
    });
    Some(format!("Examples:{}", shown.collect::<String>()))
}

/// Whether a line gives the command of that path.
fn is_of(line: &str, path: &str) -> bool {
    line.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

fn manual_text(path: &str) -> String {
    format!("Manual: man {}", path.replace(' ', "-"))
}

#[cfg(test)]
#[path = "tests/conventions.rs"]
mod tests;

//! Exit codes that several commands share, and the exit on wrong usage.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Wrong usage or configuration, and a refusal.
pub(super) const WRONG_USAGE: u8 = 2;
/// A denial, and a missing signature.
pub(super) const DENIED: u8 = 3;
/// No valid answer.
pub(super) const UNREACHABLE: u8 = 4;
/// Ctrl-C, as is usual for shells.
pub(super) const INTERRUPTED: u8 = 130;

/// Prints the error of a command line, and ends the process.
pub(super) fn exit_with(error: clap::Error, words: &[OsString], command: Command) -> ! {
    with_whole_usage(error, words, command).exit()
}

/// clap's own usage of a missing argument lists the options that are there beside those that are required.
fn with_whole_usage(mut error: clap::Error, words: &[OsString], mut command: Command) -> clap::Error {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return error;
    }
    command.build();
    let mut innermost = command;
    for word in words.iter().skip(1).map_while(|word| word.to_str()) {
        let Some(below) = innermost.find_subcommand(word).cloned() else { break };
        innermost = below;
    }
    error.insert(ContextKind::Usage, ContextValue::StyledStr(innermost.render_usage()));
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_were_given_are_not_called_required() {
        let words = ["jobtracker", "job", "submit", "--server", "h:1", "--jobtracker", "h:2", "--input", "a"];
        let words: Vec<OsString> = words.map(OsString::from).to_vec();
        let error = crate::cli::command().try_get_matches_from(&words).unwrap_err();
        assert!(error.to_string().contains("--server <ADDRESS>"), "clap does no more what this mends: {error}");
        let text = with_whole_usage(error, &words, crate::cli::command()).to_string();
        let (_, usage) = text.split_once("Usage: ").unwrap();
        assert!(text.contains("--mapper <COMMAND>") && usage.starts_with("jobtracker job submit "), "{text}");
        assert!(!usage.contains("--server") && !usage.contains("--jobtracker"), "{text}");
    }
}

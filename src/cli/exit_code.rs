//! Exit codes that several commands share, how a command fails, and the exit on wrong usage.

use std::ffi::OsString;
use std::fmt::Display;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::config::ConfigError;
use crate::config::settings::UnknownScheduler;
use crate::fs::FsError;
use crate::lifecycle::ControlError;
use crate::market::AclEditError;

/// Any failure that none of the others is.
pub(super) const FAILED: u8 = 1;
/// Wrong usage or configuration, and a refusal.
pub(super) const WRONG_USAGE: u8 = 2;
/// A denial, and a missing signature.
pub(super) const DENIED: u8 = 3;
/// No valid answer.
pub(super) const UNREACHABLE: u8 = 4;
/// Ctrl-C, as is usual for shells.
pub(super) const INTERRUPTED: u8 = 130;

/// How a command ends that has failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(super) code: u8,
    /// For stderr.
    pub(super) text: String,
}

/// An error that always ends a command with the same code.
pub(crate) trait HasExitCode: Display {
    fn exit_code(&self) -> u8;
}

impl Failure {
    pub(super) fn new(code: u8, error: impl Display) -> Self {
        Self { code, text: error.to_string() }
    }

    /// Of wrong usage or configuration, or refused.
    pub(super) fn usage(error: impl Display) -> Self {
        Self::new(WRONG_USAGE, error)
    }

    /// Any that is none of the others.
    pub(super) fn other(error: impl Display) -> Self {
        Self::new(FAILED, error)
    }

    /// Of a request that only the daemon's own machine can make.
    pub(super) fn of_control(error: &ControlError) -> Self {
        let text = format!("{error}; run this on the daemon's machine with its --conf, as its user or root");
        Self::new(error.exit_code(), text)
    }
}

impl<E: HasExitCode> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error.exit_code(), error)
    }
}

impl HasExitCode for ConfigError {
    fn exit_code(&self) -> u8 {
        WRONG_USAGE
    }
}

impl HasExitCode for UnknownScheduler {
    fn exit_code(&self) -> u8 {
        WRONG_USAGE
    }
}

impl HasExitCode for FsError {
    fn exit_code(&self) -> u8 {
        FAILED
    }
}

impl HasExitCode for AclEditError {
    fn exit_code(&self) -> u8 {
        WRONG_USAGE
    }
}

impl HasExitCode for ControlError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Unreached { .. } => UNREACHABLE,
            Self::Unanswered(_) => FAILED,
        }
    }
}

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

//! How a command ended: by itself with a code, or of a signal.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::WaitStatus;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    /// With this exit code, 0 to 255.
    Exited(u8),
    Signalled(u8),
}

/// First byte of a message about an exit.
const EXITED: u8 = b'e';
/// First byte of a message about a signal.
const SIGNALLED: u8 = b's';

impl CommandEnd {
    /// Length of [`Self::message`], bytes.
    pub(crate) const MESSAGE_BYTES: usize = 2;

    /// As shells write it: the code, or 128 + n for signal n.
    pub(crate) fn shell_status(self) -> i32 {
        match self {
            Self::Exited(code) => i32::from(code),
            Self::Signalled(signal) => 128 + i32::from(signal),
        }
    }

    /// The message by which a supervisor reports it.
    pub(super) fn message(self) -> [u8; Self::MESSAGE_BYTES] {
        match self {
            Self::Exited(code) => [EXITED, code],
            Self::Signalled(signal) => [SIGNALLED, signal],
        }
    }

    /// Reads such a message.
    pub(super) fn of_message(message: &[u8]) -> Option<Self> {
        match *message {
            [EXITED, code] => Some(Self::Exited(code)),
            [SIGNALLED, signal] => Some(Self::Signalled(signal)),
            _ => None,
        }
    }

    fn of(code: Option<i32>, signal: Option<i32>) -> Self {
        match code {
            // Of an exit code the system keeps eight bits.
            Some(code) => Self::Exited(code as u8),
            None => Self::Signalled(signal.unwrap_or(0) as u8),
        }
    }
}

/// The name of a signal that ends commands in practice.
pub(crate) fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        2 => "INT",
        4 => "ILL",
        6 => "ABRT",
        7 => "BUS",
        8 => "FPE",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        15 => "TERM",
        24 => "XCPU",
        25 => "XFSZ",
        _ => return None,
    })
}

impl From<WaitStatus> for CommandEnd {
    fn from(status: WaitStatus) -> Self {
        Self::of(status.exit_status(), status.terminating_signal())
    }
}

impl From<ExitStatus> for CommandEnd {
    fn from(status: ExitStatus) -> Self {
        Self::of(status.code(), status.signal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_tells_a_signal_from_the_code_that_shells_write_for_it() {
        let [code, signal] = [CommandEnd::Exited(137), CommandEnd::Signalled(9)];
        assert_eq!(code.shell_status(), signal.shell_status());
        for end in [code, signal, CommandEnd::Exited(0)] {
            assert_eq!(CommandEnd::of_message(&end.message()), Some(end));
        }
        assert_eq!(CommandEnd::of_message(b"t1"), None);
        assert_eq!(CommandEnd::from(ExitStatus::from_raw(15)), CommandEnd::Signalled(15));
        assert_eq!(CommandEnd::from(ExitStatus::from_raw(3 << 8)), CommandEnd::Exited(3));
    }
}

//! Attempts that run as their job's user, each in a process of its own: this program, started with [`ATTEMPT_COMMAND`].
//!
//! The worker, which is root, starts the process under a supervisor and sends it over a socket whose ids to take (`identity`) and what to
//! run (`message`). `user_process` is such a process for the worker, also of a container, `user_attempt` is the worker's side, `attempt_process` the other one: it takes the ids before it does anything else,
//! then does the same work as an attempt in the worker's own process, so that all that happens on paths that the job names happens with
//! the ids of its user.
//!
//! Invariants: the worker uses no path that it receives; it follows no link below a folder that it has given away. The worker's supervisor is
//! root's, so that no command can end it: what is left of an attempt is killed with it, and when the worker is gone.

mod attempt_process;
mod identity;
mod message;
mod user_attempt;
mod user_process;

pub(crate) use attempt_process::run_attempt_process;
pub(super) use identity::Identity;
pub(super) use message::{SharedChannel, sleep_between_reports};
pub(super) use user_attempt::UserAttempt;
pub(super) use user_process::{UserProcess, UserProcessSpec};

/// The argument that makes the program the process of an attempt.
pub(crate) const ATTEMPT_COMMAND: &str = "run-attempt";

//! Commands under a supervisor process: whatever a command starts ends with it.
//!
//! `command` describes and starts a command, `process` is the supervisor process and the handle on it, `keeper_process` one that
//! keeps one command after another, `keepers` those that wait for the next; `running_command` starts, ends
//! and reaps a command, `process_tree` reads `/proc`, `shortage` says what the machine lacks. Nothing here knows of tasks.

pub(crate) mod command;
pub(crate) mod keeper_process;
pub(crate) mod keepers;
pub(crate) mod process;
pub(crate) mod process_tree;
pub(crate) mod running_command;
pub(crate) mod shortage;

pub use keepers::Keepers;
pub use running_command::Supervision;

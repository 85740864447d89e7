//! Client of the HTTP interface for applications: their calls, reports and logs.
//!
//! With a key requests are signed, by this machine's clock until the server corrects it. Without one, or where the server knows
//! no keys, they name the user, who is believed over loopback. Every call may be sent twice with the effect of one, so a call
//! whose answer is lost is sent again.

mod call;
mod clock;
mod container_log;
mod error;
mod exchange;
mod items;
mod local_file;
mod problem;
mod questions;
mod submission;
#[cfg(test)]
pub(crate) mod tests;
mod watch;

pub(crate) use container_log::{ContainerLog, LogName};
pub(crate) use error::ApplicationClientError;
pub use exchange::ApplicationClient;
pub(crate) use items::{count_items, items_fault, items_without};
pub(crate) use local_file::LocalFile;
pub(crate) use problem::{Fault, FaultPlace, Problem};
pub(crate) use questions::{ApplicationQuery, ContainerQuery, KillOutcome};
pub use submission::{RunSubmission, WorkItems};
pub(crate) use watch::ConnectionNews;

//! Client of the HTTP interface for applications: their calls, reports and logs. With a key requests are signed, by this machine's clock
//! until the server corrects it. Without one, or where the server knows no keys, they name the user, who is believed over loopback. Every
//! call may be sent twice with the effect of one, so a call whose answer is lost is sent again.

mod call;
mod container_log;
mod error;
mod exchange;
mod items;
mod questions;
mod submission;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use container_log::{ContainerLog, LogName};
pub(crate) use error::{ApplicationClientError, Fault, FaultPlace, Problem};
pub use exchange::ApplicationClient;
pub(crate) use items::{count_items, items_fault, items_without};
pub(crate) use questions::{ApplicationQuery, ConnectionNews, ContainerQuery, KillOutcome};
pub(crate) use submission::LocalFile;
pub use submission::{RunSubmission, WorkItems};

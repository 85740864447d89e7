//! Containers: applications ask for them by request tables whose rows are gates, nodes have memory and cores for them.
//!
//! The caller sets rows (`Scheduler::ask`) and nodes (`Scheduler::set_bag`, `Scheduler::set_takes_containers`),
//! reports ends (`Scheduler::end_container`), and after each event lets the scheduler grant what has become possible
//! (`Scheduler::grant_containers`, `Scheduler::grant_containers_on`). A [`ContainerSource`] takes each container.
//!
//! A policy orders applications and jobs of one group by the same keys. Inside an application its types are served strictly in their order.

mod asking;
pub(super) mod bag;
pub(super) mod demand;
mod granting;
mod node_index;
mod nodes;
mod offering;
mod placing;
mod reasons;
mod request;
mod reserving;
mod room_index;
mod serving;
pub(super) mod state;
#[cfg(test)]
mod tests;
mod type_table;

pub(crate) use bag::Earmark;
pub(crate) use reasons::ContainerReason;
pub(crate) use request::{AskedRow, ContainerGrant, ContainerSource, CountedRows, RequestType};
pub(crate) use state::WaitingHousekeeping;

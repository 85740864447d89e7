//! The fair scheduler: pools share the slots in proportion to their weights, after their minimums (1.2.1 contrib `FairScheduler`).
//!
//! The policy rests on decisions over plain values: the allocation file ([`allocation_file`]), the periodic update of
//! demands, weights and shares, the order of pools and jobs, what a heartbeat may give ([`heartbeat_plan`],
//! [`locality_wait`]), and preemption ([`starvation`], [`victims`]).

pub(crate) mod allocation_file;
pub mod allocations;
mod deficit;
pub(crate) mod event_log;
mod fair_job;
pub(crate) mod heartbeat_plan;
mod leftovers;
pub(crate) mod load_cap;
pub(crate) mod locality_wait;
pub mod options;
pub(super) mod policy;
pub(crate) mod pool_detail;
pub(crate) mod pool_name;
mod pools;
mod rank;
mod refresh;
pub(crate) mod reload;
pub(crate) mod share;
pub(crate) mod starvation;
mod update;
pub(crate) mod victims;
pub(crate) mod weight;
mod xml_element;

#[cfg(test)]
mod tests;

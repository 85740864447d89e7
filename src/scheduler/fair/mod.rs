//! The fair scheduler: pools share the slots in proportion to their weights, after their minimums (1.2.1 contrib
//! `FairScheduler`).
//!
//! The policy rests on decisions over plain values: the allocation file ([`allocation_file`]), the periodic update of
//! demands, weights and shares, the order of pools and jobs, what a heartbeat may give ([`heartbeat_plan`],
//! [`locality_wait`]), and preemption ([`starvation`], [`victims`]).

pub mod allocation_file;
pub mod allocations;
mod claims;
mod deficit;
mod deficit_update;
pub mod event_log;
mod fair_job;
mod heartbeat_notes;
pub mod heartbeat_plan;
mod leftovers;
pub mod load_cap;
pub mod locality_wait;
pub mod options;
pub(super) mod policy;
pub mod pool_claims;
pub mod pool_detail;
pub mod pool_name;
mod pool_tree;
mod pools;
mod rank;
mod refresh;
pub mod reload;
mod running_limits;
pub mod share;
pub mod starvation;
mod update;
pub mod victims;
pub mod weight;
mod xml_element;

#[cfg(test)]
mod tests;

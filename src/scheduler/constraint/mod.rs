//! The constraint scheduler (seed 001): a job with a deadline is admitted if the cluster can keep it, and gets the least
//! slots that do.
//!
//! [`JobWork`] is what a job has to do, [`Model`] the formulas, [`Ledger`] the slots that admitted jobs are promised,
//! [`admit`] the test that a new deadline has to pass.

mod admission;
mod costs;
mod job_work;
mod key_spread;
mod ledger;
mod model;
mod sums_by_time;

#[cfg(test)]
mod tests;

pub use admission::{DeadlineRejection, JobPlan, SlotSupply, TimedWork, admit};
pub use costs::Costs;
pub use job_work::JobWork;
pub use key_spread::KeySpread;
pub use ledger::{Ledger, Promise};
pub use model::Model;

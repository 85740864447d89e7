//! The constraint scheduler (seed 001): a job with a deadline is admitted if the cluster can keep it, and gets the least slots that do.
//!
//! [`DeadlineSpec`] is what a job says, [`JobWork`] what it has to do, [`Model`] the formulas, [`PromiseLedger`] the slots that
//! admitted jobs are promised, [`admit`] the test that a new deadline has to pass. The policy keeps a plan for each job
//! (`deadline_job`), renews it as things change, and looks every second which deadlines are kept.

mod admission;
mod app_deadline;
mod constraint_config;
mod cost_history;
mod costs;
mod deadline_job;
mod free_time;
mod job_work;
mod ledger;
mod model;
mod overrun;
mod policy;
mod promises;
mod sums_by_time;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use admission::DeadlineRejection;
pub use admission::{JobPlan, TimedWork};
pub(crate) use admission::{RejectedJob, Seconds, SlotSupply, WhatIf, admit, what_if};
pub use app_deadline::AppDeadline;
pub(crate) use app_deadline::{ChangedDeadline, DeadlineChange, DeadlineDetail, DeadlineState, NewDeadline};
pub use constraint_config::ConstraintConfig;
pub(crate) use constraint_config::{
    AdmissionRule, AdmissionSlots, DeadlineSpec, Due, HistoryConfig, OnMissed, StatedCost, Strategy,
};
pub use cost_history::JobEstimate;
pub(crate) use cost_history::{CostHistory, JobClass};
pub(crate) use costs::{Costs, KnownCosts};
pub(crate) use job_work::InputVolume;
pub use job_work::{JobWork, KeySpread};
pub(crate) use ledger::{MapClaim, Promise, PromiseLedger};
pub(crate) use model::Model;
pub(crate) use overrun::Overrun;
pub(super) use policy::Constraint;
pub(crate) use promises::{UnfinishedJob, find_at_risk};

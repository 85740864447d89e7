//! The constraint scheduler (seed 001): a job with a deadline is admitted if the cluster can keep it, and gets the least
//! slots that do.
//!
//! [`DeadlineSpec`] is what a job says, [`JobWork`] what it has to do, [`Model`] the formulas, [`Ledger`] the slots that
//! admitted jobs are promised, [`admit`] the test that a new deadline has to pass. The policy keeps a plan for each job
//! (`deadline_job`), renews it as things change, and looks every second which deadlines are kept.

mod admission;
mod app_deadline;
mod at_risk;
mod check;
mod check_changed;
mod constraint_config;
mod cost_history;
mod costs;
mod deadline_change;
mod deadline_detail;
mod deadline_job;
mod deadline_state;
mod free_time;
mod input_volume;
mod job_class;
mod job_estimate;
mod job_work;
mod key_spread;
mod known_costs;
mod ledger;
mod lending;
mod loan;
mod model;
mod overrun;
mod planning;
mod policy;
mod rejected_job;
mod report;
mod running_maps;
mod spec_work;
mod sums_by_time;

#[cfg(test)]
mod tests;

pub use admission::{
    Assessment, DeadlineRejection, JobPlan, Seconds, SlotSupply, TimedWork, WhatIf, admit, assess, what_if,
};
pub use app_deadline::AppDeadline;
pub use at_risk::{UnfinishedJob, find_at_risk};
pub use constraint_config::{
    Admission, AdmissionSlots, ConstraintConfig, DeadlineSpec, DefaultCosts, Due, OnMissed, StatedCost, Strategy,
};
pub use cost_history::{CostHistory, HistoryConfig};
pub use costs::Costs;
pub use deadline_change::{ChangedDeadline, DeadlineChange, NewDeadline};
pub use deadline_detail::DeadlineDetail;
pub use deadline_state::DeadlineState;
pub use input_volume::InputVolume;
pub use job_class::JobClass;
pub use job_estimate::JobEstimate;
pub use job_work::JobWork;
pub use key_spread::KeySpread;
pub use known_costs::KnownCosts;
pub use ledger::{Ledger, MapClaim, Promise};
pub use model::Model;
pub use overrun::Overrun;
pub(super) use policy::Constraint;
pub use rejected_job::RejectedJob;

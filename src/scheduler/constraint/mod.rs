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

pub(crate) use admission::{DeadlineRejection, Seconds, SlotSupply, WhatIf, admit, what_if};
pub use admission::{JobPlan, TimedWork};
pub use app_deadline::AppDeadline;
pub(crate) use at_risk::{UnfinishedJob, find_at_risk};
pub use constraint_config::ConstraintConfig;
pub(crate) use constraint_config::{
    Admission, AdmissionSlots, DeadlineSpec, DefaultCosts, Due, OnMissed, StatedCost, Strategy,
};
pub(crate) use cost_history::{CostHistory, HistoryConfig};
pub(crate) use costs::Costs;
pub(crate) use deadline_change::{ChangedDeadline, DeadlineChange, NewDeadline};
pub(crate) use deadline_detail::DeadlineDetail;
pub(crate) use deadline_state::DeadlineState;
pub(crate) use input_volume::InputVolume;
pub(crate) use job_class::JobClass;
pub use job_estimate::JobEstimate;

pub use job_work::JobWork;
pub use key_spread::KeySpread;
pub(crate) use known_costs::KnownCosts;
pub(crate) use ledger::{Ledger, MapClaim, Promise};
pub(crate) use model::Model;
pub(crate) use overrun::Overrun;
pub(super) use policy::Constraint;
pub(crate) use rejected_job::RejectedJob;

//! What an operator wants to order jobs by from now on.

use crate::market::BudgetLine;

use super::config::{PolicyConfig, QueueConfig};

/// A wish for another scheduler, or for the ruling one with its files read again. The edge has read the files.
#[derive(Clone, Debug)]
pub struct SchedulerWish {
    pub(crate) class: String,
    /// The class that the configuration names now.
    pub(crate) configured: String,
    pub(crate) by: String,
    pub(crate) policy: PolicyConfig,
    pub(crate) queues: Vec<QueueConfig>,
    /// Jobs whose queue is not among these move to this one.
    pub(crate) move_to: Option<String>,
    /// The budgets of a market that would begin, for a plan; none: there is one, or none is needed.
    pub(crate) first_budgets: Option<Vec<BudgetLine>>,
}

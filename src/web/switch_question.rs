//! The question what a switch of the scheduler would do, and why it is not answered.

use super::owner_gone::OwnerGone;

/// A switch that might be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanQuestion {
    /// The scheduler, by name or class name.
    pub to: String,
    /// Where jobs move whose queue it lacks.
    pub move_to: Option<String>,
    /// Who asks.
    pub by: String,
    /// Whether budgets and bids may be shown.
    pub sees_money: bool,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefusal {
    /// The name.
    #[error("{0}")]
    UnknownScheduler(String),
    /// Somebody else asks.
    #[error("only administrators see what a switch would do, who sign in by jobtracker open")]
    NotAdministrator,
    /// A name is believed, and no name shows money.
    #[error(
        "a plan of a switch to the market has budgets and bids: expected an administrator who signs in by jobtracker open, or, \
         where there are no keys to sign in with, jobtracker scheduler plan dynamic on the machine of the JobTracker"
    )]
    Private,
    /// The files of the scheduler.
    #[error("{0}")]
    Files(String),
    /// One at a time.
    #[error("another plan is being made: ask again in a second")]
    Busy,
    /// No answer will come.
    #[error("{0}")]
    Gone(#[from] OwnerGone),
}

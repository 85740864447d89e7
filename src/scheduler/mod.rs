//! Hands out slots: queues, request tables, the assignment loop and the policies that order it.
//!
//! What a caller tells ([`Scheduler::request`], [`Scheduler::started`] ...) is kept as counts; a heartbeat then asks
//! [`Scheduler::assign`], which walks ordered sets of groups and apps *with demand* and grants slot by slot. Which task
//! a grant becomes is the caller's choice, through [`GrantSource`].
//!
//! Invariants:
//! * never sees a task, a split or a byte of the wire format, never reads a clock, never draws a random number;
//! * the same calls in the same order give the same grants;
//! * the cost of a heartbeat does not depend on apps, groups or nodes that get nothing from it;
//! * waiting and running sums of apps, groups and cluster always equal a recount.

mod app;
mod assign;
mod count;
mod demand;
mod dynamic;
mod fifo;
mod grant;
mod group;
mod ids;
mod key;
mod leaving;
mod node;
mod order;
mod place;
mod policy;
mod preemption;
mod request_table;
mod state;
mod topology;

#[cfg(test)]
mod tests;

pub use app::AppSpec;
pub use assign::SKIP_BUDGET;
pub use dynamic::Allocation;
pub use fifo::FifoOptions;
pub use grant::{Beat, BeatReport, GrantSource, Taken};
pub use group::GroupBusy;
pub use ids::{AppId, GroupId, NodeId};
pub use node::Totals;
pub use place::Place;
pub use preemption::{OverGroup, PreemptionRound, RunningAttempt, ShortGroup, WaitingApp};
pub use state::{AddAppError, Scheduler, Standing};
pub use topology::{HostId, Level, RackId, Topology};

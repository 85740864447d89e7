//! Grants slots: queues, request tables, the assignment loop and the policies that order it.
//!
//! The caller reports demand and usage ([`Scheduler::request_slots`], [`Scheduler::add_running`] ...), which the scheduler keeps as counts.
//! At a heartbeat the caller runs [`Scheduler::assign_slots`], which walks ordered sets of groups and apps *with demand* and grants slot by
//! slot. The caller picks the task for a grant, through [`GrantSource`].
//!
//! Invariants:
//! * never sees a task, a split or a byte of the wire format, never reads a clock, never draws a random number;
//! * the same calls in the same order give the same grants;
//! * the cost of a heartbeat does not depend on apps, groups or nodes that get nothing from it;
//! * waiting and running sums of apps, groups and cluster always equal a recount.

mod app;
mod assign;
pub mod capacity;
mod change;
mod choosy_apps;
pub mod constraint;
mod container;
mod demand;
mod dynamic;
pub mod fair;
mod fifo;
mod grant;
mod group;
mod ids;
mod invariants;
mod key;
mod lifecycle;
mod node;
mod order;
mod ordering;
mod place_in_line;
mod policy;
mod policy_options;
mod preemption;
mod rank_table;
mod releasing;
mod replace_policy;
mod request_table;
mod room_round;
mod scheduling_info;
mod slot_table;
mod state;
mod task_nodes;
mod topology;
mod wants;

#[cfg(test)]
mod tests;

pub use app::{AppSize, AppSpec};
pub(crate) use change::UsageChange;
pub(crate) use container::{
    AskedRow, ContainerGrant, ContainerReason, ContainerSource, Earmark, RequestType, WaitingHousekeeping,
};
pub use fifo::FifoOptions;
pub(crate) use grant::AssignmentReport;
pub use grant::{Distance, GrantResult, GrantSource, NodeOffer, TaskOrigin};
pub(crate) use group::GroupBusy;
pub use ids::{AppId, GroupId};
#[cfg(test)]
pub(crate) use lifecycle::MoveAppError;
pub(crate) use node::{EndedReservation, Totals};
pub(crate) use place_in_line::{PlacesInLine, QueuePosition};
#[cfg(test)]
pub(crate) use policy::AppRefusal;
pub use policy::{Allocation, NewApp};
pub(crate) use policy::{
    AppDetail, BeginLimitUnit, GroupDetail, Hold, LaunchRules, LimitOwner, LocalityEnd, SKIP_BUDGET,
};
pub use policy_options::PolicyOptions;
pub(crate) use preemption::{OverQuotaGroup, PreemptionRound, RunningAttempt, SlotClaim, UnderQuotaGroup, WaitingApp};
pub(crate) use room_round::{Holder, NodeRoom, OverQueue, RoomRound, RoundOutcome, ShortQueue, WaitingWork};
pub(crate) use scheduling_info::GroupReport;
pub use state::Scheduler;
pub(crate) use state::{AddAppError, GroupUsage};
pub(crate) use task_nodes::TaskNeeds;
pub use topology::HostId;
pub(crate) use topology::{CacheLevels, Level, RackId, Topology, rack_path};
pub(crate) use wants::Misfit;

//! The scheduler as a whole: scenarios of each policy, and laws over random clusters.

mod capacity_cluster;
mod capacity_rows;
mod dynamic;
mod fifo;
mod gate;
mod group_tree;
mod holds;
pub(super) mod kit;
mod laws;
mod move_app;
mod policy_hooks;
mod policy_laws;
mod preemption;
mod preemption_slots;
mod replace_policy;
mod room_round;
mod room_round_order;
mod wants;
mod world;

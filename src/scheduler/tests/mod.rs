//! The scheduler as a whole: scenarios of each policy, and laws over random clusters.

mod dynamic;
mod fifo;
mod laws;
mod move_app;
mod preemption;
mod replace_policy;
mod world;

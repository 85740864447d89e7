//! The scheduler as a whole: scenarios of each policy, and laws over random clusters.

mod dynamic;
mod fifo;
mod gate;
mod laws;
mod preemption;
mod preemption_slots;
mod world;

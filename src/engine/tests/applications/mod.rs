//! Applications and their containers, driven through events as the daemon does.

mod beats;
mod bench;
mod calls;
mod holding;
mod housekeeping;
mod items;
mod laws;
mod memory;
mod money;
mod money_laws;
mod portions;
mod preemption;
mod restarts;
mod seed_example;
mod submissions;
mod switch_plans;
mod usage;
mod wants;

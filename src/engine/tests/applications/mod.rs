//! Applications and their containers, driven through events as the daemon does.

mod beats;
mod bench;
mod calls;
mod housekeeping;
mod items;
mod laws;
mod money;
mod money_laws;
mod preemption;
mod restarts;
mod seed_example;
mod submissions;
mod switch_plans;
mod wants;

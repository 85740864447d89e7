//! The engine, driven by trackers that exist only here.

mod access;
mod administration;
mod cluster;
mod crash;
mod explain;
mod failures;
mod fetch_failures;
mod flaky_hosts;
mod graylist;
mod heartbeats;
mod job_costs;
mod launching;
mod laws;
mod limits;
mod market;
mod market_laws;
mod outlook;
mod preemption;
mod preemption_laws;
mod restart;
mod restart_laws;
mod speculation;
mod success;
mod succession;
mod succession_laws;
mod task_cleanups;

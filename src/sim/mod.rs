//! A cluster in virtual time: trackers, users, bidders, administrators and their faults, driving the
//! production engine from one seed.
//!
//! Invariants: nothing behind [`crate::engine::Engine::step`] is replaced; the same seed and the same [`Cuts`] give the
//! same run; every step is checked against the laws of docs/testing.md.

mod adversaries;
mod attempt;
mod bidders;
mod clients;
mod containers;
mod crashes;
mod cuts;
mod daemon_run;
mod event_queue;
mod heartbeats;
mod interventions;
mod journal;
mod laws;
mod losses;
mod plan;
mod plan_policy;
mod policy_choice;
mod random;
mod run;
mod run_options;
mod shrink;
mod switches;
mod tracker;
mod treasurer;
mod user;
pub mod what_if;
mod world;

pub use cuts::{Cuts, Part};
pub use journal::Journal;
pub use laws::{Law, Tally, Violation};
pub use policy_choice::PolicyChoice;
pub use run::Run;
pub use run_options::RunOptions;
pub use shrink::{Shrunk, shrink};

/// The user who administers the market and runs the daemon.
const ADMINISTRATOR: &str = "root";

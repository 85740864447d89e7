//! A cluster in virtual time: trackers, users, bidders, administrators and their faults, driving the production engine from one seed.
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
mod laws;
mod plan;
mod plan_policy;
mod random;
mod run;
mod run_options;
mod tracker;
mod user;
mod user_plan;
pub mod what_if;
mod world;

pub use cuts::{Cuts, RunPart};
pub use laws::{Law, Tally, Violation};
pub use run::{Shrunk, SimulatedRun, shrink};
pub use run_options::{Journal, PolicyChoice, RunOptions};

/// The user who administers the market and runs the daemon.
const ADMINISTRATOR: &str = "root";

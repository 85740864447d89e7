//! The program under more than it can take, and with less than it needs: what must go on, goes on, what cannot be
//! taken waits or is refused with a reason, and afterwards everything is as before.
//!
//! Small sizes by default; `OVERLOAD=whole` takes those of a large cluster, and then a release build is worth it:
//! `OVERLOAD=whole cargo test --release --test overload -- --nocapture` prints what was measured.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    missing_docs,
    reason = "a test that cannot set itself up has failed; parts of the load generator are used"
)]

#[path = "../daemon/mod.rs"]
mod daemon;
#[path = "../../examples/load/fleet.rs"]
mod fleet;
#[path = "../../examples/load/job_client.rs"]
mod job_client;
#[path = "../../examples/load/latencies.rs"]
mod latencies;
#[path = "../../examples/load/staging.rs"]
mod staging;
#[path = "../../examples/load/station.rs"]
mod station;
#[path = "../../examples/load/steady_tracker.rs"]
mod steady_tracker;

mod clients;
mod connections;
mod disk;
mod memory;
mod readers;
mod stage;
mod storm;
mod web;

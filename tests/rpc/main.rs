//! Hadoop's RPC as served by a daemon in this process: durability, limits, submissions, administration, shutdown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set itself up has failed"
)]

mod access;
mod administration;
mod admission;
mod broken_network;
mod capacity;
mod connection_places;
#[path = "../daemon/mod.rs"]
mod daemon;
mod durability;
mod limits;
mod recorded_conversations;
mod shutdown;
mod submission;
mod tracker_claims;

//! `jobtracker upgrade` on the program itself: a new process goes on for the old one, and nobody notices; or it fails,
//! and nobody notices either.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set itself up has failed"
)]

mod failing;
mod going_on;
mod many;
#[path = "../rpc_rig/mod.rs"]
mod rpc_rig;
#[path = "../served/mod.rs"]
mod served;
mod stage;
mod supervised;

const BUDGETS: &str = "alice 100 1\nbob 7.5 0.25\n";

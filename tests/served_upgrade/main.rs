//! `jobtracker upgrade` on the program itself: a new process replaces the old one, unnoticed by clients; or it fails,
//! unnoticed as well.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set itself up has failed"
)]

mod continuing;
mod failing;
mod many;
#[path = "../rpc_rig/mod.rs"]
mod rpc_rig;
#[path = "../served/mod.rs"]
mod served;
mod stage;
mod supervised;

const BUDGETS: &str = "alice 100 1\nbob 7.5 0.25\n";

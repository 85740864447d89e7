//! Folders and files that another user of the machine has prepared for a daemon, which runs as root and as an ordinary user.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod folders;
mod jobs;
#[path = "../served/mod.rs"]
mod served;

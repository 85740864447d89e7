//! Attacks on the running program from outside: what an attacker without a key can send or lay before it, and how honest trackers, clients
//! and readers of pages fare meanwhile.
//!
//! Each attack prints one line: latencies of the honest ones in a quiet time and during the attack, memory and log, and whether all held that
//! must hold. Small sizes by default, where latencies are printed and not asserted; `HOSTILE=whole` takes the sizes of real attackers and
//! asserts latencies too, which is for a release build: `HOSTILE=whole cargo test --release --test hostile -- --nocapture`.
//! `JOBTRACKER_PROGRAM` attacks another build of the program, `HOSTILE_USER=nobody` has root's tests run daemons without the rights of root.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    dead_code,
    missing_docs,
    reason = "a test that cannot set itself up has failed; how long others wait is what is measured; parts of the load generator are used"
)]

#[path = "../worker/cluster.rs"]
mod cluster;
#[path = "../daemon/mod.rs"]
mod daemon;
#[path = "../../examples/load/job_client.rs"]
mod job_client;
#[path = "../../examples/load/latencies.rs"]
mod latencies;
#[path = "../worker/program.rs"]
mod program;
#[path = "../../examples/load/staging.rs"]
mod staging;
#[path = "../../examples/load/steady_tracker.rs"]
mod steady_tracker;

mod applications;
mod attacker;
mod conversations;
mod impostors;
mod large_answers;
mod long_texts;
mod made_up_hosts;
mod notifications;
mod places;
mod planted_files;
mod signatures;
mod stage;
mod staging_folders;
mod told_to_anybody;
mod tracker_floods;
mod verdict;
mod victims;
mod workers;

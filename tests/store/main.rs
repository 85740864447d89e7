//! The store and the budget file: what is written, what a start reads, what a kill or a full disk leaves.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set itself up has failed"
)]
#![allow(clippy::disallowed_methods, reason = "a test that waits for an idle moment gives up some time")]

mod budget_back_end;
mod budget_file;
mod facts;
#[path = "../daemon/gated_store.rs"]
mod gated_store;
mod jobs;
mod kill;
mod ledger;
mod market;
mod retention;
mod stage;
mod what_if;
mod writer;

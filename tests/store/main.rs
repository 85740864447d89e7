//! The store and the budget file: what is written, what a start reads, what a kill or a full disk leaves.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set itself up has failed"
)]
#![allow(clippy::disallowed_methods, reason = "a test that waits for an idle moment gives up some time")]

mod budget_back_end;
mod budget_command;
mod budget_file;
mod budget_laws;
mod budget_postgres;
mod budget_postgres_others;
mod budget_postgres_states;
mod budget_stores;
mod facts;
#[path = "../daemon/gated_store.rs"]
mod gated_store;
mod jobs;
mod kill;
mod ledger;
mod market;
#[allow(dead_code, reason = "a part is used here")]
#[path = "../daemon/postgres.rs"]
mod postgres;
mod retention;
#[allow(dead_code, reason = "a part is used here")]
#[path = "../daemon/skip.rs"]
mod skip;
mod stage;
mod what_if;
mod writer;

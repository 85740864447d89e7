//! The market over HTTP and RPC: the document's rules one by one, and the web server in front of a market.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set itself up has failed"
)]

#[path = "../daemon/mod.rs"]
mod daemon;
mod dynamic_priority;
mod idle_market;
mod web_server;

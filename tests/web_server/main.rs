//! The web server over a real loopback connection, in front of a real market and a made-up cluster.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bidders;
mod client;
mod explain;
mod hostile;
mod pages;
mod scheduler;
mod stage;
mod statement;

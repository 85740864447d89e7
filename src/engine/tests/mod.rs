//! The engine, driven by trackers that exist only here.

mod access;
mod administration;
mod cluster;
mod failures;
mod heartbeats;
mod laws;
mod market;
mod market_laws;
mod success;
mod task_cleanups;

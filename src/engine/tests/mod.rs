//! The engine, driven by trackers that exist only here.

mod cluster;
mod failures;
mod fetch_failures;
mod heartbeats;
mod launching;
mod laws;
mod market;
mod market_laws;
mod speculation;
mod success;
mod task_cleanups;

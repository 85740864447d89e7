//! The way of map output to reduces: over HTTP, signed with the job's secret, in both directions compatible with stock
//! trackers (1.2.1 `TaskTracker.MapOutputServlet`, `ReduceTask.ReduceCopier`).
//!
//! [`servlet`] answers requests, [`http`] sends them, [`fetch_schedule`] chooses the next host, [`copied_outputs`] holds what has been
//! fetched, [`copy_phase`] combines them for one reduce.

pub mod copied_outputs;
pub mod copy_phase;
pub mod fetch_schedule;
pub mod http;
pub mod servlet;
pub mod signature;

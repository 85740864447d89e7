//! The way of map output to reduces: over HTTP, signed with the job's secret, in both directions compatible with stock
//! trackers (1.2.1 `TaskTracker.MapOutputServlet`, `ReduceTask.ReduceCopier`).
//!
//! [`servlet`] answers who asks; [`http`] asks; [`schedule`] decides whom to ask next; [`copied`] keeps what came; [`copy`] puts them
//! together for one reduce.

pub mod copied;
pub mod copy;
pub mod http;
pub mod schedule;
pub mod servlet;
pub mod signature;

//! The way of map output to reduces: over HTTP, signed with the job's secret, in both directions compatible with stock trackers (1.2.1
//! `TaskTracker.MapOutputServlet`, `ReduceTask.ReduceCopier`). [`servlet`] answers requests, [`fetch`] sends them, [`fetch_schedule`]
//! chooses the next fetch from [`host_queues`], [`copied_outputs`] holds the fetched outputs, [`copy_phase`] combines them for one reduce.

pub(crate) mod copied_outputs;
pub(crate) mod copy_phase;
pub(crate) mod fetch;
pub(crate) mod fetch_schedule;
pub(crate) mod host_queues;
pub(crate) mod servlet;
pub mod signature;

//! Maps calls to events and reads. A tracker's calls are handled at once; clients' calls wait in one queue, of which one is handled
//! per turn of the loop, so that heartbeats always go first.

mod administration;
mod container_beats;
mod dispatcher;
mod finished_jobs;
mod held_beats;
mod held_heartbeats;
mod inter_tracker;
mod job_submission;
mod rate_limited;
mod tracker_claims;

pub(crate) use dispatcher::Dispatcher;

//! The JSON API below `/api/v1`: what the views show, for programs. GET and HEAD alone.
//!
//! Invariant: no answer is an event for the owner. What facts have made and what the owner said of late comes from the views,
//! what is over and the ledger from `state.db`.

mod address;
mod answer;
mod applications;
mod ask;
mod cluster;
mod decisions;
mod events;
mod grid;
mod items;
mod job_parts;
mod jobs;
mod listing;
mod market;
mod people;
mod policy;
mod queues;
mod reports;
mod routes;
mod samples;
mod serve;
mod slots;
mod streams;
mod timeline;
mod work;
mod workers;

#[cfg(test)]
mod tests;

pub(super) use routes::routes;
pub use streams::EventStreams;

//! The read model: what pages, JSON and metrics show, fed by durable facts.
//!
//! The store's writer hands each committed batch on; a thread applies it to a [`ReadModel`] and publishes [`Views`] at most
//! ten times a second. Nothing here asks the owner, and nothing here holds the writer up: what falls too far behind loads
//! from `state.db` again. Invariant: the views after a feed are those after a load, at every fact number.

mod application_view;
mod attempt_view;
mod counts_so_far;
mod decision_row;
mod durations;
mod follower;
mod job_detail;
mod job_view;
mod last_reads;
mod looks;
mod market_view;
mod overview;
mod published;
mod read_model;
mod reader;
mod reason_log;
mod requested;
mod samples;
mod shared_map;
mod shown;
mod stored_views;
#[cfg(test)]
mod tests;
mod tick_shares;
mod volatile;
mod watched_job;

pub(crate) use application_view::{ApplicationView, RequestView, container_row};
pub(crate) use attempt_view::{AttemptView, ListedState};
pub(crate) use durations::{DURATION_BOUNDS_S, Durations};
pub use follower::follow;
pub(crate) use job_view::JobView;
pub(crate) use market_view::{LastTick, MarketView};
#[cfg(test)]
pub(crate) use overview::overview_after;
pub use read_model::{ReadModel, Views};
pub(crate) use reader::{LookAt, ViewsFeed, ViewsReader};
pub(crate) use reason_log::{ReasonLog, ReasonSpan, SAMPLE_MS};
#[cfg(test)]
pub(crate) use samples::QueueSample;
pub(crate) use samples::{Sample, Samples};
pub(crate) use shown::{Generation, Shown};
pub(crate) use stored_views::{StoredScheduler, StoredViews};
#[cfg(test)]
pub(crate) use tick_shares::TickShare;
pub(crate) use tick_shares::TickShares;
pub(crate) use volatile::LastExplanation;
pub(crate) use watched_job::WatchedJob;

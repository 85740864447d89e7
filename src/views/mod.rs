//! The read model: what pages, JSON and metrics show, fed by durable facts.
//!
//! The store's writer hands each committed batch on; a thread applies it to a [`ReadModel`] and publishes [`Views`] at most
//! ten times a second. Nothing here asks the owner, and nothing here holds the writer up: what falls too far behind loads
//! from `state.db` again. Invariant: the views after a feed are those after a load, at every fact number.

mod application_rows;
mod application_view;
mod attempt_view;
mod counts_so_far;
mod decision_row;
mod durations;
mod feed;
mod follower;
mod freshness;
mod job_detail;
mod job_row;
mod job_view;
mod looks;
mod market_view;
mod overview;
mod published;
mod read_explanations;
mod read_model;
mod reader;
mod reason_log;
mod requested;
mod samples;
mod shared_map;
mod shown;
mod stored_views;
mod task_list;
mod task_states;
#[cfg(test)]
mod tests;
mod tick_shares;
mod volatile;

pub use application_rows::container_row;
pub use application_view::{ApplicationView, LiveSums, RequestView};
pub use attempt_view::{AttemptTexts, AttemptView};
pub use counts_so_far::CountsSoFar;
pub use durations::{DURATION_BOUNDS_S, Durations, JobDurations};
pub use feed::ViewsFeed;
pub use follower::follow;
pub use job_view::{JobView, TaskCounts};
pub use market_view::{LastTick, MarketView};
#[cfg(test)]
pub(crate) use overview::overview_after;
pub use read_model::{MissedFacts, ReadModel, Views};
pub use reader::{LookAt, ViewsReader};
pub use reason_log::{ReasonLog, ReasonSpan, SAMPLE_MS};
pub use samples::{QueueSample, Sample, Samples};
pub use shared_map::SharedMap;
pub use shown::{Generation, Shown};
pub use stored_views::{StoredScheduler, StoredViews};
pub use task_list::TaskList;
pub use tick_shares::{QueueShare, TickShares};
pub use volatile::LastExplanation;

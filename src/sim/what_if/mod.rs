//! What would have been: a recording of jobs and trackers, played through the engine under any settings.
//!
//! Invariant: a recording that a play made, played under the same settings, ends as it ended.

mod comparison;
mod play;
mod play_tracker;
mod recording;

pub(crate) use comparison::{PlayedUnder, compare};
pub use play::{Play, PlayOptions};
pub(crate) use recording::MarketChange;
#[cfg(test)]
pub(crate) use recording::Played;
pub use recording::{RecordedJob, RecordedMarket, RecordedTimes, RecordedTracker, Recording, TaskTimes};

//! What would have been: a recording of jobs and trackers, played through the engine under any settings.
//!
//! Invariant: a recording that a play made, played under the same settings, ends as it ended.

mod comparison;
mod figures;
mod nodes;
mod play;
mod play_tracker;
mod played;
mod recording;

pub use comparison::{PlayedUnder, compare};
pub use play::{Play, PlayOptions};
pub use played::{Played, PlayedJob};
pub use recording::{
    JobTimes, MarketChange, RecordedJob, RecordedMarket, RecordedOrder, RecordedTracker, Recording, TaskTimes,
};

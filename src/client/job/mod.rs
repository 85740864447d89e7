//! Job client: submits streaming jobs to a JobTracker as the stock 1.2.1 tools do, and follows jobs to their end.
//!
//! Steps of a submission: [`input`] finds the files, [`split`] computes the splits, [`streaming`] sets the properties of job.xml,
//! [`jar`] packs the shipped files, [`staging`] is the directory for all of them, or they are handed over (`hand_over`), [`submit`]
//! calls the JobTracker. The files are those that a stock JobTracker and stock TaskTrackers read. [`watch`] follows a job.

mod cache;
mod classes;
mod computed;
pub mod configuration;
pub(crate) mod earlier_output;
pub(crate) mod error;
mod hand_over;
pub(crate) mod input;
pub(crate) mod jar;
pub(crate) mod jobtracker;
pub(crate) mod logs;
pub(crate) mod split;
pub(crate) mod staging;
pub mod streaming;
pub mod submit;
pub(crate) mod view;
pub(crate) mod watch;

pub(crate) use crate::model::{AttemptId, JobId, Kind};
pub(crate) use error::{JobClientError, with_key_of_list};
pub use jobtracker::JobTrackerClient;

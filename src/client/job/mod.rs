//! Job client: submits streaming jobs to a JobTracker as the stock 1.2.1 tools do, and follows jobs to their end.
//!
//! Steps of a submission: [`input`] finds the files, [`split`] computes the splits, [`streaming`] sets the properties of job.xml,
//! [`jar`] packs the shipped files, [`staging`] is the directory for all of them, or they
//! are handed over (`hand_over`), [`submit`] calls the JobTracker. The files are those that a stock JobTracker and stock TaskTrackers read. [`watch`] follows a job.
//!
//! Supports only local files and mounted file systems so far.

mod cache;
mod classes;
mod computed;
pub mod configuration;
pub mod deadline_line;
pub mod earlier_output;
pub mod error;
mod hand_over;
pub mod input;
pub mod jar;
mod job_xml;
pub mod jobtracker;
pub mod lines;
pub mod log_access;
pub mod logs;
mod pattern;
pub mod question;
pub mod split;
mod split_hosts;
pub mod staging;
pub mod streaming;
pub mod submit;
pub mod view;
pub mod watch;

pub use crate::model::Kind;
pub use crate::model::{AttemptId, JobId};
pub use error::{JobClientError, with_key_of_list};
pub use jobtracker::JobTrackerClient;

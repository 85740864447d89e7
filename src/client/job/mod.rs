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
pub(crate) mod deadline_line;
pub(crate) mod earlier_output;
pub(crate) mod error;
mod hand_over;
pub(crate) mod input;
pub(crate) mod jar;
mod job_xml;
pub(crate) mod jobtracker;
pub(crate) mod lines;
pub(crate) mod log_access;
pub(crate) mod logs;
mod pattern;
pub(crate) mod question;
pub(crate) mod split;
mod split_hosts;
pub(crate) mod staging;
pub mod streaming;
pub mod submit;
pub(crate) mod view;
pub(crate) mod watch;

pub(crate) use crate::model::Kind;
pub(crate) use crate::model::{AttemptId, JobId};
pub(crate) use error::{JobClientError, with_key_of_list};
pub use jobtracker::JobTrackerClient;

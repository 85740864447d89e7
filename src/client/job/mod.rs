//! A job client: hands streaming jobs to a JobTracker as the stock 1.2.1 tools do, and follows jobs to their end.
//!
//! The way of a submission: [`input`] finds the files, [`split`] cuts them, [`streaming`] says what goes into job.xml,
//! [`jar`] packs the shipped files, [`staging`] is the folder all of it is written to, [`submit`] talks to the
//! JobTracker. What is written is what a stock JobTracker and stock TaskTrackers read. [`watch`] follows a job.
//!
//! Only files of this machine and file systems mounted on it are read and written so far.

pub mod configuration;
mod defaults;
pub mod error;
pub mod input;
pub mod jar;
mod job_xml;
pub mod jobtracker;
pub mod lines;
pub mod logs;
mod pattern;
pub mod split;
pub mod staging;
pub mod streaming;
pub mod submit;
pub mod view;
pub mod watch;

pub use crate::model::Kind;
pub use crate::model::{AttemptId, JobId};
pub use defaults::is_hadoop_key;
pub use error::JobClientError;
pub use jobtracker::JobTrackerClient;

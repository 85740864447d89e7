//! The built-in tasktracker: it registers with a JobTracker, this program or the Java one, and runs the attempts that it launches.
//!
//! `daemon` starts and ends it. `heartbeat_loop` exchanges heartbeats, `attempt_table` holds the state of the attempts, `attempt_run` runs
//! each on a thread of its own, in a process of the job's user where jobs run as their users (`job_user`), `hang_monitor` ends it when its
//! files hang, `localized_jobs` copies the jobs' files here, `map_completion_poller` polls for completion events, `web` serves map outputs
//! and logs, `node_health` is what the worker lacks and offers. `containers` are commands of applications, beside attempts.
//!
//! Invariant: attempts change state only in `attempt_table`, on one thread; all others send it events.

pub(crate) mod attempt_handle;
pub(crate) mod attempt_logs;
mod attempt_run;
mod attempt_runner;
pub(crate) mod attempt_table;
mod attempt_work;
mod check;
pub mod containers;
mod daemon;
mod error;
pub(crate) mod hang_monitor;
pub(crate) mod heartbeat_loop;
pub(crate) mod job_definition;
pub(crate) mod job_file_source;
pub(crate) mod job_user;
pub(crate) mod local_folders;
pub(crate) mod localized_jobs;
pub(crate) mod map_completion_poller;
pub(crate) mod memory_monitor;
pub(crate) mod node_health;
pub(crate) mod read_permits;
pub(crate) mod run_as;
pub(crate) mod settings;
pub(crate) mod tracked_attempt;
pub(crate) mod web;

pub(crate) use check::{check_tracker, machine_warnings};
pub(crate) use daemon::{RunningWorker, run};
pub(crate) use error::{HeartbeatError, TaskTrackerError};
pub(crate) use settings::TaskTrackerSettings;

//! The built-in tasktracker: it registers with a JobTracker, this program or the Java one, and runs the attempts that
//! it launches.
//!
//! `daemon` starts and ends it. `heartbeat_loop` exchanges heartbeats, `attempt_table` holds the state of the
//! attempts, `attempt_run` runs each on a thread of its own, in a process of the job's user where jobs run as their users (`job_user`),
//! `hang_monitor` ends it when its files hang,
//! `localized_jobs` copies the jobs' files here, `map_completion_poller` polls for completion events, `web`
//! serves map outputs and logs, `node_health` is what the worker lacks and offers. `containers` are commands of applications, beside attempts.
//!
//! Invariant: attempts change state only in `attempt_table`, on one thread; all others send it events.

pub mod attempt_handle;
pub mod attempt_logs;
mod attempt_run;
pub mod attempt_runner;
pub mod attempt_table;
mod attempt_work;
mod check;
pub mod containers;
mod daemon;
mod error;
pub mod hang_monitor;
pub mod heartbeat_loop;
pub mod job_definition;
pub mod job_file_source;
pub mod job_user;
pub mod local_folders;
pub mod localized_job;
pub mod localized_jobs;
pub mod log_tickets;
pub mod map_completion_poller;
pub mod memory_monitor;
pub mod node_health;
pub mod read_permits;
pub mod run_as;
pub mod settings;
pub mod tracked_attempt;
pub mod web;

pub use check::{check_tracker, machine_warnings};
pub use daemon::{Running, run};
pub use error::{HeartbeatError, TaskTrackerError};
pub use settings::TaskTrackerSettings;

//! Random scripts of submissions and heartbeats for one scheduler, and the grants that a JobTracker answers with.
//!
//! A script follows from its scheduler and its seed. Its clock is its own: a JobTracker moves it when the script says so.
//! What decides by accident in the originals is settled: queues have names that Java hashes in the order of their
//! declaration, jobs start and attempts begin at different times, a poller of jobs to initialise runs after every change of a job.

mod capacity_settings;
mod fair_settings;
mod fleet;
mod grants;
pub mod in_process;
pub mod play;
pub mod recording;
pub mod script;
pub mod settings;

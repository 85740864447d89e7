//! Containers of applications on this worker: each a command with its files, limits and logs, launched and ended by the daemon.
//!
//! `service` beats with the daemon over a connection of their own (`conversation` is what it says), and keeps the `table`.
//! `runner` runs each container on a thread of its own: `run` takes it from its launch to its end, in the worker's process or,
//! where commands run as their users, in one with the user's ids (`user_container`, `container_process`).
//! `own_folders` has a folder for each; `prepared` makes ready what it needs: `resources` and `archive` bring its files, `item_value` its
//! item; `fault` is why it did not start. `output_log` and `logs` keep its output. `control_groups` hold it to its memory. `bag` is what
//! the worker declares.
//!
//! Invariants: a container changes its state only in `table`, on one thread; what a context names is read and written with the
//! rights of its user; nothing is left of a container that is reported as ended.

mod archive;
mod bag;
mod container_process;
pub mod control;
pub mod control_groups;
mod conversation;
mod fault;
mod item_value;
mod logs;
pub mod order;
mod output_log;
mod own_folders;
mod prepared;
mod resource_cache;
mod resources;
pub mod run;
mod runner;
mod service;
mod settings;
mod start;
mod table;
mod user_container;

pub(super) use bag::MachineRoom;
pub(crate) use container_process::run_container_process;
pub(crate) use logs::{CONTAINER_LOGS, ContainerLogs};
pub(super) use runner::ContainerRunner;
pub(super) use service::ContainerService;
pub(crate) use settings::WorkerContainerSettings;
pub(super) use start::{ContainerSurroundings, StartedContainers};

/// The argument that makes the program the process of a container.
pub(crate) const CONTAINER_COMMAND: &str = "run-container";

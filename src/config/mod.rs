//! Hadoop configuration files into typed settings.
//!
//! The way of a value: [`xml`] turns bytes into named values with their lines, [`configuration`] lays files, job.xml and
//! `-D` over each other as Hadoop 1.2.1 `Configuration` does, [`keys`] says what each key means and [`typed`] reads it so;
//! [`settings`] is what the daemon runs on and [`job_conf`] what it knows of one job.
//! Only [`conf_folder`], [`environment`], [`open_doors`], [`web_host_names`] (`/etc/hosts`) and [`settings`]' check of named files touch the disk.
//!
//! Invariant: the daemon reads no value but through a [`keys::Key`], so `docs/configuration.md` (made by [`docs`]) lists them all.

pub mod conf_folder;
pub mod configuration;
pub mod contradictions;
pub mod docs;
pub mod environment;
pub mod error;
mod host_name;
pub mod host_port;
pub mod job_conf;
pub mod job_queue;
pub mod keys;
pub mod open_doors;
pub mod parts_per_million;
pub mod settings;
pub mod typed;
mod web_hosts;
pub mod xml;

pub use configuration::Configuration;
pub use environment::Environment;
pub use error::{ConfigError, Origin, Warning, excerpt};
pub use host_name::host_name;
pub use host_port::HostPort;
pub use job_conf::{JobConf, JobConfError};
pub use parts_per_million::PartsPerMillion;
pub use settings::{LoadOptions, Settings};
pub use web_hosts::web_host_names;

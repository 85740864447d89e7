//! Argument parsing; one file a subcommand.

pub mod check_config;
pub mod sign;

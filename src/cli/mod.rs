//! Argument parsing; one file a subcommand.

pub mod sign;

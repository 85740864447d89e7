//! Argument parsing; one file a subcommand.

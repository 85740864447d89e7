//! The `jobtracker` command.
fn main() {}

//! Jobs that a worker of root's runs as their users: only where tests run as root.

mod ends;
mod forbidden;
mod handed_over;
mod refused;
mod runs;
mod stage;
pub mod users;

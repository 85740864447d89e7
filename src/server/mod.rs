//! The owner's thread: the engine, its clock and timer, the RPC server that feeds it, and what its effects ask for.
//!
//! Everything that touches the engine runs on one thread (a current-thread runtime): a heartbeat is read, decoded,
//! stepped and answered without a hand-over. Nothing here waits while it holds the engine.

mod clock;
mod held;

pub use clock::{Clock, wall_ms};
pub use held::HeldQueue;

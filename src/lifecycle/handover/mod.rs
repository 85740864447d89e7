//! How a running daemon is replaced by a new process without a connection being closed.
//!
//! The old process starts the new one and keeps serving until the new one has read its configuration and found that it
//! understands the state. Only then calls are held up, the store is closed, and listeners and connections go over. The
//! old process keeps its own copies of all descriptors: until the new one has said that it serves, the old one can end it,
//! open the store again and go on from the same place.
//!
//! Invariants: never do both hold the store, since the new one opens it only after the old one has closed it, and the old
//! one opens it again only when the new one is dead; the new one reads nothing from a connection before it has said that
//! it serves, so until then what the old one knows of connections is true; once it has everything, it serves also when
//! the old one dies.

mod control;
mod giving;
mod message;
mod taking;

pub use control::{AskError, Outcome, ask};
pub(super) use control::{Asked, Control};
pub(super) use giving::{Estate, Successor};
pub(super) use message::{Offer, Port};
pub(super) use taking::Inheritance;
pub use taking::Predecessor;

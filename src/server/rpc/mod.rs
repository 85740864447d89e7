//! The RPC server: IPC version 4 on the owner's thread.
//!
//! One task for each connection reads; a heartbeat costs one read and one write. An answer that must wait is a
//! [`Ticket`] in somebody's hands, not a task. Invariants: a connection is never closed by us while a tracker's call on
//! it is unanswered, unless it breaks the protocol or does not read; at the limit of connections none is accepted; no
//! connection holds more than one frame, and answers to the calls it may have in flight; all together hold no more than
//! their `budget::Budget`s and a little for each.

mod budget;
mod carried;
mod connection;
mod conversation;
mod fair_share;
mod kept;
mod limits;
mod listener;
mod origin;
mod parted_answer;
mod probe;
mod reading;
mod spoken;
mod tcp_info;
#[cfg(test)]
mod tests;
mod ticket;

pub(super) use carried::{Carried, CarriedTracker, Introduction};
pub use conversation::Service;
pub use limits::RpcLimits;
pub use listener::{RpcServer, listen};
pub use parted_answer::PartedAnswer;
pub use probe::Probe;
pub use spoken::served_protocol;
pub use ticket::{Answer, RemoteError, Ticket};

//! Hadoop's RPC, IPC version 4: a server on the owner's thread, and a client.
//!
//! Knows frames and a [`Service`], nothing of jobs. One task per connection reads; a heartbeat costs one read and one
//! write. A call that must wait is a [`PendingCall`] that the service keeps, not a task. Invariants: the server never
//! closes a connection with an unanswered call of a tracker, unless the peer breaks the protocol or does not read; at
//! the connection limit it stops accepting; a connection holds at most one frame and the answers to its unanswered
//! calls; all connections together hold at most their `limits::Budget`s and a constant each.

pub mod client;
mod connection;
mod inherited_connection;
mod limits;
mod listener;
mod local_calls;
mod pending_call;
mod pending_check;
mod probe;
mod protocol_kind;
mod reading;
mod session;
#[cfg(test)]
mod tests;

pub(crate) use client::IpcError;
pub(crate) use inherited_connection::{InheritedConnection, InheritedTracker, Introduction};
pub use limits::RpcLimits;
pub use listener::listen;
pub(crate) use listener::{RpcMeter, RpcServer};
pub(crate) use local_calls::LocalCalls;
pub(crate) use pending_call::{CallAnswer, PartedAnswer, PendingCall, RemoteError, origin_of};
pub(crate) use pending_check::{ConnectionCheck, Introduced};
pub(crate) use probe::Probe;
pub(crate) use protocol_kind::served_protocol;
pub(crate) use session::Service;

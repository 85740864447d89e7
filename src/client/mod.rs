//! Clients of the RPC and HTTP interfaces.

pub mod ipc;

//! Clients of the RPC and HTTP interfaces.

pub mod job;
pub mod market;
pub mod signed_query;

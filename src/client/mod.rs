//! Clients of the RPC and HTTP interfaces.

pub(crate) mod http_get;
pub mod job;
pub mod market;
pub mod signed_query;

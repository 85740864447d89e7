//! Clients of the RPC and HTTP interfaces.

pub(crate) mod http_request;
pub mod job;
pub mod market;
pub mod signed_query;

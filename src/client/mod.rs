//! Clients of the RPC and HTTP interfaces.

pub mod daemon_status;
pub(crate) mod http_request;
pub mod job;
pub mod market;
pub mod signed_query;

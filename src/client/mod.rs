//! Clients of the RPC and HTTP interfaces.

#![warn(missing_docs)]

pub mod applications;
pub(crate) mod daemon_status;
mod file_digest;
pub(crate) mod http_request;
pub mod job;
pub mod market;
pub mod signed_query;

pub(crate) use http_request::show_slow_answers;

//! Clients of the RPC and HTTP interfaces.

#![warn(missing_docs)]

pub mod applications;
pub(crate) mod daemon_status;
mod file_digest;
pub(crate) mod http_request;
pub mod job;
pub mod market;
pub mod signed_query;
mod slow_answer;

pub(crate) use slow_answer::show_slow_answers;

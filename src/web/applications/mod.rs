//! The HTTP interface for applications, below `/ws/v1`: requests read strictly and answered as the engine says.
//!
//! Each request is read in the order in which a stranger learns least: address, method, caller, body, members. All errors
//! are problems (RFC 9457).

mod address;
mod answers;
mod bodies;
mod body_bytes;
mod caller;
mod json;
mod loopback_caller;
mod owner;
mod path_parts;
mod problem;
mod problem_name;
mod query_parameters;
mod questions;
mod routes;
mod serve;
mod signed_caller;
mod verified;

#[cfg(test)]
pub(super) mod tests;

pub use owner::ApplicationOwner;
pub(crate) use owner::{ApplicationAccess, ApplicationReply, NewsWait};
pub(super) use path_parts::PathParts;
pub(super) use problem::Problem;
pub(super) use problem_name::ProblemName;
pub(super) use query_parameters::QueryParameters;
pub(super) use routes::{only_get, refuse_names_by_problems, routes};

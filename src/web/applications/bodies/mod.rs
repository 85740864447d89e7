//! Bodies of requests: from JSON to the checked calls of `api::applications`.

mod allocate;
mod launch_context;
mod read;
mod register;
mod submission;

#[cfg(test)]
mod tests;

pub(super) use allocate::{MAX_WAIT_MS, read_allocate, refuse_large_call};
pub(super) use read::{BodyError, read_body};
pub(super) use register::{read_kill, read_register, read_unregister};
pub(super) use submission::read_submission;

//! What is read from `state.db`, beside the owner.

use tokio::time::error::Elapsed;

use super::super::applications::{Problem, ProblemName};
use super::super::owner::LedgerUnreadable;

/// What was read from `state.db`.
///
/// # Errors
/// `unavailable`.
pub(super) fn found<T>(read: Result<Result<T, LedgerUnreadable>, Elapsed>) -> Result<T, Problem> {
    match read {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(Problem::new(ProblemName::Unavailable, error.to_string())),
        Err(_) => Err(Problem::new(ProblemName::Unavailable, "it was not read in time: ask for a shorter range")),
    }
}

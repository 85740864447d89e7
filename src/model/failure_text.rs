//! How an attempt says that its command could not be started, or that its worker could not run it.

/// The beginning of such an attempt's diagnostics, as built-in workers write them.
pub(crate) const START_FAILURE: &str = "cannot start the command ";

/// Whether the diagnostics of an attempt say that its command could not be started.
pub(crate) fn is_start_failure(diagnostics: &str) -> bool {
    diagnostics.starts_with(START_FAILURE)
}

/// The beginning of such an attempt's diagnostics, as built-in workers write them. It is reported as KILLED.
pub(crate) const WORKER_SHORTAGE: &str = "the worker lacks what it needs: ";

/// Whether the diagnostics of a killed attempt say that its worker could not run it.
pub(crate) fn is_worker_shortage(diagnostics: &str) -> bool {
    diagnostics.starts_with(WORKER_SHORTAGE)
}

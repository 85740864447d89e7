//! How an attempt says that its worker could not run it for want of something.

/// The beginning of such an attempt's diagnostics, as built-in workers write them. It is reported as KILLED.
pub(crate) const WORKER_SHORTAGE: &str = "the worker lacks what it needs: ";

/// Whether the diagnostics of a killed attempt say that its worker could not run it.
pub(crate) fn is_worker_shortage(diagnostics: &str) -> bool {
    diagnostics.starts_with(WORKER_SHORTAGE)
}

//! How an attempt says that its command could not be started at all.

/// The beginning of such an attempt's diagnostics, as built-in workers write them.
pub(crate) const START_FAILURE: &str = "cannot start the command ";

/// Whether the diagnostics of an attempt say that its command could not be started.
pub(crate) fn is_start_failure(diagnostics: &str) -> bool {
    diagnostics.starts_with(START_FAILURE)
}

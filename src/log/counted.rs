//! How many lines were logged, by level, since the start of the process.

use std::sync::atomic::{AtomicU64, Ordering};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

static ERRORS: AtomicU64 = AtomicU64::new(0);
static WARNINGS: AtomicU64 = AtomicU64::new(0);
static NOTICES: AtomicU64 = AtomicU64::new(0);

/// Counts the lines that are logged.
pub(super) struct CountedLines;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoggedLines {
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    /// Of the level INFO.
    pub(crate) notices: u64,
}

impl<S: Subscriber> Layer<S> for CountedLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let count = match *event.metadata().level() {
            Level::ERROR => &ERRORS,
            Level::WARN => &WARNINGS,
            Level::INFO => &NOTICES,
            _ => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl LoggedLines {
    /// Up to now.
    pub(crate) fn now() -> Self {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Self { errors: of(&ERRORS), warnings: of(&WARNINGS), notices: of(&NOTICES) }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn each_line_counts_for_its_level() {
        let before = LoggedLines::now();
        let subscriber = tracing_subscriber::registry().with(CountedLines);
        tracing::subscriber::with_default(subscriber, || {
            tracing::error!("one");
            tracing::warn!("two");
            tracing::warn!("three");
            tracing::debug!("not counted");
        });
        let after = LoggedLines::now();
        // Other tests log as well, but hardly in this place.
        assert!(after.errors > before.errors && after.warnings >= before.warnings + 2, "{before:?} {after:?}");
    }
}

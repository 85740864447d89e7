//! Where log lines go, which of them, and how many were logged since the start of the process.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{MakeWriter, format, layer};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, reload};

use super::journal::{WithPriority, is_stderr_journal};
use super::levels::keep;
use super::lines::EscapedFields;

/// Names the levels, as `info,jobtracker=debug`.
const LEVELS: &str = "RUST_LOG";

/// Lines for programs that read the log of the Java JobTracker, which say again what other lines say: each has a level only
/// where `RUST_LOG` names it.
const ONLY_IF_NAMED: [&str; 2] = ["jobtracker::hadoop_audit", "jobtracker::job_summary"];

/// Writes the log of this process to stderr, as [`start_log`] does. Where that leads to systemd's journal, each line begins with
/// its priority.
pub(crate) fn start_log_to_stderr() {
    start(std::io::stderr, std::io::stderr().is_terminal(), is_stderr_journal());
}

/// Writes the log of this process to `writer`: the levels of `RUST_LOG`, `info` without it, but for what
/// [must be named](ONLY_IF_NAMED). A process that has a log keeps it.
pub(crate) fn start_log<W>(writer: W, has_colours: bool)
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    start(writer, has_colours, false);
}

fn start<W>(writer: W, has_colours: bool, is_journal: bool)
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let events = WithPriority { inner: format().with_ansi(has_colours), is_on: is_journal };
    let lines = layer().event_format(events).fmt_fields(EscapedFields).with_ansi(has_colours).with_writer(writer);
    let levels = levels(std::env::var(LEVELS).ok().as_deref());
    let (filter, handle) = reload::Layer::new(levels.clone());
    if tracing_subscriber::registry().with(lines).with(CountedLines).with(filter).try_init().is_ok() {
        keep(levels, move |changed| handle.reload(changed).is_ok());
    }
}

/// A text that is not a list of levels counts as none.
fn levels(text: Option<&str>) -> Targets {
    let parsed = text.and_then(|text| text.parse::<Targets>().ok());
    let levels = parsed.unwrap_or_else(|| Targets::new().with_default(Level::INFO));
    let unnamed = ONLY_IF_NAMED.into_iter().filter(|target| levels.iter().all(|(named, _)| named != *target));
    let off: Vec<&str> = unnamed.collect();
    levels.with_targets(off.into_iter().map(|target| (target, LevelFilter::OFF)))
}

static ERRORS: AtomicU64 = AtomicU64::new(0);
static WARNINGS: AtomicU64 = AtomicU64::new(0);
static NOTICES: AtomicU64 = AtomicU64::new(0);

/// Counts the lines that are logged.
pub(super) struct CountedLines;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoggedLines {
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
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
    fn what_hadoop_would_write_has_a_level_only_where_it_is_named() {
        for target in ONLY_IF_NAMED {
            for text in [None, Some("debug"), Some("info,jobtracker=trace"), Some("jobtracker::hadoop=debug")] {
                assert!(!levels(text).would_enable(target, &Level::ERROR), "{text:?}");
            }
            let named = format!("warn,{target}=info");
            assert!(levels(Some(&named)).would_enable(target, &Level::INFO));
            assert!(!levels(Some(&named)).would_enable(target, &Level::DEBUG));
            assert!(!levels(Some(&named)).would_enable("jobtracker::audit", &Level::INFO));
        }
        assert!(levels(None).would_enable("jobtracker::audit", &Level::INFO));
    }

    #[test]
    fn levels_are_by_target() {
        let shown = |text, target| levels(text).would_enable(target, &Level::DEBUG);
        assert!(shown(Some("info,jobtracker::store=debug"), "jobtracker::store::writer"));
        assert!(!shown(Some("info,jobtracker::store=debug"), "jobtracker::server"));
        assert!(shown(Some("debug"), "hyper"));
        for text in [None, Some("a=b=c")] {
            assert!(!shown(text, "jobtracker") && levels(text).would_enable("jobtracker", &Level::INFO), "{text:?}");
        }
    }

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

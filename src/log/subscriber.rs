//! Where log lines go, and which of them.

use std::io::IsTerminal;

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{MakeWriter, format, layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::journal::{WithPriority, is_stderr_journal};
use super::lines::escaped_fields;

/// Names the levels, as `info,jobtracker=debug`.
const LEVELS: &str = "RUST_LOG";

/// Writes the log of this process to stderr, as [`start_log`] does. Where that leads to systemd's journal, each line begins with
/// its priority.
pub(crate) fn start_log_to_stderr() {
    start(std::io::stderr, std::io::stderr().is_terminal(), is_stderr_journal());
}

/// Writes the log of this process to `writer`: the levels of `RUST_LOG`, `info` without it. A process that has a log keeps it.
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
    let lines = layer().event_format(events).fmt_fields(escaped_fields()).with_ansi(has_colours).with_writer(writer);
    let _ = tracing_subscriber::registry().with(lines).with(levels(std::env::var(LEVELS).ok().as_deref())).try_init();
}

/// A text that is not a list of levels counts as none.
fn levels(text: Option<&str>) -> Targets {
    text.and_then(|text| text.parse().ok()).unwrap_or_else(|| Targets::new().with_default(Level::INFO))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

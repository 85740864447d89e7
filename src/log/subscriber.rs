//! Where log lines go, and which of them.

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{MakeWriter, layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::lines::escaped_fields;

/// Names the levels, as `info,jobtracker=debug`.
const LEVELS: &str = "RUST_LOG";

/// Writes the log of this process to `writer`: the levels of `RUST_LOG`, `info` without it. A process that has a log keeps it.
pub(crate) fn start_log<W>(writer: W, has_colours: bool)
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let lines = layer().fmt_fields(escaped_fields()).with_ansi(has_colours).with_writer(writer);
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

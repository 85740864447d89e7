//! Where log lines go, and which of them.

use std::io::IsTerminal;

use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{MakeWriter, format, layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

use super::counted::CountedLines;
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

#[cfg(test)]
mod tests {
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
}

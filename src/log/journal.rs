//! Lines for systemd's journal: each begins with its priority, `<3>` to `<7>`, as `sd-daemon(3)` has it. Without it the journal
//! takes every line for `info`.

use std::fmt;
use std::os::fd::AsFd;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The variable in which systemd names the device and the inode of the stream to the journal.
const STREAM: &str = "JOURNAL_STREAM";

/// What a line to stderr begins with that says why the program fails: the priority, where stderr is the journal.
pub(crate) fn error_mark() -> &'static str {
    if is_stderr_journal() { "<3>" } else { "" }
}

pub(super) fn is_stderr_journal() -> bool {
    is_journal(std::io::stderr(), std::env::var(STREAM).ok().as_deref())
}

/// Whether an open file is the stream to the journal that `named` (`device:inode`) is.
fn is_journal(file: impl AsFd, named: Option<&str>) -> bool {
    let Some((device, inode)) = named.and_then(|named| named.split_once(':')) else { return false };
    let (Ok(device), Ok(inode)) = (device.parse::<u64>(), inode.parse::<u64>()) else { return false };
    rustix::fs::fstat(file).is_ok_and(|stat| stat.st_dev == device && stat.st_ino == inode)
}

/// Events as `inner` formats them, behind their priority where the log goes to the journal.
pub(super) struct WithPriority<E> {
    pub(super) inner: E,
    pub(super) is_on: bool,
}

impl<S, N, E> FormatEvent<S, N> for WithPriority<E>
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    N: for<'writer> FormatFields<'writer> + 'static,
    E: FormatEvent<S, N>,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        if self.is_on {
            write!(writer, "<{}>", priority(*event.metadata().level()))?;
        }
        self.inner.format_event(context, writer, event)
    }
}

/// The priority of `syslog(3)`.
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::log::tests::Lines;

    fn written(is_on: bool) -> Vec<String> {
        let lines = Lines::default();
        let writer = lines.clone();
        let inner = tracing_subscriber::fmt::format().with_ansi(false);
        let subscriber = tracing_subscriber::fmt()
            .event_format(WithPriority { inner, is_on })
            .with_max_level(Level::TRACE)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::error!("a");
            tracing::warn!("b");
            tracing::info!("c");
            tracing::debug!("d");
        });
        let text = lines.text();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_line_for_the_journal_begins_with_its_priority() {
        let starts: Vec<String> = written(true).iter().map(|line| line[..3].to_owned()).collect();
        assert_eq!(starts, ["<3>", "<4>", "<6>", "<7>"]);
        assert!(written(false).iter().all(|line| !line.contains('<')));
    }

    #[test]
    fn the_journal_is_known_by_device_and_inode() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("stream");
        let file = File::create(&path).unwrap();
        let metadata = file.metadata().unwrap();
        let named = format!("{}:{}", metadata.dev(), metadata.ino());
        assert!(is_journal(&file, Some(&named)));
        let other = format!("{}:{}", metadata.dev(), metadata.ino() + 1);
        for named in [None, Some(""), Some("1"), Some("a:b"), Some(&*other)] {
            assert!(!is_journal(&file, named), "{named:?}");
        }
    }
}

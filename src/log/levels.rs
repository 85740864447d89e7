//! Levels of the log while it runs, as `/logLevel` shows and sets them.

use std::sync::{Mutex, OnceLock, PoisonError};

use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

/// Longest name of a target, bytes, and most of them that are set apart: each stays until the end of the process.
const MOST_TARGET_BYTES: usize = 200;
const MOST_TARGETS: usize = 100;

/// Who changed what: no other target's level, nor their own, may silence these while the process runs.
const KEPT_TARGETS: [&str; 2] = ["jobtracker::audit", "jobtracker::hadoop_audit"];

/// The levels of this process; none before its log is started.
static LEVELS: OnceLock<Levels> = OnceLock::new();

struct Levels {
    present: Mutex<Targets>,
    apply: Box<dyn Fn(Targets) -> bool + Send + Sync>,
}

/// A level, by the names of log4j.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogLevel(LevelFilter);

/// By log4j's names, the one that is shown for a level first.
const NAMES: [(&str, LevelFilter); 8] = [
    ("OFF", LevelFilter::OFF),
    ("ERROR", LevelFilter::ERROR),
    ("FATAL", LevelFilter::ERROR),
    ("WARN", LevelFilter::WARN),
    ("INFO", LevelFilter::INFO),
    ("DEBUG", LevelFilter::DEBUG),
    ("TRACE", LevelFilter::TRACE),
    ("ALL", LevelFilter::TRACE),
];

impl LogLevel {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, level)| Self(*level))
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, level)| *level == self.0).map_or("OFF", |(name, _)| name)
    }

    fn of(levels: &Targets, target: &str) -> Self {
        let all = [Level::TRACE, Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR];
        let shown = all.into_iter().find(|level| levels.would_enable(target, level));
        Self(shown.map_or(LevelFilter::OFF, LevelFilter::from_level))
    }
}

/// Keeps the levels of the log that was started, and how others are put in their place.
pub(super) fn keep(present: Targets, apply: impl Fn(Targets) -> bool + Send + Sync + 'static) {
    // A process that has a log keeps it.
    let _ = LEVELS.set(Levels { present: Mutex::new(present), apply: Box::new(apply) });
}

pub(crate) fn level_of(target: &str) -> LogLevel {
    let Some(levels) = LEVELS.get() else { return LogLevel(LevelFilter::OFF) };
    LogLevel::of(&levels.present.lock().unwrap_or_else(PoisonError::into_inner), target)
}

/// Sets it, until the end of the process; returns whether that is possible.
pub(crate) fn set_level(target: &str, level: LogLevel) -> bool {
    let Some(levels) = LEVELS.get().filter(|_| target.len() <= MOST_TARGET_BYTES) else { return false };
    let mut present = levels.present.lock().unwrap_or_else(PoisonError::into_inner);
    let changed = changed(&present, target, level);
    if changed.iter().count() > MOST_TARGETS || !(levels.apply)(changed.clone()) {
        return false;
    }
    *present = changed;
    true
}

/// The levels with another one of a target. Those of targets within it would stand above it, so they go; what is off stays off.
fn changed(present: &Targets, target: &str, LogLevel(level): LogLevel) -> Targets {
    let within = format!("{target}::");
    let others = present
        .iter()
        .filter(|(known, level)| *known != target && (*level == LevelFilter::OFF || !known.starts_with(&within)));
    let kept = Targets::new().with_targets(others.map(|(known, level)| (known.to_owned(), level)));
    let kept = match present.default_level() {
        Some(default) => kept.with_default(default),
        None => kept,
    };
    let changed = kept.with_target(target, level);
    let writes = |levels: &Targets, kept: &str| levels.would_enable(kept, &Level::INFO);
    let is_silenced = |kept: &&str| writes(present, kept) && !writes(&changed, kept);
    let silenced: Vec<&str> = KEPT_TARGETS.into_iter().filter(is_silenced).collect();
    silenced.into_iter().fold(changed, |levels, kept| levels.with_target(kept, LevelFilter::INFO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_level_silences_the_audit_log() {
        let present: Targets = "info,jobtracker::hadoop_audit=off".parse().unwrap();
        let level = |levels: &Targets, target| LogLevel::of(levels, target).name();
        // A target is any beginning of a name.
        for target in ["jobtracker::audit", "jobtracker", "jobtracker::aud", "j"] {
            for wanted in ["OFF", "FATAL", "ERROR", "WARN"] {
                let set = changed(&present, target, LogLevel::parse(wanted).unwrap());
                assert_eq!(level(&set, "jobtracker::audit"), "INFO", "{target} {wanted}");
                assert_eq!(level(&set, "jobtracker::hadoop_audit"), "OFF", "off by the operator's word");
            }
        }
        let set = changed(&present, "jobtracker", LogLevel::parse("OFF").unwrap());
        assert_eq!(level(&set, "jobtracker::store"), "OFF");
        let more = changed(&set, "jobtracker::audit", LogLevel::parse("DEBUG").unwrap());
        assert_eq!(level(&more, "jobtracker::audit"), "DEBUG");
    }

    #[test]
    fn a_level_holds_for_its_target_and_what_is_within() {
        let present: Targets = "warn,jobtracker::store=debug,hyper=error".parse().unwrap();
        let level = |levels: &Targets, target| LogLevel::of(levels, target).name();
        let shown = ["jobtracker", "jobtracker::store", "hyper"].map(|target| level(&present, target));
        assert_eq!(shown, ["WARN", "DEBUG", "ERROR"]);
        let set = changed(&present, "jobtracker", LogLevel::parse("INFO").unwrap());
        let shown = ["jobtracker::store", "jobtracker", "hyper", "tokio"].map(|target| level(&set, target));
        assert_eq!(shown, ["INFO", "INFO", "ERROR", "WARN"]);
        let back = changed(&set, "jobtracker", LogLevel::parse("OFF").unwrap());
        assert_eq!(level(&back, "jobtracker::store"), "OFF");
        assert_eq!((LogLevel::parse("LOUD"), LogLevel::parse("info")), (None, None));
        assert_eq!(LogLevel::parse("ALL").map(LogLevel::name), Some("TRACE"));
    }
}

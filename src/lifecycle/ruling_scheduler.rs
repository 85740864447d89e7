//! Which scheduler rules after a start: the one that an operator chose, until the configuration names another class than it did then.

use std::borrow::Cow;

use crate::config::{ConfigError, Settings};
use crate::engine::SchedulerChoice;

pub(super) struct RulingScheduler<'a> {
    /// The settings, with those of this scheduler.
    pub(super) settings: Cow<'a, Settings>,
    /// The choice that is in force; none: the configuration's, of now.
    pub(super) choice: Option<SchedulerChoice>,
    /// Which one rules and why, for the log.
    pub(super) line: String,
}

impl<'a> RulingScheduler<'a> {
    /// Reads the files of the chosen scheduler if it is not the configured one.
    pub(super) fn find(settings: &'a Settings, stored: Option<&SchedulerChoice>) -> Result<Self, ConfigError> {
        let configured = settings.scheduler.class_name();
        let borrowed = |choice, line| Self { settings: Cow::Borrowed(settings), choice, line };
        let Some(stored) = stored else {
            let line = format!("scheduler {configured}, as mapred.jobtracker.taskScheduler says");
            return Ok(borrowed(None, line));
        };
        if !stored.outlasts(configured) {
            let line = format!(
                "scheduler {configured}: mapred.jobtracker.taskScheduler named {} when {} chose {}, and names another now",
                stored.configured,
                chooser(stored),
                stored.class
            );
            return Ok(borrowed(None, line));
        }
        if stored.class == configured {
            let line = format!("scheduler {configured}, chosen by {} and configured", chooser(stored));
            return Ok(borrowed(Some(stored.clone()), line));
        }
        let (mut chosen, _warnings) = Settings::load(&settings.sources.under(&stored.class))?;
        // Reading them again finds what is configured.
        chosen.sources = settings.sources.clone();
        let line = format!(
            "scheduler {}, chosen by {} while mapred.jobtracker.taskScheduler named {configured}, as it does now",
            stored.class,
            chooser(stored)
        );
        Ok(Self { settings: Cow::Owned(chosen), choice: Some(stored.clone()), line })
    }
}

fn chooser(choice: &SchedulerChoice) -> &str {
    choice.by.as_deref().unwrap_or("the configuration")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::{FIFO_CLASS, LoadOptions};

    fn settings() -> Settings {
        let options = LoadOptions { overrides: vec!["hadoop.tmp.dir=/tmp/none".into()], ..LoadOptions::default() };
        Settings::load(&options).unwrap().0
    }

    fn stored(class: &str, configured: &str) -> SchedulerChoice {
        SchedulerChoice { class: class.into(), since_ms: 7, by: Some("root".into()), configured: configured.into() }
    }

    #[test]
    fn a_choice_lasts_until_the_configuration_names_another_class() {
        let settings = settings();
        let fair = crate::config::settings::FAIR_CLASS;
        let of = |stored: Option<&SchedulerChoice>| {
            let ruling = RulingScheduler::find(&settings, stored).unwrap();
            (ruling.settings.scheduler.class_name(), ruling.choice.is_some(), ruling.line)
        };
        assert_eq!((of(None).0, of(None).1), (FIFO_CLASS, false));
        let (class, is_chosen, line) = of(Some(&stored(fair, FIFO_CLASS)));
        assert_eq!((class, is_chosen), (fair, true), "{line}");
        assert!(line.contains("chosen by root"), "{line}");
        let ruling = RulingScheduler::find(&settings, Some(&stored(fair, FIFO_CLASS))).unwrap();
        assert_eq!(ruling.settings.sources.overrides, settings.sources.overrides, "the files name what they did");
        let (class, is_chosen, line) = of(Some(&stored(fair, fair)));
        assert_eq!((class, is_chosen), (FIFO_CLASS, false), "{line}");
        assert!(line.contains("names another now"), "{line}");
        assert!(of(Some(&stored(FIFO_CLASS, FIFO_CLASS))).1);
    }
}

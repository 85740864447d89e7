//! Which scheduler rules, since when, and by whose choice.

use serde::{Deserialize, Serialize};

/// The choice of a scheduler. It stays in force over restarts until the configuration names another class than it did then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulerChoice {
    pub(crate) class: String,
    /// Since when it rules, epoch ms.
    pub(crate) since_ms: i64,
    /// The user who chose it; none: the configuration did.
    pub(crate) by: Option<String>,
    /// The class that the configuration named then (`mapred.jobtracker.taskScheduler`).
    pub(crate) configured: String,
}

impl SchedulerChoice {
    /// The choice of a configuration that names this class.
    pub(crate) fn of_configuration(class: &str, now_wall_ms: i64) -> Self {
        Self { class: class.to_owned(), since_ms: now_wall_ms, by: None, configured: class.to_owned() }
    }

    /// Whether it stays in force under a configuration that names this class.
    pub(crate) fn outlasts(&self, configured: &str) -> bool {
        self.configured == configured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_lasts_until_the_configuration_names_another_class() {
        let choice =
            SchedulerChoice { class: "b".into(), since_ms: 7, by: Some("root".into()), configured: "a".into() };
        assert!(choice.outlasts("a"));
        assert!(!choice.outlasts("b") && !choice.outlasts("c"));
        assert!(SchedulerChoice::of_configuration("c", 8).outlasts("c"));
    }
}

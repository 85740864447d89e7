//! Which jobs a command means, by what they are: `job list`, `job kill` and others.

use clap::ValueEnum;
use glob::Pattern;

use crate::cli::since::parse_time_ms;
use crate::cli::user_filter::UserFilter;
use crate::client::job::view::{JobLine, JobState};

use super::error::JobCommandError;

/// Options that choose jobs.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct FilterArguments {
    #[command(flatten)]
    pub(super) user: UserFilter,
    /// Only jobs of this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Only jobs of this name; * stands for any text, ? for one character
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Only jobs submitted at or after this time, local unless it has an offset: 2026-11-21, 2026-11-21T09:30
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
}

/// The state of a job, as an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateArgument {
    /// Setup is not finished.
    Prep,
    /// Tasks may run.
    Running,
    /// Finished successfully.
    Succeeded,
    /// Finished with an error.
    Failed,
    /// Killed.
    Killed,
}

/// What is asked of a job.
#[derive(Debug)]
pub(super) struct Filter<'a> {
    arguments: &'a FilterArguments,
    name: Option<Pattern>,
    since_ms: Option<i64>,
}

impl FilterArguments {
    /// Whether an option other than `--user` is given.
    pub(super) fn chooses_besides_user(&self) -> bool {
        let Self { user: UserFilter { owner, .. }, queue, name, since } = self;
        [owner, queue, name, since].into_iter().any(Option::is_some)
    }

    /// The filter; refuses a date or a pattern that is none.
    pub(super) fn filter(&self) -> Result<Filter<'_>, JobCommandError> {
        let since_ms = self.since.as_deref().map(parse_time_ms).transpose();
        let since_ms = since_ms.map_err(|error| JobCommandError::Argument(error.to_string()))?;
        let pattern = |name: &String| {
            Pattern::new(name).map_err(|error| JobCommandError::Argument(format!("--name {name:?}: {error}")))
        };
        Ok(Filter { arguments: self, name: self.name.as_ref().map(pattern).transpose()?, since_ms })
    }
}

impl StateArgument {
    /// Whether a job in this state has ended.
    pub(super) fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Killed)
    }

    /// Whether a job is in this state.
    pub(super) fn is_of(self, job: &JobLine) -> bool {
        job.state
            == match self {
                Self::Prep => JobState::Prep,
                Self::Running => JobState::Running,
                Self::Succeeded => JobState::Succeeded,
                Self::Failed => JobState::Failed,
                Self::Killed => JobState::Killed,
            }
    }
}

impl Filter<'_> {
    /// Whether a job is meant.
    pub(super) fn is_for(&self, job: &JobLine) -> bool {
        let FilterArguments { user, queue, .. } = self.arguments;
        user.name().is_none_or(|user| user == job.user)
            && queue.as_ref().is_none_or(|queue| *queue == job.queue)
            && self.name.as_ref().is_none_or(|name| name.matches(&job.name))
            && self.since_ms.is_none_or(|since_ms| job.started_ms >= since_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_must_hold() {
        let is_for = |user: &str, queue: &str, name: &str, since: &str| {
            let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let arguments = FilterArguments {
                user: UserFilter { user: given(user), owner: None },
                queue: given(queue),
                name: given(name),
                since: given(since),
            };
            assert_eq!(arguments.chooses_besides_user(), [queue, name, since].iter().any(|text| !text.is_empty()));
            arguments.filter().unwrap().is_for(&JobLine::example())
        };
        assert!(is_for("", "", "", "") && is_for("alice", "alice", "word*", "2023-11-14T22:13:20"));
        assert!(!is_for("bob", "", "", "") && !is_for("", "default", "", "") && !is_for("", "", "word", ""));
        assert!(!is_for("", "", "", "2023-11-14T22:13:21") && is_for("", "", "wor? count", ""));
    }

    #[test]
    fn wrong_values_are_named() {
        let since = FilterArguments { since: Some("then".to_owned()), ..FilterArguments::default() };
        assert!(since.filter().unwrap_err().to_string().starts_with("--since \"then\" is not a date"));
        let name = FilterArguments { name: Some("a[".to_owned()), ..FilterArguments::default() };
        assert!(name.filter().unwrap_err().to_string().starts_with("--name \"a[\": "));
    }
}

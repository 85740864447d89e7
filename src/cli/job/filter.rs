//! Which jobs a command means, by what they are: `job list`, `job kill` and others.

use clap::ValueEnum;
use glob::Pattern;

use crate::cli::prompts::{confirm, these};
use crate::cli::time_text::parse_time_ms;
use crate::cli::values::UserFilter;
use crate::client::job::view::{JobLine, JobState};
use crate::client::job::{JobId, JobTrackerClient};

use super::connection::{ConnectionArguments, JobCommandError};

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

#[derive(Debug)]
pub(super) struct Filter<'a> {
    arguments: &'a FilterArguments,
    name: Option<Pattern>,
    since_ms: Option<i64>,
}

impl FilterArguments {
    /// Whether an option other than `--user` is given.
    fn chooses_besides_user(&self) -> bool {
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
    pub(super) fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Killed)
    }

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
    pub(super) fn is_for(&self, job: &JobLine) -> bool {
        let FilterArguments { user, queue, .. } = self.arguments;
        user.name().is_none_or(|user| user == job.user)
            && queue.as_ref().is_none_or(|queue| *queue == job.queue)
            && self.name.as_ref().is_none_or(|name| name.matches(&job.name))
            && self.since_ms.is_none_or(|since_ms| job.started_ms >= since_ms)
    }
}

/// What a change prints where the options choose no job.
pub(super) const NONE_CHOSEN: &str = "no unfinished job is chosen by these options\n";

/// Options that choose the jobs of a change.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ChoiceArguments {
    #[command(flatten)]
    filter: FilterArguments,
    /// Do not ask before all jobs that the options choose are changed
    #[arg(long)]
    yes: bool,
}

impl ChoiceArguments {
    /// Refuses ids beside options that choose, and neither. With ids, `--user` is who asks.
    pub(super) fn check(&self, ids: &[JobId]) -> Result<(), JobCommandError> {
        let chooses = self.filter.user.user.is_some() || self.filter.chooses_besides_user();
        let wrong = match (ids.is_empty(), self.filter.chooses_besides_user(), chooses) {
            (true, _, false) => "expected job ids, or options that choose jobs: --user, --queue, --name, --since",
            (false, true, _) => "expected either job ids or options that choose jobs, not both",
            _ => return Ok(()),
        };
        Err(JobCommandError::Argument(wrong.to_owned()))
    }

    /// The connection, as who asks.
    pub(super) fn connection(&self, ids: &[JobId], connection: &ConnectionArguments) -> ConnectionArguments {
        let filter = &self.filter.user;
        if ids.is_empty() { connection.of_filter(filter) } else { connection.of_user(filter.user.as_deref()) }
    }

    /// The jobs; none: the user does not confirm. `verb` begins the question.
    pub(super) async fn jobs(
        &self,
        ids: &[JobId],
        jobtracker: &mut JobTrackerClient,
        verb: &str,
    ) -> Result<Option<Vec<JobLine>>, JobCommandError> {
        let mut jobs = Vec::with_capacity(ids.len());
        for id in ids {
            // A JobTracker ignores unknown ids.
            jobs.push(jobtracker.job(*id).await?);
        }
        if ids.is_empty() {
            let filter = self.filter.filter()?;
            jobs = jobtracker.jobs(false).await?;
            jobs.retain(|job| filter.is_for(job));
            let line = |job: &JobLine| format!("  {} {:?} of {}\n", job.job, job.name, job.user);
            if !jobs.is_empty() && !self.yes {
                let (list, change) = (jobs.iter().map(line).collect::<String>(), these(jobs.len(), "job"));
                let asked = confirm(&list, &format!("{verb} {change}")).await;
                return Ok(asked.map_err(JobCommandError::Argument)?.then_some(jobs));
            }
        }
        Ok(Some(jobs))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

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

    #[derive(Debug, Parser)]
    struct Line {
        jobs: Vec<JobId>,
        #[command(flatten)]
        choice: ChoiceArguments,
        #[command(flatten)]
        connection: ConnectionArguments,
    }

    fn asked_by(line: &str) -> Result<Option<String>, String> {
        let Line { jobs, choice, connection } =
            Line::try_parse_from(["kill"].into_iter().chain(line.split_whitespace())).unwrap();
        choice.check(&jobs).map_err(|error| error.to_string())?;
        Ok(choice.connection(&jobs, &connection).market.signer.user)
    }

    #[test]
    fn with_ids_the_user_asks_and_without_it_filters() {
        let asked_by_named = |line: &str| asked_by(line).unwrap();
        assert_eq!(asked_by_named("job_202611211200_0001 --user bob").as_deref(), Some("bob"));
        assert_eq!(asked_by_named("job_202611211200_0001 --user bob --as root").as_deref(), Some("root"));
        assert_eq!(asked_by_named("--user bob"), None, "bob's jobs, in one's own name");
        assert_eq!(asked_by_named("--owner bob --key-file k").as_deref(), Some("bob"), "a key is of a user");
        assert_eq!(asked_by_named("--user bob --key-file k --as root").as_deref(), Some("root"));
        assert!(asked_by("").unwrap_err().starts_with("expected job ids, or options that choose jobs: --user"));
        for chosen in ["--queue q", "--owner bob"] {
            assert!(asked_by(&format!("job_202611211200_0001 {chosen}")).unwrap_err().contains("not both"));
        }
    }
}

//! Which jobs a change is for: those of the ids, or without any those that options choose, once that is confirmed.

use crate::cli::confirm::{confirm, these};
use crate::client::job::view::JobLine;
use crate::client::job::{JobId, JobTrackerClient};

use super::connection::ConnectionArguments;
use super::error::JobCommandError;
use super::filter::FilterArguments;

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

//! `jobtracker job priority`: sets a job's priority.

use std::str::FromStr;

use crate::cli::market_text::{OutputForm, json};
use crate::client::job::JobId;
use crate::client::job::view::JobLine;
use crate::model::Priority;

use super::connection::{ConnectionArguments, JobCommandError};
use super::filter::{ChoiceArguments, NONE_CHOSEN};
use super::signed_change::ChangeWay;
use super::times::Times;

/// Options of `job priority`.
#[derive(Clone, Debug, clap::Args)]
#[command(override_usage = "jobtracker job priority [OPTIONS] <JOB>... <PRIORITY>
       jobtracker job priority [OPTIONS] --user NAME|--queue QUEUE|--name NAME|--since TIME <PRIORITY>")]
pub(crate) struct PriorityArguments {
    /// Job ids, such as job_202611211200_0001; without any, all unfinished jobs that the options below choose. Then the priority
    /// among the jobs of the queue: VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW
    #[arg(value_name = "JOB|PRIORITY", required = true)]
    words: Vec<Word>,
    #[command(flatten)]
    choice: ChoiceArguments,
    #[command(flatten)]
    connection: ConnectionArguments,
}

#[derive(Clone, Copy, Debug)]
enum Word {
    Job(JobId),
    Priority(Priority),
}

/// What a user of the market must know.
const MARKET_NOTE: &str =
    ", which counts for nothing while the market rules: slots follow rates (jobtracker queue set-spending)";

impl FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let priority = Priority::from_name(&text.to_ascii_uppercase()).map(Self::Priority);
        priority.map_or_else(|| text.parse().map(Self::Job), Ok).map_err(|_: <JobId as FromStr>::Err| {
            "expected a job id such as job_202611211200_0001, or a priority [possible values: VERY_HIGH, HIGH, NORMAL, LOW, VERY_LOW]"
                .to_owned()
        })
    }
}

impl PriorityArguments {
    fn jobs_and_priority(&self) -> Result<(Vec<JobId>, Priority), JobCommandError> {
        let jobs = self.words.iter().filter_map(|word| if let Word::Job(job) = word { Some(*job) } else { None });
        let named = |word: &Word| if let Word::Priority(priority) = word { Some(*priority) } else { None };
        let mut priorities = self.words.iter().filter_map(named);
        match (priorities.next(), priorities.next()) {
            (Some(priority), None) => Ok((jobs.collect(), priority)),
            _ => {
                let expected = "expected one priority: VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW";
                Err(JobCommandError::Argument(expected.to_owned()))
            }
        }
    }
}

pub(super) async fn priority(arguments: &PriorityArguments) -> Result<String, JobCommandError> {
    let PriorityArguments { choice, connection, .. } = arguments;
    let (ids, priority) = arguments.jobs_and_priority()?;
    choice.check(&ids)?;
    let connection = &choice.connection(&ids, connection);
    let mut jobtracker = connection.jobtracker().await?;
    let verb = format!("give priority {} to", priority.name());
    let Some(jobs) = choice.jobs(&ids, &mut jobtracker, &verb).await? else {
        return Ok("no priority was changed\n".to_owned());
    };
    let mut changed = Vec::with_capacity(jobs.len());
    let mut way = None;
    for job in &jobs {
        if job.state.is_finished() {
            changed.push(job.clone());
            continue;
        }
        // All are on one JobTracker.
        let way = match &way {
            Some(way) => way,
            None => way.insert(ChangeWay::of(connection, job).await?),
        };
        if !way.sign(&format!("setJobPriority={}&priority={}", job.job, priority.name())).await? {
            let set = jobtracker.set_priority(job.job, priority.name()).await;
            set.map_err(|error| way.explained(error.into()))?;
        }
        changed.push(jobtracker.job(job.job).await?);
    }
    let object = |job: &JobLine| serde_json::json!({ "job": job.job, "priority": job.priority });
    Ok(match (connection.form(), &changed[..]) {
        (OutputForm::Json, [job]) if !ids.is_empty() => json(&object(job)),
        (OutputForm::Json, jobs) => json(&jobs.iter().map(object).collect::<Vec<_>>()),
        (OutputForm::Table, []) => NONE_CHOSEN.to_owned(),
        (OutputForm::Table, jobs) => {
            let note = if Times::of(connection, jobs).await?.has_costs { MARKET_NOTE } else { "" };
            jobs.iter().map(|job| line(job, note)).collect()
        }
    })
}

fn line(job: &JobLine, note: &str) -> String {
    match job.state.is_finished() {
        true => format!("{} has already ended: {}; its priority stays {}\n", job.job, job.state.name(), job.priority),
        false => format!("{} has priority {}{note}\n", job.job, job.priority),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::client::job::view::JobState;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        priority: PriorityArguments,
    }

    fn meant(line: &str) -> Result<(usize, &'static str), String> {
        let line = Line::try_parse_from(["priority"].into_iter().chain(line.split_whitespace()));
        let line = line.map_err(|error| error.to_string())?;
        let (jobs, priority) = line.priority.jobs_and_priority().map_err(|error| error.to_string())?;
        Ok((jobs.len(), priority.name()))
    }

    #[test]
    fn a_job_that_has_ended_keeps_its_priority() {
        let job = JobLine { state: JobState::Succeeded, ..JobLine::example() };
        let said = line(&job, MARKET_NOTE);
        assert_eq!(said, format!("{} has already ended: SUCCEEDED; its priority stays NORMAL\n", job.job));
        let job = JobLine::example();
        assert_eq!(line(&job, ""), format!("{} has priority NORMAL\n", job.job));
    }

    #[test]
    fn jobs_may_be_named_or_chosen() {
        assert_eq!(meant("job_202611211200_0001 high"), Ok((1, "HIGH")));
        assert_eq!(meant("job_202611211200_0001 --as bob LOW"), Ok((1, "LOW")));
        assert_eq!(meant("job_202611211200_0001 job_202611211200_0002 VERY_LOW"), Ok((2, "VERY_LOW")));
        assert_eq!(meant("HIGH --user bob"), Ok((0, "HIGH")));
        assert!(meant("job_202611211200_0001").unwrap_err().starts_with("expected one priority"));
        assert!(meant("job_202611211200_0001 URGENT").unwrap_err().contains("'URGENT'"));
    }
}

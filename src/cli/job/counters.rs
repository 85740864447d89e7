//! `jobtracker job counters`: prints a job's counters.

use crate::cli::market_text::{OutputForm, columns, json, lines};
use crate::client::job::JobId;
use crate::client::job::view::JobCounter;

use super::connection::{ConnectionArguments, JobCommandError};

/// Options of `job counters`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CountersArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn counters(arguments: &CountersArguments) -> Result<String, JobCommandError> {
    let mut jobtracker = arguments.connection.jobtracker().await?;
    jobtracker.job(arguments.job).await?;
    let counters = jobtracker.counters(arguments.job).await?;
    Ok(match arguments.connection.form() {
        OutputForm::Json => json(&counters),
        OutputForm::Table => render_counters(&counters),
    })
}

/// Of the framework's counters, those that say what went through the job.
const MAIN: [&str; 5] = [
    "TOTAL_LAUNCHED_MAPS",
    "TOTAL_LAUNCHED_REDUCES",
    "MAP_INPUT_RECORDS",
    "MAP_OUTPUT_RECORDS",
    "REDUCE_OUTPUT_RECORDS",
];

/// The most important counters, and all of the job's own code.
pub(super) fn main_counters(mut counters: Vec<JobCounter>) -> Vec<JobCounter> {
    counters.retain(|counter| !counter.is_of_framework() || MAIN.contains(&counter.id.as_str()));
    counters
}

/// The counters, one a line, below their groups; nothing if there are none.
pub(super) fn render_counters(counters: &[JobCounter]) -> String {
    if counters.is_empty() {
        return String::new();
    }
    let mut table = columns(&["counter", "value"], 1);
    let mut group = None;
    for JobCounter { group: its_group, name, value, .. } in counters {
        if group != Some(its_group) {
            table.add_row([its_group.clone(), String::new()]);
            group = Some(its_group);
        }
        table.add_row([format!("  {name}"), value.to_string()]);
    }
    lines(&table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_below_their_groups() {
        let counter = |group: &str, name: &str, value| JobCounter {
            group: group.into(),
            group_id: "org.apache.hadoop.mapred.JobInProgress$Counter".into(),
            id: "TOTAL_LAUNCHED_MAPS".into(),
            name: name.into(),
            value,
            tasks: None,
        };
        let counters = [
            counter("File Systems", "BYTES_READ", 12),
            counter("Job Counters", "Launched map tasks", 3),
            counter("Job Counters", "Z", -1),
        ];
        insta::assert_snapshot!(render_counters(&counters), @r"
        COUNTER               VALUE
        File Systems
          BYTES_READ             12
        Job Counters
          Launched map tasks      3
          Z                      -1
        ");
    }

    #[test]
    fn the_main_counters_are_few_and_those_of_commands_stay() {
        let counter = |group_id: &str, id: &str| JobCounter {
            group: String::new(),
            group_id: group_id.into(),
            id: id.into(),
            name: String::new(),
            value: 1,
            tasks: None,
        };
        let framework = "org.apache.hadoop.mapred.Task$Counter";
        let counters = vec![
            counter(framework, "MAP_INPUT_RECORDS"),
            counter(framework, "CPU_MILLISECONDS"),
            counter("FileSystemCounters", "FILE_BYTES_READ"),
            counter("my group", "lines"),
        ];
        let left: Vec<_> = main_counters(counters).into_iter().map(|counter| counter.id).collect();
        assert_eq!(left, ["MAP_INPUT_RECORDS", "lines"]);
    }
}

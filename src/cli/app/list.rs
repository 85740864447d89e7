//! `jobtracker app list`: lists applications.

use clap::ValueEnum;

use crate::api::applications::{ApplicationReport, ApplicationRow, ApplicationState, ItemCounts, ReportedFinalStatus};
use crate::cli::market_command::MarketArguments;
use crate::cli::market_text::{OutputForm, columns_of, format_duration, json, lines, one_line};
use crate::cli::time_text::format_time;
use crate::cli::values::{UserFilter, whole_number};
use crate::client::applications::ApplicationQuery;

use super::connection::{AppCommandError, client_of};

/// Options of `app list`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AppListArguments {
    /// Include those that are over
    #[arg(long)]
    all: bool,
    /// Only those in this state; one that is over implies --all
    #[arg(long, value_name = "STATE", value_enum, ignore_case = true)]
    state: Option<ApplicationStateArgument>,
    #[command(flatten)]
    user: UserFilter,
    /// Only those of this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Only the newest N
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole_number::<1>)]
    limit: u32,
    /// Server, signer, output form.
    #[command(flatten)]
    pub(super) market: MarketArguments,
}

/// The state of an application, as an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ApplicationStateArgument {
    /// No program has registered; of `jobtracker run`: it is not over.
    Accepted,
    /// Its program has registered.
    Running,
    /// It has ended as it wanted.
    Finished,
    /// It has ended by a failure.
    Failed,
    /// It was killed.
    Killed,
}

impl From<ApplicationStateArgument> for ApplicationState {
    fn from(state: ApplicationStateArgument) -> Self {
        match state {
            ApplicationStateArgument::Accepted => Self::Accepted,
            ApplicationStateArgument::Running => Self::Running,
            ApplicationStateArgument::Finished => Self::Finished,
            ApplicationStateArgument::Failed => Self::Failed,
            ApplicationStateArgument::Killed => Self::Killed,
        }
    }
}

pub(super) async fn list(arguments: &AppListArguments) -> Result<String, AppCommandError> {
    let AppListArguments { all, state, user, queue, limit, market } = arguments;
    let states = match state {
        Some(state) => vec![ApplicationState::from(*state)],
        None if *all => Vec::new(),
        None => vec![ApplicationState::Accepted, ApplicationState::Running],
    };
    let limit = usize::try_from(*limit).unwrap_or(usize::MAX);
    let query = ApplicationQuery { states, owner: user.name().map(str::to_owned), queue: queue.clone(), limit };
    let mut found = client_of(&market.of_filter(user))?.list(&query).await?;
    // As jobs are listed: the newest last, where the eye is.
    found.reverse();
    Ok(render_list(&found, market.form()))
}

fn render_list(applications: &[ApplicationReport], form: OutputForm) -> String {
    let rows: Vec<ApplicationRow> = applications.iter().map(ApplicationRow::from).collect();
    if form == OutputForm::Json {
        return json(&rows);
    }
    // What no application has is left out.
    let has_ended = rows.iter().any(|row| row.finished_ms.is_some());
    let has_items = rows.iter().any(|row| row.items.is_some());
    let has_costs = rows.iter().any(|row| row.cost.is_some());
    let groups = [
        (true, &["application", "state", "user", "queue", "started"][..]),
        (has_ended, &["result"]),
        (true, &["elapsed", "name", "running", "waiting", "complete", "failed"]),
        (has_items, &["items done"]),
        (has_costs, &["cost"]),
    ];
    let cells = rows.iter().map(|row| {
        [
            vec![
                row.application.to_string(),
                row.state.name().to_owned(),
                row.user.clone(),
                row.queue.clone(),
                format_time(row.started_ms),
            ],
            vec![match row.final_status {
                ReportedFinalStatus::Undefined => "-".to_owned(),
                status => status.name().to_owned(),
            }],
            vec![
                format_duration(row.elapsed_ms.and_then(|ms| u64::try_from(ms / 1000).ok())),
                one_line(&row.name),
                row.running_containers.to_string(),
                row.pending_containers.to_string(),
                row.completed_containers.to_string(),
                row.failed_containers.to_string(),
            ],
            vec![row.items.map_or_else(|| "-".to_owned(), |ItemCounts { total, done }| format!("{done}/{total}"))],
            vec![row.cost.map_or_else(|| "-".to_owned(), |cost| cost.to_string())],
        ]
    });
    let left = ["application", "state", "user", "queue", "started", "result", "elapsed", "name"];
    lines(&columns_of(groups, &left, cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::applications::tests::example_application;

    #[test]
    fn applications_are_shown_a_line_each() {
        let running = example_application();
        insta::assert_snapshot!(render_list(std::slice::from_ref(&running), OutputForm::Table), @r"
        APPLICATION                     STATE     USER   QUEUE    STARTED               ELAPSED  NAME      RUNNING  WAITING  COMPLETE  FAILED
        application_1700000000000_0001  ACCEPTED  alice  default  2023-11-14T22:13:20Z  1m 5s    simulate        1        2         0       0
        ");
        let ended = ApplicationReport {
            state: ApplicationState::Finished,
            final_status: ReportedFinalStatus::Failed,
            finished_time: running.started_time + 5_000,
            cost: Some("1.5".parse().unwrap()),
            ..running.clone()
        };
        // Containers that are complete may have been taken from it: items say how far it is.
        let array = ApplicationReport {
            completed_containers: 4,
            items: Some(ItemCounts { total: 24, done: 0 }),
            ..running.clone()
        };
        insta::assert_snapshot!(render_list(&[array, running.clone()], OutputForm::Table), @r"
        APPLICATION                     STATE     USER   QUEUE    STARTED               ELAPSED  NAME      RUNNING  WAITING  COMPLETE  FAILED  ITEMS DONE
        application_1700000000000_0001  ACCEPTED  alice  default  2023-11-14T22:13:20Z  1m 5s    simulate        1        2         4       0        0/24
        application_1700000000000_0001  ACCEPTED  alice  default  2023-11-14T22:13:20Z  1m 5s    simulate        1        2         0       0           -
        ");
        insta::assert_snapshot!(render_list(&[running, ended.clone()], OutputForm::Table), @r"
        APPLICATION                     STATE     USER   QUEUE    STARTED               RESULT  ELAPSED  NAME      RUNNING  WAITING  COMPLETE  FAILED  COST
        application_1700000000000_0001  ACCEPTED  alice  default  2023-11-14T22:13:20Z  -       1m 5s    simulate        1        2         0       0     -
        application_1700000000000_0001  FINISHED  alice  default  2023-11-14T22:13:20Z  FAILED  1m 5s    simulate        1        2         0       0   1.5
        ");
        insta::assert_snapshot!(render_list(&[ended], OutputForm::Json), @r#"
        [
          {
            "application": "application_1700000000000_0001",
            "name": "simulate",
            "user": "alice",
            "queue": "default",
            "state": "FINISHED",
            "final_status": "FAILED",
            "started_ms": 1700000000000,
            "finished_ms": 1700000005000,
            "elapsed_ms": 65000,
            "running_containers": 1,
            "pending_containers": 2,
            "completed_containers": 0,
            "failed_containers": 0,
            "items": null,
            "memory_mb": 1024,
            "cores": 1,
            "cost": "1.5"
          }
        ]
        "#);
    }
}

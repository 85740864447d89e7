//! `jobtracker app kill`: kills applications.

use crate::api::applications::{ApplicationReport, ApplicationState};
use crate::cli::market_command::MarketArguments;
use crate::cli::market_text::{OutputForm, json};
use crate::cli::prompts::{confirm, these};
use crate::cli::values::UserFilter;
use crate::client::applications::{ApplicationQuery, KillOutcome};
use crate::model::ApplicationId;

use super::connection::{AppCommandError, client_of};

/// Options of `app kill`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AppKillArguments {
    /// Application ids, such as application_1700000000000_0001; without any, all that are not over and that the options below
    /// choose
    #[arg(value_name = "APPLICATION", required_unless_present_any = ["user", "owner", "queue"],
          conflicts_with_all = ["owner", "queue"])]
    applications: Vec<ApplicationId>,
    #[command(flatten)]
    user: UserFilter,
    /// Only those of this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Do not ask before all applications that the options choose are killed
    #[arg(long)]
    yes: bool,
    /// Server, signer, output form.
    #[command(flatten)]
    pub(super) market: MarketArguments,
}

pub(super) async fn kill(arguments: &AppKillArguments) -> Result<String, AppCommandError> {
    let AppKillArguments { applications: ids, user, yes, market, .. } = arguments;
    let is_choice = ids.is_empty();
    let asked = if is_choice { market.of_filter(user) } else { market.of_user(user.user.as_deref()) };
    let client = client_of(&asked)?;
    let ids = match is_choice {
        false => ids.clone(),
        true => {
            let chosen = client.list(&arguments.query()).await?;
            let line = |report: &ApplicationReport| format!("  {} {:?} of {}\n", report.id, report.name, report.user);
            let (list, change) = (chosen.iter().map(line).collect::<String>(), these(chosen.len(), "application"));
            let is_sure = chosen.is_empty() || *yes;
            if !is_sure && !confirm(&list, &format!("kill {change}")).await.map_err(AppCommandError::Argument)? {
                return Ok("no application was killed\n".to_owned());
            }
            chosen.iter().map(|report| report.id).collect()
        }
    };
    let mut killed = Vec::with_capacity(ids.len());
    for id in ids {
        killed.push((id, client.kill(id).await?));
    }
    Ok(match killed.is_empty() && market.form() == OutputForm::Table {
        true => "no application that is not over is chosen by these options\n".to_owned(),
        false => render_kills(&killed, is_choice, market.form()),
    })
}

impl AppKillArguments {
    fn query(&self) -> ApplicationQuery {
        ApplicationQuery {
            states: vec![ApplicationState::Accepted, ApplicationState::Running],
            owner: self.user.name().map(str::to_owned),
            queue: self.queue.clone(),
            limit: usize::MAX,
        }
    }
}

fn render_kills(killed: &[(ApplicationId, KillOutcome)], is_choice: bool, form: OutputForm) -> String {
    let object = |(id, outcome): &(ApplicationId, KillOutcome)| serde_json::json!({ "application": id, "state": outcome.state, "is_ending": outcome.is_ending });
    match (form, killed) {
        (OutputForm::Json, [only]) if !is_choice => json(&object(only)),
        (OutputForm::Json, killed) => json(&killed.iter().map(object).collect::<Vec<_>>()),
        (OutputForm::Table, killed) => killed.iter().map(line).collect(),
    }
}

fn line((id, KillOutcome { state, is_ending }): &(ApplicationId, KillOutcome)) -> String {
    match is_ending {
        true => format!("{id}: kill requested\n"),
        false => format!("{id} is over: {}\n", state.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_over_is_not_killed_again() {
        let of = |number, state, is_ending| (ApplicationId::new(5, number), KillOutcome { state, is_ending });
        let killed = [of(1, ApplicationState::Killed, true), of(2, ApplicationState::Finished, false)];
        insta::assert_snapshot!(render_kills(&killed, false, OutputForm::Table), @r"
        application_5_0001: kill requested
        application_5_0002 is over: FINISHED
        ");
        assert!(
            render_kills(&killed[..1], false, OutputForm::Json)
                .starts_with("{\n  \"application\": \"application_5_0001\"")
        );
        assert!(render_kills(&killed[..1], true, OutputForm::Json).starts_with("[\n"), "a choice may be of several");
    }
}

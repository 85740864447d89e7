//! `jobtracker app kill`: kills applications.

use crate::cli::market_command::MarketArguments;
use crate::cli::market_text::{Form, json};
use crate::client::applications::KillOutcome;
use crate::model::ApplicationId;

use super::connection::client_of;
use super::error::AppCommandError;

/// Options of `app kill`.
#[derive(Clone, Debug, clap::Args)]
pub struct KillArguments {
    /// Application ids, such as application_1700000000000_0001
    #[arg(value_name = "APPLICATION", required = true)]
    applications: Vec<ApplicationId>,
    /// Server, signer, output form.
    #[command(flatten)]
    pub(super) market: MarketArguments,
}

pub(super) async fn kill(arguments: &KillArguments) -> Result<String, AppCommandError> {
    let KillArguments { applications, market } = arguments;
    let client = client_of(market)?;
    let mut killed = Vec::with_capacity(applications.len());
    for &id in applications {
        killed.push((id, client.kill(id).await?));
    }
    Ok(render_kills(&killed, market.form()))
}

fn render_kills(killed: &[(ApplicationId, KillOutcome)], form: Form) -> String {
    let object = |(id, outcome): &(ApplicationId, KillOutcome)| serde_json::json!({ "application": id, "state": outcome.state, "is_ending": outcome.is_ending });
    match (form, killed) {
        (Form::Json, [only]) => json(&object(only)),
        (Form::Json, killed) => json(&killed.iter().map(object).collect::<Vec<_>>()),
        (Form::Table, killed) => killed.iter().map(line).collect(),
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
    use crate::api::applications::ApplicationState;

    #[test]
    fn one_that_is_over_is_not_killed_again() {
        let of = |number, state, is_ending| (ApplicationId::new(5, number), KillOutcome { state, is_ending });
        let killed = [of(1, ApplicationState::Killed, true), of(2, ApplicationState::Finished, false)];
        insta::assert_snapshot!(render_kills(&killed, Form::Table), @r"
        application_5_0001: kill requested
        application_5_0002 is over: FINISHED
        ");
        assert!(render_kills(&killed[..1], Form::Json).starts_with("{\n  \"application\": \"application_5_0001\""));
    }
}

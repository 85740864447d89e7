//! What a switch of the scheduler would do now, for administrators: what the page and the API ask.

use tokio::time::timeout;

use crate::api::SwitchPlan;

use super::identify::is_administrator;
use super::owner::{Owner, PlanQuestion, PlanRefusal};
use super::owner_gone::OwnerGone;
use super::state::{ANSWER_TIMEOUT, WebState};
use super::viewer::Viewer;

/// The plan, as `jobtracker scheduler plan` has it.
pub(super) async fn plan_switch<O: Owner>(
    state: &WebState<O>,
    viewer: &Viewer,
    to: String,
    move_to: Option<String>,
) -> Result<SwitchPlan, PlanRefusal> {
    if !is_administrator(state, viewer).await? {
        return Err(PlanRefusal::NotAdministrator);
    }
    let by = viewer.caller().user.to_string();
    let question = PlanQuestion { to, move_to, by, sees_money: viewer.sees_all_money() };
    timeout(ANSWER_TIMEOUT, state.owner.plan_switch(question)).await.unwrap_or(Err(OwnerGone.into()))
}

//! What a switch to another policy would do now: the sentences of `jobtracker scheduler plan`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};

use crate::api::SwitchPlan;
use crate::model::as_shell_word;

use super::super::owner::{MarketPresence, Owner, PlanRefusal};
use super::super::request_body::repeated_field;
use super::super::signed_request::HttpRequest;
use super::super::state::WebState;
use super::super::switch_plan::plan_switch;
use super::super::time_text::format_time;
use super::asked::{Asked, encoded};
use super::block::{Block, Section};
use super::error::Refused;
use super::handlers::shown;
use super::page::Page;
use super::piece::Piece;
use super::policy::{PLAN_COMMAND, plan_blocks};
use super::viewer::View;

const WANTED: &str = "the name of a policy, once: fifo, capacity, fair, constraint, dynamic, or a class name";
/// How the reason of a refusal begins among the sentences.
const REFUSED: &str = "refused: ";

pub(super) async fn plan<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let (to, move_to) = read(asked, request.uri.query().unwrap_or_default())?;
        match plan_switch(&state, view.viewer(), to.clone(), move_to.clone()).await {
            Ok(plan) => Ok(plan_page(view, asked, (to.as_str(), move_to.as_deref()), &plan)),
            // Without a market there are no keys to sign in with.
            Err(refusal) => Err(refused(&to, &refusal, state.owner.market_presence() != MarketPresence::Absent)),
        }
    })
    .await
}

/// The policy, and where jobs move.
fn read(asked: &mut Asked, query: &str) -> Result<(String, Option<String>), Refused> {
    let malformed = |value: &str| Refused::malformed("to", value, WANTED, "/policy/plan?to=fair".to_owned());
    if asked.is_malformed {
        let (name, value) = match repeated_field(query.as_bytes()) {
            Some((name, values)) => (name, values.join(" and ")),
            None => ("to".to_owned(), "A text that is not URL-encoded".to_owned()),
        };
        return Err(Refused {
            detail: format!("The parameter {name} is there twice or cannot be read; to is {WANTED}."),
            ..malformed(&value)
        });
    }
    let to = asked.take("to").ok_or_else(|| malformed("Nothing"))?;
    Ok((to, asked.take("move_to")))
}

fn plan_page(view: &View, asked: &Asked, (to, move_to): (&str, Option<&str>), plan: &SwitchPlan) -> Page {
    let sentences = plan.sentences(format_time);
    let (refusals, does): (Vec<_>, Vec<_>) = sentences.iter().partition(|sentence| sentence.starts_with(REFUSED));
    let mut blocks = vec![Block::List(does.into_iter().map(|sentence| vec![Piece::sentence(sentence)]).collect())];
    blocks.extend(refusals.into_iter().map(|sentence| Block::Complaint(vec![Piece::sentence(sentence)])));
    let finding = match (plan.is_permitted(), plan.is_reread()) {
        (false, _) => "A switch would be refused now",
        (true, true) => "Its files would be read again",
        (true, false) => "A switch would be made",
    };
    let moving = move_to.map(|queue| format!(" --move-to {}", as_shell_word(queue))).unwrap_or_default();
    let command = |verb: &str| format!("jobtracker scheduler {verb} {}{moving}", as_shell_word(to));
    let about = match plan.is_permitted() {
        true => "This changes nothing. The switch is made on the machine of the JobTracker, as its user or root:",
        false => "This changes nothing. On the machine of the JobTracker, as its user or root, the same is asked by:",
    };
    let mut printed = vec![command("plan")];
    printed.extend(plan.is_permitted().then(|| command("use")));
    let commands = vec![Block::line(about), Block::Commands(printed)];
    Page {
        title: format!("{finding} · plan of {to}"),
        heading: vec![Piece::text("Plan of a switch to "), Piece::foreign(to)],
        entry: "/policy",
        sections: vec![
            Section::new("plan", finding, blocks),
            Section::new("commands", "Commands", commands),
            Section::new("other", "Plan another switch", plan_blocks(view, asked, to, move_to.unwrap_or_default())),
        ],
        ..Page::default()
    }
}

fn refused(to: &str, refusal: &PlanRefusal, can_sign_in: bool) -> Refused {
    let page = format!("jobtracker open '/policy/plan?to={}'", encoded(to));
    let command = PLAN_COMMAND.to_owned();
    let with = |status, title: &str, try_commands| Refused {
        status,
        title: title.to_owned(),
        detail: format!("{refusal}."),
        try_commands,
    };
    match refusal {
        PlanRefusal::UnknownScheduler(why) => {
            let refused = Refused::malformed("policy", to, WANTED, "/policy/plan?to=fair".to_owned());
            Refused { detail: format!("{why}."), ..refused }
        }
        PlanRefusal::NotAdministrator | PlanRefusal::Private => {
            let command = format!("jobtracker scheduler plan {}", as_shell_word(to));
            let pages = can_sign_in.then_some(page);
            let try_commands = pages.into_iter().chain([command]).collect();
            with(StatusCode::FORBIDDEN, "This plan is for administrators", try_commands)
        }
        PlanRefusal::Files(_) => {
            let check = "jobtracker check-config".to_owned();
            with(StatusCode::SERVICE_UNAVAILABLE, "There is no plan: refused, nothing is changed", vec![check, command])
        }
        PlanRefusal::Busy => with(StatusCode::TOO_MANY_REQUESTS, "Another plan is being made", vec![command]),
        PlanRefusal::Gone(gone) => Refused::unavailable(gone.to_string()),
    }
}

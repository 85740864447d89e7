//! What admission would say of a job, as a page for browsers, and the form that asks.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, Uri};

use crate::api::{WhatIfAnswer, tenths_text};

use super::super::owner::Owner;
use super::super::signed_request::HttpRequest;
use super::super::state::WebState;
use super::asked::{Asked, takes_html};
use super::block::{Block, Field, Form, Section};
use super::error::Refused;
use super::page::Page;
use super::piece::{Cell, Piece};
use super::viewer::View;

const NO_ANSWER: &str = "There is no answer";
const KEYS: [&str; 2] = ["uniform", "single"];

/// The form that asks whether a job would be accepted, with what was asked before.
pub(super) fn question_form(asked: &BTreeMap<String, String>) -> Block {
    let given = |name: &str, other: &str| asked.get(name).map_or(other, String::as_str).to_owned();
    let text = |name, label| Field::text(name, label, given(name, ""));
    Block::Form(Form {
        action: "/scheduler?whatif".to_owned(),
        label: "Would a job be in time?",
        fields: vec![
            text("volumeMb", "Input, MB"),
            text("deadlineMs", "Deadline after its submission, ms"),
            Field::text("reduces", "Reduces", given("reduces", "1")),
            text("mapMsPerMb", "A map takes, ms for an MB of input"),
            text("reduceMsPerMb", "A reduce takes, ms for an MB of what it gets"),
            text("copyMsPerMb", "Copying takes, ms for an MB"),
            text("filterRatio", "What maps put out, as a part of their input (1: as much)"),
            Field::choice(
                "keys",
                "Keys go to all reduces alike (uniform) or to one (single)",
                given("keys", "uniform"),
                &KEYS,
            ),
        ],
        button: "Ask",
        is_sent: true,
    })
}

/// Whether the question came from a browser, which gets a page.
pub(crate) fn is_of_browser(headers: &HeaderMap) -> bool {
    takes_html(headers)
}

/// The answer to what was asked as a page; an error: its status, and why there is none.
pub(crate) async fn deadline_answer<O: Owner>(
    state: &WebState<O>,
    request: &HttpRequest,
    fields: &BTreeMap<String, String>,
    answered: Result<WhatIfAnswer, (StatusCode, String)>,
) -> Response<Body> {
    // What was asked is in the body.
    let asked = Asked::of(&Uri::from_static("/deadlines"), &HeaderMap::new());
    let view = match View::of(state, request).await {
        Ok(view) => view,
        Err(refused) => return refused.line(),
    };
    match answered {
        Ok(answer) => view.answer(&answer_page(&answer, fields), &asked),
        Err((StatusCode::BAD_REQUEST, why)) => view.answer(&unanswered_page(&why, fields), &asked),
        Err((status, why)) => {
            let title = NO_ANSWER.to_owned();
            let refused =
                Refused { status, title, detail: format!("{why}."), try_commands: vec!["/deadlines".to_owned()] };
            view.refuse(&refused, &asked)
        }
    }
}

/// A question that says why it cannot be answered, to be corrected.
fn unanswered_page(why: &str, fields: &BTreeMap<String, String>) -> Page {
    let complaint = Block::Complaint(vec![Piece::sentence(&format!("{why}."))]);
    Page {
        status: StatusCode::BAD_REQUEST,
        title: format!("{NO_ANSWER} · deadlines"),
        heading: vec![Piece::text(NO_ANSWER)],
        entry: "/deadlines",
        sections: vec![Section::new("ask", "Ask again", vec![complaint, question_form(fields)])],
        ..Page::default()
    }
}

/// A hundred years: the costs of what is later are beyond any sense.
const MOST_SHOWN_MS: i64 = 100 * 365 * 86_400_000;

fn answer_page(answer: &WhatIfAnswer, fields: &BTreeMap<String, String>) -> Page {
    let finding = match answer.schedulable {
        true => "The job would be accepted",
        false => "The job would be rejected",
    };
    let mut blocks = Vec::new();
    if let Some(reason) = &answer.reason {
        blocks.push(Block::Complaint(vec![Piece::sentence(reason)]));
    }
    if let Some(late_ms) = answer.late_by_ms {
        let late = tenths_text(late_ms.unsigned_abs());
        blocks.push(Block::Complaint(vec![Piece::text(format!(
            "Yet it would not keep its deadline: the check divides work as finely as it needs, and one task of each kind alone takes longer, so that it would end {late} late or more."
        ))]));
    }
    let after = |ms: i64| {
        let side = if ms < 0 { "before" } else { "after" };
        vec![Piece::text(format!("{} {side} its submission", tenths_text(ms.unsigned_abs())))]
    };
    let number = |metric, value: Option<u32>| -> Cell {
        value.map_or_else(
            || vec![Piece::text("any number would be too late")],
            |value| vec![Piece::number(metric, value)],
        )
    };
    let mut summary = vec![
        ("Maps that must run at a time", number("min_maps", answer.min_maps)),
        ("Free map slots", vec![Piece::number("free_maps", answer.free_maps)]),
    ];
    summary.extend(
        answer.promised_until_ms.map(|until_ms| ("No more of them are free until", vec![Piece::moment(until_ms)])),
    );
    summary.extend(answer.planned_start_ms.map(|start_ms| ("Its maps would start", after(start_ms))));
    // What is shown must be accepted, too.
    let earliest_ms = answer.earliest_deadline_ms.map(|ms| ms.saturating_add(99) / 100 * 100);
    summary.extend([
        ("Reduces", vec![Piece::number("reduces", answer.reduces)]),
        ("Free reduce slots", vec![Piece::number("free_reduces", answer.free_reduces)]),
        ("Reduces all started", after(answer.reduce_start_limit_ms)),
        (
            "Earliest deadline",
            earliest_ms
                .filter(|ms| *ms < MOST_SHOWN_MS)
                .map_or_else(|| vec![Piece::text("none would be accepted")], after),
        ),
    ]);
    blocks.push(Block::Summary(summary));
    Page {
        title: format!("{finding} · deadlines"),
        heading: vec![Piece::text(finding)],
        entry: "/deadlines",
        sections: vec![
            Section::new("answer", "If it were submitted now", blocks),
            Section::new("ask", "Ask again", vec![question_form(fields)]),
        ],
        ..Page::default()
    }
}

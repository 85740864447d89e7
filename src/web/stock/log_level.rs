//! `/logLevel`: shows and sets levels of the log, as `hadoop daemonlog` asks for it: by GET, each line of its answer marked.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};

use crate::http::ConnectionEnds;
use crate::log::{LogLevel, level_of, set_level};

use super::super::owner::Owner;
use super::super::response::text;
use super::super::same_site::{came_through_proxy, is_from_own_page};
use super::super::state::WebState;
use super::access::check_administrators;
use super::answer;
use super::request::{Asked, Refused};

/// Loggers of the Java JobTracker; each of them stands for all lines of this program.
const JAVA_NAMES: &str = "org.apache.hadoop";
/// All lines of this program.
const OWN_LINES: &str = "jobtracker";

/// Answers `/logLevel`.
pub(super) async fn log_level<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> Response<Body> {
    match answered(&state, request).await {
        Ok(response) | Err(response) => *response,
    }
}

async fn answered<O: Owner>(state: &WebState<O>, request: Request) -> Result<Refused, Refused> {
    let ends = request.extensions().get::<ConnectionEnds>().copied();
    let asked = Asked::of(request).await?;
    check_administrators(state)?;
    let log = asked.get("log").filter(|log| !log.is_empty());
    let (Some(log), wanted) = (log, asked.get("level")) else {
        return Ok(Box::new(answer::page(StatusCode::OK, &Page { new_page: "/", shown: None })));
    };
    let target = if log.starts_with(JAVA_NAMES) { OWN_LINES } else { log };
    let (mut bad_level, mut is_set) = (false, false);
    if let Some(wanted) = wanted {
        let is_local = ends.is_some_and(|ends| ends.peer.ip().to_canonical().is_loopback());
        if !is_local || came_through_proxy(asked.headers()) || !is_from_own_page(asked.headers()) {
            let why = "levels are set from a loopback address of this machine, by no page of another site";
            return Err(Box::new(text(StatusCode::FORBIDDEN, why)));
        }
        match LogLevel::parse(wanted) {
            Some(level) => is_set = set_level(target, level),
            None => bad_level = true,
        }
    }
    let shown = Shown { log, wanted, bad_level, is_set, level: level_of(target).name() };
    Ok(Box::new(answer::page(StatusCode::OK, &Page { new_page: "/", shown: Some(shown) })))
}

/// The input of the template.
#[derive(Template)]
#[template(path = "stock/log_level.html")]
struct Page<'a> {
    new_page: &'static str,
    shown: Option<Shown<'a>>,
}

struct Shown<'a> {
    log: &'a str,
    wanted: Option<&'a str>,
    bad_level: bool,
    is_set: bool,
    level: &'static str,
}

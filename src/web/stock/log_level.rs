//! `/logLevel`: shows and sets levels of the log, as `hadoop daemonlog` asks for it: by GET, each line of its answer marked.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::StatusCode;

use crate::engine::{AuditEntry, UNKNOWN_USER};
use crate::http::{ConnectionEnds, LocalCaller};
use crate::log::{LogLevel, level_of, set_level};
use crate::socket_owner::uid_of_socket;

use super::super::owner::{MarketPresence, Owner};
use super::super::response::text;
use super::super::same_site::{came_through_proxy, is_from_own_page};
use super::super::state::WebState;
use super::access::check_administrators;
use super::answer;
use super::request::{EarlyAnswer, PageAnswer, PageRequest};

/// Loggers of the Java JobTracker; each of them stands for all lines of this program.
const JAVA_NAMES: &str = "org.apache.hadoop";
/// All lines of this program.
const OWN_LINES: &str = "jobtracker";

const NOT_FROM_HERE: &str =
    "levels are set from a loopback address of this machine or at its Unix socket, by no page of another site";
const NOT_THIS_USER: &str = "while changes are signed or access lists are on, levels are set by root and the user of the daemon alone, on this machine";

pub(super) async fn log_level<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let ends = request.extensions().get::<ConnectionEnds>().copied();
    let local = request.extensions().get::<LocalCaller>().copied();
    let asked = PageRequest::of(request).await?;
    check_administrators(&state, asked.user()).await?;
    let log = asked.get("log").filter(|log| !log.is_empty());
    let (Some(log), wanted) = (log, asked.get("level")) else {
        return Ok(answer::page(StatusCode::OK, &LogLevelPage { new_page: "/", shown: None }));
    };
    let target = if log.starts_with(JAVA_NAMES) { OWN_LINES } else { log };
    let (mut bad_level, mut is_set) = (false, false);
    if let Some(wanted) = wanted {
        if came_through_proxy(asked.headers()) || !is_from_own_page(asked.headers()) {
            return Err(refused(NOT_FROM_HERE));
        }
        let uid = setter(&state, ends, local).await?;
        match LogLevel::parse(wanted) {
            Some(level) => {
                is_set = set_level(target, level);
                if is_set {
                    let uid = uid.map_or_else(|| "unknown".to_owned(), |uid| uid.to_string());
                    let entry = AuditEntry::new("set-log-level", UNKNOWN_USER).with("uid", uid);
                    let entry = entry.with("log", target).with("level", level.name());
                    tracing::info!(target: "jobtracker::audit", "{entry}");
                }
            }
            None => bad_level = true,
        }
    }
    let shown = LevelAnswer { log, wanted, bad_level, is_set, level: level_of(target).name() };
    Ok(answer::page(StatusCode::OK, &LogLevelPage { new_page: "/", shown: Some(shown) }))
}

/// The user who may set levels, as the kernel says; none: it does not say, and every caller of this machine may.
/// 403 for a caller from elsewhere; where callers must prove who they are, for all but root and the user of this process.
async fn setter<O: Owner>(
    state: &WebState<O>,
    ends: Option<ConnectionEnds>,
    local: Option<LocalCaller>,
) -> Result<Option<u32>, EarlyAnswer> {
    let ends = ends.filter(|ends| ends.peer.ip().to_canonical().is_loopback());
    let uid = match (local, ends) {
        (Some(LocalCaller::Known(uid)), _) => Some(uid),
        (_, Some(ends)) => {
            tokio::task::spawn_blocking(move || uid_of_socket(ends.peer, ends.local)).await.ok().flatten()
        }
        (_, None) => return Err(refused(NOT_FROM_HERE)),
    };
    let is_signed = matches!(state.owner.market_presence(), MarketPresence::Ruling | MarketPresence::Signing);
    let may_set_here = |uid| uid == 0 || uid == rustix::process::geteuid().as_raw();
    match (is_signed || state.stock.are_acls_on) && !uid.is_some_and(may_set_here) {
        true => Err(refused(NOT_THIS_USER)),
        false => Ok(uid),
    }
}

fn refused(why: &str) -> EarlyAnswer {
    text(StatusCode::FORBIDDEN, why).into()
}

#[derive(Template)]
#[template(path = "stock/log_level.html")]
struct LogLevelPage<'a> {
    new_page: &'static str,
    shown: Option<LevelAnswer<'a>>,
}

struct LevelAnswer<'a> {
    log: &'a str,
    wanted: Option<&'a str>,
    bad_level: bool,
    is_set: bool,
    level: &'static str,
}

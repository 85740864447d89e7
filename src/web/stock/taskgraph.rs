//! `/taskgraph`: the progress of the maps or reduces of a job as a picture.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};

use crate::model::{JobId, Kind};

use super::super::owner::Owner;
use super::super::response::fresh;
use super::super::state::WebState;
use super::access::{found, viewer};
use super::graph::{Frame, picture};
use super::request::{Asked, Refused};

/// The content type of the picture.
const SVG: &str = "image/svg+xml; charset=utf-8";

/// Answers `/taskgraph`: an empty body where there is nothing to draw, as 1.2.1.
pub(super) async fn taskgraph<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> Response<Body> {
    match answered(&state, request).await {
        Ok(response) | Err(response) => *response,
    }
}

async fn answered<O: Owner>(state: &WebState<O>, request: Request) -> Result<Refused, Refused> {
    let asked = Asked::of(request).await?;
    let id: Option<JobId> = asked.parsed("jobid", "the id of a job")?;
    let kind = match asked.get("type") {
        Some(kind) if kind.eq_ignore_ascii_case("map") => Kind::Map,
        _ => Kind::Reduce,
    };
    let svg = match id {
        None => String::new(),
        Some(id) => {
            let job = found(state.owner.stock_job(id, viewer(state, &asked)?), asked.user(), id).await?;
            job.map(|job| picture(&job.graphs[kind], kind, Frame::Document)).unwrap_or_default()
        }
    };
    Ok(Box::new(fresh(StatusCode::OK, SVG, svg)))
}

//! The HTTP interface for applications, below `/ws/v1`: requests read strictly and answered as the engine says.
//!
//! Each request is read in the order in which a stranger learns least: address, method, caller, body, members. All errors
//! are problems (RFC 9457).

mod address;
mod answers;
mod bodies;
mod body_bytes;
mod caller;
mod json;
mod owner;
mod path_parts;
mod problem;
mod problem_name;
mod query_parameters;
mod questions;
mod serve;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawPathParams, Request};
use axum::http::{Response, StatusCode, Uri};
use axum::routing::{any, get};

pub use owner::{ApplicationAccess, ApplicationOwner, ApplicationReply};

use super::response::{JSON, fresh};
use super::state::WebState;
use address::Address;
use caller::no_such_address;
use path_parts::PathParts;
use problem::{Problem, problem_page};
use problem_name::ProblemName;
use serve::Applications;

/// The description of the interface (OpenAPI 3.1), part of the binary.
const OPENAPI: &str = include_str!("../../../static/openapi.json");
/// Where it is served.
const OPENAPI_PATH: &str = "/ws/v1/openapi.json";

/// The addresses of applications, their description and the pages of problems.
pub(super) fn routes<O: ApplicationOwner>(web: &Arc<WebState<O>>) -> Router<Arc<WebState<O>>> {
    let applications = Arc::new(Applications::new(web.clone()));
    let router = Router::new()
        .route(OPENAPI_PATH, only_get(get(openapi)))
        .route("/problems/{name}", only_get(get(problem)))
        .route("/ws/{*rest}", any(unknown_path));
    Address::ALL.into_iter().fold(router, |router, address| {
        let applications = applications.clone();
        let serve = move |parts: RawPathParams, request: Request| async move {
            applications.serve(address, PathParts::new(&parts), request).await
        };
        router.route(address.template(), any(serve))
    })
}

async fn openapi() -> Response<Body> {
    fresh(StatusCode::OK, JSON, OPENAPI)
}

async fn problem(Path(name): Path<String>, uri: Uri) -> Response<Body> {
    match ProblemName::from_name(&name) {
        Some(name) => problem_page(name),
        None => no_such_address(uri.path()).response(uri.path()),
    }
}

async fn unknown_path(uri: Uri) -> Response<Body> {
    no_such_address(uri.path()).response(uri.path())
}

/// A route for GET and HEAD alone.
fn only_get<S: Clone + Send + Sync + 'static>(route: axum::routing::MethodRouter<S>) -> axum::routing::MethodRouter<S> {
    route.fallback(async |request: Request| {
        let refusal = Problem::of_method(request.method().as_str(), "GET, HEAD".to_owned());
        refusal.response(request.uri().path())
    })
}

//! The routes: each address, the description of the interface, and the pages of problems.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawPathParams, Request};
use axum::http::{Response, StatusCode, Uri};
use axum::routing::{MethodRouter, any, get};

use super::super::response::{JSON, fresh};
use super::super::state::WebState;
use super::address::Address;
use super::owner::ApplicationOwner;
use super::path_parts::PathParts;
use super::problem::{Problem, problem_page};
use super::problem_name::ProblemName;
use super::serve::Applications;

/// The description of the interface (OpenAPI 3.1), part of the binary.
const OPENAPI: &str = include_str!("../../../static/openapi.json");
/// Where it is served.
const OPENAPI_PATH: &str = "/ws/v1/openapi.json";

/// The addresses of applications, their description and the pages of problems.
pub fn routes<O: ApplicationOwner>(web: &Arc<WebState<O>>) -> Router<Arc<WebState<O>>> {
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
        None => Problem::no_such_address(uri.path()).response(uri.path()),
    }
}

async fn unknown_path(uri: Uri) -> Response<Body> {
    Problem::no_such_address(uri.path()).response(uri.path())
}

/// A route for GET and HEAD alone.
fn only_get<S: Clone + Send + Sync + 'static>(route: MethodRouter<S>) -> MethodRouter<S> {
    route.fallback(async |request: Request| {
        let refusal = Problem::of_method(request.method().as_str(), "GET, HEAD".to_owned());
        refusal.response(request.uri().path())
    })
}

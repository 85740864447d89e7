//! The routes: each address, the description of the interface, and the pages of problems.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::{Response, StatusCode, Uri};
use axum::middleware::Next;
use axum::routing::{MethodRouter, any, get};

use crate::http::NameRefused;

use super::super::response::{JSON, fresh};
use super::super::state::WebState;
use super::address::Address;
use super::owner::ApplicationOwner;
use super::path_parts::PathParts;
use super::problem::{Problem, problem_page};
use super::problem_name::ProblemName;
use super::serve::ApplicationService;

/// The description of the interface (OpenAPI 3.1), part of the binary.
const OPENAPI: &str = include_str!("../../../static/openapi.json");
const OPENAPI_PATH: &str = "/ws/v1/openapi.json";

/// The addresses of applications, their description and the pages of problems.
pub(crate) fn routes<O: ApplicationOwner>(web: &Arc<WebState<O>>) -> Router<Arc<WebState<O>>> {
    let applications = Arc::new(ApplicationService::new(web.clone()));
    let router = Router::new()
        .route(OPENAPI_PATH, only_get(get(openapi)))
        .route("/problems/{name}", only_get(get(problem)))
        .route("/ws/{*rest}", any(unknown_path));
    Address::ALL.into_iter().fold(router, |router, address| {
        let applications = applications.clone();
        let serve = move |parts: Result<RawPathParams, RawPathParamsRejection>, request: Request| async move {
            match parts {
                Ok(parts) => applications.serve(address, PathParts::new(&parts), request).await,
                // It has an escape that is no UTF-8.
                Err(_) => unknown_path(request.uri().clone()).await,
            }
        };
        router.route(address.template(), any(serve))
    })
}

/// Below `/ws/` and `/api/`, the refusal of the name under which a request came is a problem, as every error is there.
pub(crate) async fn refuse_names_by_problems(request: Request, next: Next) -> Response<Body> {
    if !["/ws/", "/api/"].iter().any(|root| request.uri().path().starts_with(root)) {
        return next.run(request).await;
    }
    let uri = request.uri().clone();
    let response = next.run(request).await;
    match response.extensions().get::<NameRefused>() {
        Some(NameRefused(why)) => Problem::new(ProblemName::MisdirectedRequest, why.trim_end()).response(uri.path()),
        None => response,
    }
}

async fn openapi() -> Response<Body> {
    fresh(StatusCode::OK, JSON, OPENAPI)
}

async fn problem(uri: Uri) -> Response<Body> {
    match uri.path().strip_prefix("/problems/").and_then(ProblemName::from_name) {
        Some(name) => problem_page(name),
        None => Problem::no_such_address(uri.path()).response(uri.path()),
    }
}

async fn unknown_path(uri: Uri) -> Response<Body> {
    Problem::no_such_address(uri.path()).response(uri.path())
}

/// A route for GET and HEAD alone.
pub(crate) fn only_get<S: Clone + Send + Sync + 'static>(route: MethodRouter<S>) -> MethodRouter<S> {
    route.fallback(async |request: Request| {
        let refusal = Problem::of_method(request.method().as_str(), "GET, HEAD".to_owned());
        refusal.response(request.uri().path())
    })
}

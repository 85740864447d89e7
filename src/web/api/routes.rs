//! The routes of the API, and its description.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::{Response, StatusCode, Uri};
use axum::routing::{any, get};

use super::super::applications::{PathParts, Problem, only_get};
use super::super::owner::Owner;
use super::super::response::{JSON, fresh};
use super::super::state::WebState;
use super::address::ApiAddress;
use super::serve::Api;

/// The description of the API (OpenAPI 3.1), part of the binary.
const OPENAPI: &str = include_str!("../../../static/api.json");
/// Where it is served.
pub(super) const OPENAPI_PATH: &str = "/api/v1/openapi.json";

/// The addresses of the API and its description.
pub(crate) fn routes<O: Owner>(web: &Arc<WebState<O>>) -> Router<Arc<WebState<O>>> {
    let api = Arc::new(Api::new(web.clone()));
    let router = Router::new().route(OPENAPI_PATH, only_get(get(openapi))).route("/api/{*rest}", any(unknown_path));
    ApiAddress::ALL.into_iter().fold(router, |router, address| {
        let api = api.clone();
        let serve = move |parts: Result<RawPathParams, RawPathParamsRejection>, request: Request| async move {
            match parts {
                Ok(parts) => api.serve(address, PathParts::new(&parts), request).await,
                // It has an escape that is no UTF-8.
                Err(_) => unknown_path(request.uri().clone()).await,
            }
        };
        router.route(address.template(), any(serve))
    })
}

async fn openapi() -> Response<Body> {
    fresh(StatusCode::OK, JSON, OPENAPI)
}

async fn unknown_path(uri: Uri) -> Response<Body> {
    Problem::no_such_address(uri.path()).with_try(OPENAPI_PATH).response(uri.path())
}

//! Answers of the engine as responses.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, Method, Response, StatusCode};
use serde::Serialize;

use crate::api::applications::{ApplicationReport, ApplicationState, ClusterInfo, ContainerReport, NodeReport};
use crate::engine::ApplicationAnswer;
use crate::model::{ApplicationId, Capability, ContainerId};

use super::super::response::{JSON, fresh, json};
use super::problem::Problem;
use super::problem_name::ProblemName;
use super::questions::LogPart;

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct NewIdJson {
    application_id: ApplicationId,
    maximum_resource_capability: Capability,
    minimum_resource_capability: Capability,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct SubmittedJson {
    application_id: ApplicationId,
    state: ApplicationState,
    secret: String,
}

#[derive(Serialize)]
struct StateJson {
    state: ApplicationState,
}

#[derive(Serialize)]
struct AppsJson {
    apps: AppListJson,
    next: Option<ApplicationId>,
}

#[derive(Serialize)]
struct AppListJson {
    app: Vec<ApplicationReport>,
}

#[derive(Serialize)]
struct AppJson<'a> {
    app: &'a ApplicationReport,
}

#[derive(Serialize)]
struct ContainersJson {
    containers: ContainerListJson,
    next: Option<ContainerId>,
}

#[derive(Serialize)]
struct ContainerListJson {
    container: Vec<ContainerReport>,
}

#[derive(Serialize)]
struct ContainerJson {
    container: Box<ContainerReport>,
}

#[derive(Serialize)]
struct NodesJson {
    nodes: NodeListJson,
}

#[derive(Serialize)]
struct NodeListJson {
    node: Vec<NodeReport>,
}

#[derive(Serialize)]
struct NodeJson {
    node: Box<NodeReport>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InfoJson {
    cluster_info: Box<ClusterInfo>,
}

/// The report whose text was made last: all who waited for a version get the same text.
#[derive(Debug, Default)]
pub(super) struct LastReport(Mutex<Option<(Arc<ApplicationReport>, Bytes)>>);

impl LastReport {
    fn text_of(&self, app: &Arc<ApplicationReport>) -> Bytes {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((report, text)) = last.as_ref().filter(|(report, _)| Arc::ptr_eq(report, app)) {
            debug_assert_eq!(report.version, app.version, "a report that is shared does not change");
            return text.clone();
        }
        let text = Bytes::from(json(&AppJson { app }));
        *last = Some((app.clone(), text.clone()));
        text
    }
}

/// The response for an answer. `log` is what was asked of a log.
pub(super) fn render(
    answer: ApplicationAnswer,
    method: &Method,
    log: Option<(LogPart, ContainerId)>,
    reports: &LastReport,
) -> Result<Response<Body>, Problem> {
    let ok = |body: String| fresh(StatusCode::OK, JSON, body);
    let status_if = |accepted: bool| if accepted { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok(match answer {
        ApplicationAnswer::NewId { application, maximum, minimum } => ok(json(&NewIdJson {
            application_id: application,
            maximum_resource_capability: maximum,
            minimum_resource_capability: minimum,
        })),
        ApplicationAnswer::Submitted { application, state, secret } => {
            let body = json(&SubmittedJson { application_id: application, state, secret: secret.to_hex() });
            let place = format!("/ws/v1/cluster/apps/{application}");
            with_location(fresh(StatusCode::ACCEPTED, JSON, body), &place)
        }
        ApplicationAnswer::Registered(answer) => ok(json(&answer)),
        ApplicationAnswer::Allocated(bytes) => fresh(StatusCode::OK, JSON, bytes.to_vec()),
        ApplicationAnswer::Unregistered(state) => ok(json(&StateJson { state })),
        ApplicationAnswer::Applications { applications, next, .. } => {
            ok(json(&AppsJson { apps: AppListJson { app: applications }, next }))
        }
        ApplicationAnswer::Application(app) => fresh(StatusCode::OK, JSON, reports.text_of(&app)),
        ApplicationAnswer::State { state, is_ending } => {
            let status = status_if(is_ending && *method == Method::PUT);
            fresh(status, JSON, json(&StateJson { state }))
        }
        ApplicationAnswer::Containers { containers, next, .. } => {
            ok(json(&ContainersJson { containers: ContainerListJson { container: containers }, next }))
        }
        ApplicationAnswer::Container(container) => ok(json(&ContainerJson { container })),
        ApplicationAnswer::Signalled { was_complete } => fresh(status_if(!was_complete), JSON, "{}\n"),
        ApplicationAnswer::Logs { node_http_address, expires_ms, ticket } => {
            let (part, container) = log.ok_or_else(unexpected)?;
            let place = log_place(&node_http_address, container, &part, expires_ms, &ticket);
            with_location(fresh(StatusCode::TEMPORARY_REDIRECT, JSON, "{}\n"), &place)
        }
        ApplicationAnswer::Nodes(node) => ok(json(&NodesJson { nodes: NodeListJson { node } })),
        ApplicationAnswer::Node(node) => ok(json(&NodeJson { node })),
        ApplicationAnswer::Info(cluster_info) => ok(json(&InfoJson { cluster_info })),
        // The owner waits, and secrets are never shown.
        ApplicationAnswer::Waits(_) | ApplicationAnswer::Secret(_) | ApplicationAnswer::NotInMemory(..) => {
            return Err(unexpected());
        }
    })
}

/// Where a worker serves a log.
fn log_place(node: &str, container: ContainerId, part: &LogPart, expires_ms: i64, ticket: &str) -> String {
    let name = part.name;
    let mut place =
        format!("http://{node}/ws/v1/node/containers/{container}/logs/{name}?expires={expires_ms}&ticket={ticket}");
    for (name, offset) in [("start", part.start), ("end", part.end)] {
        if let Some(offset) = offset {
            place.push_str(&format!("&{name}={offset}"));
        }
    }
    place
}

fn with_location(mut response: Response<Body>, place: &str) -> Response<Body> {
    if let Ok(place) = HeaderValue::from_str(place) {
        response.headers_mut().insert(LOCATION, place);
    }
    response
}

/// An answer that fits no request.
pub(super) fn unexpected() -> Problem {
    Problem::new(ProblemName::InternalError, "the engine gave an unexpected answer")
}

//! Errors as `application/problem+json` (RFC 9457), and the pages that explain them.

use axum::body::Body;
use axum::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

use crate::api::applications::ApplicationState;
use crate::engine::{ApplicationRefusal, BodyFault};

use super::super::owner_gone::OwnerGone;
use super::super::response::{TEXT, fresh, json};
use super::bodies::BodyError;
use super::problem_name::ProblemName;

pub(super) const PROBLEM: &str = "application/problem+json";
/// Of an application that is over, or of a daemon that is not there.
const RETRY_S: &str = "1";

/// What is answered in the place of what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    name: ProblemName,
    detail: String,
    errors: Vec<BodyFault>,
    /// How an application ended.
    state: Option<ApplicationState>,
    server_time_ms: Option<i64>,
    allow: Option<String>,
    /// What to try instead.
    attempt: Option<String>,
    /// Whether the same request may be taken in a moment.
    is_brief: bool,
}

#[derive(Serialize)]
struct ProblemJson<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    instance: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ErrorJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<ApplicationState>,
    #[serde(rename = "server-time-ms", skip_serializing_if = "Option::is_none")]
    server_time_ms: Option<i64>,
    #[serde(rename = "try", skip_serializing_if = "Option::is_none")]
    attempt: Option<&'a str>,
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<&'a str>,
    detail: &'a str,
}

impl Problem {
    /// A problem with what is particular about this one.
    pub(crate) fn new(name: ProblemName, detail: impl Into<String>) -> Self {
        let (errors, detail) = (Vec::new(), detail.into());
        let is_brief = name == ProblemName::Unavailable;
        Self { name, detail, errors, state: None, server_time_ms: None, allow: None, attempt: None, is_brief }
    }

    /// Too much is asked for at this moment alone.
    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self { is_brief: true, ..Self::new(ProblemName::TooMany, detail) }
    }

    /// The same with what to try instead.
    pub(crate) fn with_try(self, attempt: impl Into<String>) -> Self {
        Self { attempt: Some(attempt.into()), ..self }
    }

    /// Members or parameters are wrong.
    pub(crate) fn of_faults(name: ProblemName, errors: Vec<BodyFault>) -> Self {
        let detail = match errors.as_slice() {
            [] => "the request is not valid".to_owned(),
            [only] => format!("{}: {}", only.pointer, only.detail),
            [first, others @ ..] => format!("{}: {}, and {} more", first.pointer, first.detail, others.len()),
        };
        Self { errors, ..Self::new(name, detail) }
    }

    pub(crate) fn no_such_address(path: &str) -> Self {
        Self::new(ProblemName::NoSuchAddress, format!("there is nothing at {path}"))
    }

    pub(crate) fn of_method(method: &str, allow: String) -> Self {
        let detail = format!("{method} is not allowed here; expected {allow}");
        Self { allow: Some(allow), ..Self::new(ProblemName::MethodNotAllowed, detail) }
    }

    /// The answer; `path` is what was asked for.
    pub(crate) fn response(&self, path: &str) -> Response<Body> {
        let status = self.name.status();
        let errors = self.errors.iter().map(ErrorJson::of).collect();
        let body = json(&ProblemJson {
            r#type: format!("/problems/{}", self.name.name()),
            title: self.name.title(),
            status: status.as_u16(),
            detail: &self.detail,
            instance: path,
            errors,
            exception: self.name.exception(),
            state: self.state,
            server_time_ms: self.server_time_ms,
            attempt: self.attempt.as_deref(),
        });
        let mut response = fresh(status, PROBLEM, body);
        if self.is_brief {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_S));
        }
        if self.name == ProblemName::SessionRefused {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(allow) = self.allow.as_deref().and_then(|methods| HeaderValue::from_str(methods).ok()) {
            response.headers_mut().insert(ALLOW, allow);
        }
        response
    }
}

impl From<ApplicationRefusal> for Problem {
    fn from(refusal: ApplicationRefusal) -> Self {
        let detail = refusal.to_string();
        let of = |name| Self::new(name, detail);
        match refusal {
            ApplicationRefusal::InvalidRequest(faults) => Self::of_faults(ProblemName::InvalidRequest, faults),
            ApplicationRefusal::InvalidResourceRequest(faults) => {
                Self::of_faults(ProblemName::InvalidResourceRequest, faults)
            }
            ApplicationRefusal::Timestamp { server_time_ms, .. } => {
                Self { server_time_ms: Some(server_time_ms), ..of(ProblemName::TimestampRefused) }
            }
            ApplicationRefusal::Forbidden(_) => of(ProblemName::Forbidden),
            ApplicationRefusal::NoSuchApplication(_) => of(ProblemName::NoSuchApplication),
            ApplicationRefusal::NoSuchContainer(_) | ApplicationRefusal::LogsLost { .. } => {
                of(ProblemName::NoSuchContainer)
            }
            ApplicationRefusal::NoSuchNode(_) => of(ProblemName::NoSuchNode),
            ApplicationRefusal::Resync(_) => of(ProblemName::Resync),
            ApplicationRefusal::Superseded { .. } | ApplicationRefusal::TakenOver(_) => of(ProblemName::Superseded),
            ApplicationRefusal::ApplicationExists(_) => of(ProblemName::ApplicationExists),
            ApplicationRefusal::ApplicationOver { state, .. } => {
                Self { state: Some(state), ..of(ProblemName::ApplicationOver) }
            }
            ApplicationRefusal::TooMany(_) => of(ProblemName::TooMany),
            ApplicationRefusal::Unavailable(_) => of(ProblemName::Unavailable),
        }
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        let is_of_requests = error.is_of_requests();
        match error {
            BodyError::NotJson(reason) => {
                Self::new(ProblemName::InvalidRequest, format!("the body is no JSON: {reason}"))
            }
            BodyError::TooMany(text) => Self::new(ProblemName::TooMany, text),
            BodyError::Invalid(faults) if is_of_requests => {
                Self::of_faults(ProblemName::InvalidResourceRequest, faults)
            }
            BodyError::Invalid(faults) => Self::of_faults(ProblemName::InvalidRequest, faults),
        }
    }
}

impl From<OwnerGone> for Problem {
    fn from(gone: OwnerGone) -> Self {
        Self::new(ProblemName::Unavailable, gone.to_string())
    }
}

impl<'a> ErrorJson<'a> {
    fn of(fault: &'a BodyFault) -> Self {
        let BodyFault { pointer, detail } = fault;
        let is_in_body = pointer.starts_with('#');
        let of = |wanted: bool| (is_in_body == wanted).then_some(pointer.as_str());
        Self { pointer: of(true), parameter: of(false), detail }
    }
}

/// The page of a kind of problem, for people.
pub(super) fn problem_page(name: ProblemName) -> Response<Body> {
    let status = name.status();
    let text = format!("{} ({}, status {})\n\n{}\n", name.title(), name.name(), status.as_u16(), name.explanation());
    fresh(StatusCode::OK, TEXT, text)
}

//! A request for one of these pages: its parameters, of the address and of a form, the first of each name as in a servlet.

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Response, StatusCode};
use axum::response::IntoResponse;

use super::super::page_user::PageUser;
use super::super::request_body::{form_pairs, read_form};
use super::super::response::{text, with_allow};
use super::super::rows::cut;
use super::super::signed_request::HttpRequest;

const METHODS: &str = "GET, HEAD, POST";

pub(super) struct PageRequest {
    pub(super) request: HttpRequest,
    parameters: Vec<(String, String)>,
}

/// What a page answers instead of itself.
#[derive(Debug)]
pub(crate) struct EarlyAnswer(pub(super) Box<Response<Body>>);

/// What a page answers.
pub(super) type PageAnswer = Result<Response<Body>, EarlyAnswer>;

impl From<Response<Body>> for EarlyAnswer {
    fn from(response: Response<Body>) -> Self {
        Self(Box::new(response))
    }
}

impl From<Box<Response<Body>>> for EarlyAnswer {
    fn from(response: Box<Response<Body>>) -> Self {
        Self(response)
    }
}

impl IntoResponse for EarlyAnswer {
    fn into_response(self) -> Response<Body> {
        *self.0
    }
}

impl PageRequest {
    pub(super) async fn of(request: Request) -> Result<Self, EarlyAnswer> {
        let (Parts { method, uri, headers, extensions, .. }, body) = request.into_parts();
        if !matches!(method, Method::GET | Method::HEAD | Method::POST) {
            let refusal = text(StatusCode::METHOD_NOT_ALLOWED, format_args!("{method}: expected {METHODS}"));
            return Err(with_allow(refusal, METHODS).into());
        }
        let malformed = || text(StatusCode::BAD_REQUEST, "the parameters are not URL-encoded text");
        let mut parameters = form_pairs(uri.query().unwrap_or_default().as_bytes()).ok_or_else(malformed)?;
        let form = read_form(&method, &headers, body, extensions.get()).await;
        if let Some(form) = form.map_err(|unreadable| text(StatusCode::BAD_REQUEST, unreadable))? {
            parameters.extend(form_pairs(form.as_bytes()).ok_or_else(malformed)?);
        }
        let user = extensions.get().cloned();
        Ok(Self { request: HttpRequest { method, uri, headers, user }, parameters })
    }

    /// The first value of a parameter.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.parameters.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The user who asks; empty: the request names none.
    pub(super) fn user(&self) -> &str {
        self.request.user.as_ref().map_or("", |PageUser(user)| user)
    }

    pub(super) fn is_post(&self) -> bool {
        self.request.method == Method::POST
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.request.headers
    }

    pub(super) fn is_json(&self) -> Result<bool, EarlyAnswer> {
        match self.get("format") {
            None => Ok(false),
            Some("json") => Ok(true),
            Some(other) => {
                Err(text(StatusCode::NOT_IMPLEMENTED, format_args!("format: {:?} is not json", cut(other))).into())
            }
        }
    }

    /// The value of a parameter as an id or a number; none if it is missing.
    pub(super) fn parsed<T: std::str::FromStr>(&self, name: &str, expected: &str) -> Result<Option<T>, EarlyAnswer> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let malformed =
            |_| text(StatusCode::BAD_REQUEST, format_args!("{name}: {:?} is not {expected}", cut(value))).into();
        value.parse().map(Some).map_err(malformed)
    }
}

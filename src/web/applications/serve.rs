//! A request from its head to its response: who asks, the body, the question, the engine's answer.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{Method, Response};
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::engine::{ApplicationQuestion, ApplicationRequest};
use crate::http::{FairBudget, Held, RequestPlace};
use crate::model::{ApplicationSecret, hex};

use super::super::request_body::discard;
use super::super::state::{ANSWER_TIMEOUT, WebState};
use super::address::Address;
use super::answers::{LastReport, render};
use super::body_bytes::{UnreadBody, check_content_type};
use super::caller::find_caller;
use super::owner::{ApplicationOwner, NewsWait};
use super::path_parts::PathParts;
use super::problem::Problem;
use super::problem_name::ProblemName;
use super::query_parameters::QueryParameters;
use super::questions::{AskedQuestion, ReadBody, read_question};
use super::signed_caller::signature_refused;
use super::verified::SignedBody;

/// Bytes of bodies on their way, of all and of one user: one of each has room for two of the longest.
const BODY_BYTES: (u64, u64) = (64 << 20, 16 << 20);

#[derive(Debug)]
pub(super) struct ApplicationService<O> {
    web: Arc<WebState<O>>,
    /// A place for each request that may wait for something to say: half of the connections, so that others find room.
    waits: Semaphore,
    /// Bytes of bodies of requests that are not answered yet.
    bodies: Arc<FairBudget>,
    reports: LastReport,
}

impl<O: ApplicationOwner> ApplicationService<O> {
    pub(super) fn new(web: Arc<WebState<O>>) -> Self {
        let waits = Semaphore::new(web.limits.connections / 2);
        let bodies = FairBudget::new(BODY_BYTES.0, BODY_BYTES.1);
        Self { web, waits, bodies, reports: LastReport::default() }
    }

    pub(super) async fn serve(&self, address: Address, parts: PathParts, request: Request) -> Response<Body> {
        let (head, mut body) = request.into_parts();
        match self.answer(address, &parts, &head, &mut body).await {
            Ok(response) => response,
            Err(problem) => {
                discard(body).await;
                problem.response(head.uri.path())
            }
        }
    }

    async fn answer(
        &self,
        address: Address,
        parts: &PathParts,
        head: &Parts,
        body: &mut Body,
    ) -> Result<Response<Body>, Problem> {
        let method = if head.method == Method::HEAD { &Method::GET } else { &head.method };
        if !address.methods().contains(method) {
            return Err(Problem::of_method(head.method.as_str(), address.allow()));
        }
        let mut query = QueryParameters::of(&head.uri);
        let access = self.web.owner.application_access().await;
        let verified =
            find_caller(&self.web.owner, access, head, &mut query, address, parts.application_asked()).await?;
        let unread = UnreadBody::of(head, body, &self.bodies, &verified.caller);
        let (body, _held) = read_signed_body(head, unread, address.has_body(method), &verified.body).await?;
        let AskedQuestion { question, wait_ms, log } =
            read_question(address, method, parts, query, &body, new_secret()?)?;
        drop(body);
        let log = log.zip(match &question {
            ApplicationQuestion::Logs(container) => Some(*container),
            _ => None,
        });
        let place = self.wait_place(wait_ms);
        let wait_ms = if place.is_some() { wait_ms } else { 0 };
        let begun = head.extensions.get::<RequestPlace>().filter(|_| wait_ms > 0).map(RequestPlace::begin_wait);
        let (waiting, cut) = begun.unzip();
        let wait = NewsWait { ms: wait_ms, cut };
        let request = ApplicationRequest::Asked { caller: verified.caller, question: Box::new(question) };
        let answered =
            timeout(ANSWER_TIMEOUT + Duration::from_millis(wait_ms), self.web.owner.application(request, wait)).await;
        drop((place, waiting));
        let late = |_| {
            let detail = "no answer in time; the request may have been performed, or may still be";
            Problem::new(ProblemName::Unavailable, detail)
        };
        render(*answered.map_err(late)???, method, log, &self.reports)
    }

    /// A place to wait in; none if the request need not wait, or all are taken.
    fn wait_place(&self, wait_ms: u64) -> Option<SemaphorePermit<'_>> {
        if wait_ms == 0 {
            return None;
        }
        self.waits.try_acquire().ok()
    }
}

async fn read_signed_body(
    head: &Parts,
    unread: UnreadBody<'_>,
    is_expected: bool,
    signed: &SignedBody,
) -> Result<(ReadBody, Option<Held>), Problem> {
    let is_without_digest = *signed == SignedBody::Digest(None);
    let (bytes, held) = if is_expected {
        if is_without_digest {
            return Err(signature_refused());
        }
        check_content_type(&head.headers)?;
        let (bytes, held) = unread.read().await?;
        (bytes, Some(held))
    } else if unread.is_empty() {
        (Vec::new(), None)
    } else {
        return Err(Problem::new(ProblemName::InvalidRequest, "expected no body here"));
    };
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    match signed {
        SignedBody::Digest(Some(signed)) if *signed != hex(&digest) => Err(signature_refused()),
        _ => Ok((ReadBody { bytes, digest }, held)),
    }
}

/// Random bytes for the secret of an application, should the request submit one.
fn new_secret() -> Result<ApplicationSecret, Problem> {
    let mut bytes = [0; 20];
    let refused = |_| Problem::new(ProblemName::InternalError, "the system gives no random bytes");
    getrandom::fill(&mut bytes).map_err(refused)?;
    Ok(ApplicationSecret::new(bytes))
}

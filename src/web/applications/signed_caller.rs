//! Callers who sign: users by keys of the list, applications by their secrets.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{Method, Uri};

use crate::engine::{ApplicationAnswer, ApplicationCaller, ApplicationRequest, Caller, SignedTime};
use crate::market::{Acl, Key, Role, SignedTextId, signature};
use crate::model::ApplicationId;

use super::super::signed_request::{find_signer, signature_in};
use super::answers::unexpected;
use super::owner::{ApplicationOwner, NewsWait};
use super::problem::Problem;
use super::problem_name::ProblemName;
use super::query_parameters::QueryParameters;
use super::verified::{SignedBody, Verified};

/// The user who signed by a key of the list.
pub(super) async fn signed_caller(
    acl: Arc<Acl>,
    head: &Parts,
    parameters: &mut QueryParameters,
) -> Result<Verified, Problem> {
    let user = parameters.take(signer_parameter(parameters));
    let acl = std::future::ready(acl);
    let text = signed_text(&head.method, &head.uri);
    let signer = find_signer(acl, user.as_deref(), &text, &head.headers).await;
    let signer = signer.ok_or_else(signature_refused)?;
    let (timestamp_ms, body) = take_stamp(parameters);
    let caller = ApplicationCaller::User {
        caller: Caller::named(signer.user),
        is_administrator: signer.role == Role::Admin,
        signed: Some(SignedTime { key_id: signer.key_id, timestamp_ms, text: SignedTextId::of(&text) }),
    };
    Ok(Verified { caller, body })
}

/// The application that a signed request names as its user.
pub(super) fn signing_application(head: &Parts, parameters: &QueryParameters) -> Option<ApplicationId> {
    signature_in(&head.headers)?;
    parameters.get(signer_parameter(parameters))?.parse().ok()
}

/// The parameter that names the signer: `user`, unless `user.name` does, as in requests without a signature. Then `user` is what
/// the address makes of it.
fn signer_parameter(parameters: &QueryParameters) -> &'static str {
    if parameters.get("user.name").is_some() { "user.name" } else { "user" }
}

/// The application that signed by its secret, which is good where the path names this `application`.
pub(super) async fn application_caller<O: ApplicationOwner>(
    owner: &O,
    signer: ApplicationId,
    head: &Parts,
    parameters: &mut QueryParameters,
    application: Option<ApplicationId>,
) -> Result<Verified, Problem> {
    let text = signed_text(&head.method, &head.uri);
    let given = signature_in(&head.headers).ok_or_else(signature_refused)?;
    let secret = secret_of(owner, signer).await?.ok_or_else(signature_refused)?;
    if !signature::is_by_key(&text, given, &secret) {
        return Err(signature_refused());
    }
    if application != Some(signer) {
        let detail = format!("the secret of {signer} is good for its own addresses only");
        return Err(Problem::new(ProblemName::Forbidden, detail));
    }
    parameters.take(signer_parameter(parameters));
    let (timestamp_ms, body) = take_stamp(parameters);
    let text = SignedTextId::of(&text);
    Ok(Verified { caller: ApplicationCaller::Application { application: signer, timestamp_ms, text }, body })
}

/// Takes timestamp and digest; what is wrong with them is refused with the other parameters.
fn take_stamp(parameters: &mut QueryParameters) -> (i64, SignedBody) {
    if parameters.get("timestamp").is_none() {
        parameters.refuse("timestamp", "the parameter is missing");
    }
    let timestamp_ms = parameters.parsed("timestamp", "milliseconds since the epoch", |text| text.parse().ok());
    (timestamp_ms.unwrap_or_default(), SignedBody::Digest(parameters.take("sha256")))
}

/// The text that is signed: method and target exactly as sent, with one blank between them.
fn signed_text(method: &Method, target: &Uri) -> String {
    format!("{method} {}", target.path_and_query().map_or("", |sent| sent.as_str()))
}

async fn secret_of<O: ApplicationOwner>(owner: &O, application: ApplicationId) -> Result<Option<Key>, Problem> {
    let request = ApplicationRequest::Secret(application);
    match *owner.application(request, NewsWait::default()).await?? {
        ApplicationAnswer::Secret(secret) => Ok(secret.map(|secret| Key::new(&secret.to_hex()))),
        _ => Err(unexpected()),
    }
}

/// One text for everything that can be wrong: it helps no one who guesses.
pub(super) fn signature_refused() -> Problem {
    let detail = "expected a signature of METHOD PATH?QUERY by the key of `user`, and with a body its `sha256`";
    Problem::new(ProblemName::SignatureRefused, detail)
}

//! Who asks: the user or the application that signed the request, or where no keys are, the user whose socket it is.

use std::sync::Arc;

use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri};

use crate::engine::{ApplicationAnswer, ApplicationCaller, ApplicationRequest, Caller, SignedTime};
use crate::http::ConnectionEnds;
use crate::market::{Acl, Key, Role, signature};
use crate::model::ApplicationId;
use crate::socket_owner::uid_of_socket;

use super::super::same_site::is_from_own_page;
use super::super::signer::{find_signer, signature_in};
use super::address::Address;
use super::body_bytes::check_content_type;
use super::owner::{ApplicationAccess, ApplicationOwner};
use super::problem::Problem;
use super::problem_name::ProblemName;
use super::query_parameters::QueryParameters;

/// A header that a page of another site cannot send unasked.
const REQUESTED_BY: &str = "x-requested-by";
/// Longest name of a user, bytes.
const MAX_USER_BYTES: usize = 256;
/// The user id that may name every user.
const ROOT: u32 = 0;

/// Who asks, and what the signature says of the body.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    /// Who asks.
    pub(super) caller: ApplicationCaller,
    /// Whether the body has to be the one that was signed.
    pub(super) body: SignedBody,
}

/// What was signed of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SignedBody {
    /// Nothing was signed, and nothing needs to be.
    Unsigned,
    /// Its SHA-256 as 64 hex digits; none: a signature without it, good for requests without a body.
    Digest(Option<String>),
}

// === impl Verified ===

impl Verified {
    /// A caller of an address that is open to all. What a signature would bring is passed over.
    fn unknown(parameters: &mut QueryParameters) -> Self {
        for name in ["user", "timestamp", "sha256", "user.name"] {
            parameters.take(name);
        }
        let caller = ApplicationCaller::User { caller: Caller::named(""), is_administrator: false, signed: None };
        Self { caller, body: SignedBody::Unsigned }
    }
}

/// Finds who asks, and takes what belongs to the signature out of the parameters. An application may ask only about
/// `application`, the one that the path names.
///
/// # Errors
/// `signature-refused`, `forbidden`, `unavailable`, or what is wrong with the header of an unsigned request.
pub(super) async fn find_caller<O: ApplicationOwner>(
    owner: &O,
    access: ApplicationAccess,
    head: &Parts,
    parameters: &mut QueryParameters,
    address: Address,
    application: Option<ApplicationId>,
) -> Result<Verified, Problem> {
    let is_off = matches!(access, ApplicationAccess::Off);
    if address == Address::Info && !is_off {
        return Ok(Verified::unknown(parameters));
    }
    if let Some(signer) = signing_application(head, parameters)
        && !is_off
    {
        return application_caller(owner, signer, head, parameters, application).await;
    }
    match access {
        ApplicationAccess::Off => Err(no_such_address(head.uri.path())),
        ApplicationAccess::Signed(acl) => signed_caller(acl, head, parameters).await,
        ApplicationAccess::Loopback => loopback_caller(owner, head, parameters).await,
    }
}

/// What an unknown path is answered.
pub(super) fn no_such_address(path: &str) -> Problem {
    Problem::new(ProblemName::NoSuchAddress, format!("there is nothing at {path}"))
}

// === signatures ===

/// The user who signed by a key of the list.
async fn signed_caller(acl: Arc<Acl>, head: &Parts, parameters: &mut QueryParameters) -> Result<Verified, Problem> {
    let user = parameters.take("user");
    let acl = std::future::ready(acl);
    let signer = find_signer(acl, user.as_deref(), &signed_text(&head.method, &head.uri), &head.headers).await;
    let signer = signer.ok_or_else(signature_refused)?;
    let (timestamp_ms, body) = take_stamp(parameters);
    let caller = ApplicationCaller::User {
        caller: Caller::named(signer.user),
        is_administrator: signer.role == Role::Admin,
        signed: Some(SignedTime { key_id: signer.key_id, timestamp_ms }),
    };
    Ok(Verified { caller, body })
}

/// The application that a signed request names as its user.
fn signing_application(head: &Parts, parameters: &QueryParameters) -> Option<ApplicationId> {
    signature_in(&head.headers)?;
    parameters.get("user")?.parse().ok()
}

/// The application that signed by its secret.
async fn application_caller<O: ApplicationOwner>(
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
    parameters.take("user");
    let (timestamp_ms, body) = take_stamp(parameters);
    Ok(Verified { caller: ApplicationCaller::Application { application: signer, timestamp_ms }, body })
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
    match *owner.application(request, 0).await?? {
        ApplicationAnswer::Secret(secret) => Ok(secret.map(|secret| Key::new(&secret.to_hex()))),
        _ => Err(Problem::new(ProblemName::InternalError, "the engine gave an unexpected answer")),
    }
}

/// One text for everything that can be wrong: it helps no one who guesses.
pub(super) fn signature_refused() -> Problem {
    let detail = "expected a signature of METHOD PATH?QUERY by the key of `user`, and with a body its `sha256`";
    Problem::new(ProblemName::SignatureRefused, detail)
}

// === loopback ===

async fn loopback_caller<O: ApplicationOwner>(
    owner: &O,
    head: &Parts,
    parameters: &mut QueryParameters,
) -> Result<Verified, Problem> {
    let refuse = |detail: &str| Problem::new(ProblemName::SignatureRefused, detail);
    let ends = head.extensions.get::<ConnectionEnds>().copied();
    let ends = ends.filter(|ends| ends.peer.ip().to_canonical().is_loopback() && is_loopback_name(head));
    let Some(ends) = ends else {
        return Err(refuse(
            "there is no key file, so requests are taken only from a loopback address and for a loopback host name",
        ));
    };
    let changes = !matches!(head.method, Method::GET | Method::HEAD);
    if changes {
        check_content_type(&head.headers)?;
    }
    if (changes && !head.headers.contains_key(REQUESTED_BY)) || !is_from_own_page(&head.headers) {
        let detail = "expected the header X-Requested-By, and no page of another site";
        return Err(Problem::new(ProblemName::Forbidden, detail));
    }
    let user = parameters.take("user.name").filter(|user| !user.is_empty() && user.len() <= MAX_USER_BYTES);
    let user = user.ok_or_else(|| refuse("user.name is missing; expected who asks"))?;
    let uid = tokio::task::spawn_blocking(move || uid_of_socket(ends.peer, ends.local)).await.ok().flatten();
    let uid = uid.ok_or_else(|| refuse("the socket that the request comes from is closed, or not on this machine"))?;
    let may_name_all = uid == ROOT || uid == rustix::process::geteuid().as_raw();
    let is_own_name = owner.is_uid_of(&user, uid).await;
    if !is_own_name && !may_name_all {
        let detail =
            format!("user.name={user} is not the user with the uid {uid}, whose socket the request comes from");
        return Err(Problem::new(ProblemName::Forbidden, detail));
    }
    let caller = ApplicationCaller::User {
        caller: Caller::named(user),
        is_administrator: is_own_name && may_name_all,
        signed: None,
    };
    Ok(Verified { caller, body: SignedBody::Unsigned })
}

/// Whether the request is addressed to this machine by a name that no page elsewhere can have.
fn is_loopback_name(head: &Parts) -> bool {
    let of_target = head.uri.authority().map(|authority| authority.as_str());
    let of_headers = hosts(&head.headers);
    let mut names = of_target.into_iter().chain(of_headers).peekable();
    names.peek().is_some() && names.all(is_loopback_authority)
}

fn hosts(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default())
}

/// `localhost`, an address of 127.0.0.0/8, or `[::1]`; with a port or without.
fn is_loopback_authority(authority: &str) -> bool {
    if let Ok(address) = authority.parse::<std::net::SocketAddr>() {
        return address.ip().is_loopback();
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for name in ["localhost", "LOCALHOST:50030", "127.0.0.1", "127.1.2.3:1", "[::1]:50030", "[::1]"] {
            assert!(is_loopback_authority(name), "{name}");
        }
        for name in [
            "",
            "master",
            "localhost.evil.example",
            "127.0.0.1.evil.example:1",
            "10.0.0.1:50030",
            "[::2]:1",
            "localhost:x",
        ] {
            assert!(!is_loopback_authority(name), "{name}");
        }
    }
}

//! Callers without a signature: users of this machine, believed because the kernel says whose socket it is.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};

use crate::engine::{ApplicationCaller, Caller};
use crate::http::{ConnectionEnds, LocalCaller};
use crate::socket_owner::uid_of_socket;

use super::super::believed_caller::{NOT_BY_TCP, NameRight};
use super::super::same_site::{THROUGH_PROXY, came_through_proxy, is_from_own_page};
use super::body_bytes::check_content_type;
use super::owner::ApplicationOwner;
use super::problem::Problem;
use super::problem_name::ProblemName;
use super::query_parameters::QueryParameters;
use super::verified::{SignedBody, Verified};

/// A header that a page of another site cannot send unasked.
const REQUESTED_BY: &str = "x-requested-by";
const MAX_USER_BYTES: usize = 256;

/// The user of this machine who is named and whose socket the request comes from.
pub(super) async fn loopback_caller<O: ApplicationOwner>(
    owner: &O,
    head: &Parts,
    parameters: &mut QueryParameters,
) -> Result<Verified, Problem> {
    let refuse = |detail: &str| Problem::new(ProblemName::SignatureRefused, detail);
    let local = head.extensions.get::<LocalCaller>().copied();
    let ends = head.extensions.get::<ConnectionEnds>().copied();
    let ends = ends.filter(|ends| ends.peer.ip().to_canonical().is_loopback() && is_loopback_name(head));
    match (local, ends) {
        (Some(LocalCaller::Unknown), _) => return Err(refuse(NOT_BY_TCP)),
        (None, None) => {
            return Err(refuse(
                "there is no key file, so requests are taken only from a loopback address and for a loopback host name",
            ));
        }
        (Some(LocalCaller::Known(_)), _) | (None, Some(_)) => {}
    }
    if came_through_proxy(&head.headers) {
        return Err(Problem::new(ProblemName::Forbidden, THROUGH_PROXY));
    }
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
    let uid = match (local, ends) {
        (Some(LocalCaller::Known(uid)), _) => Some(uid),
        (_, Some(ends)) => {
            tokio::task::spawn_blocking(move || uid_of_socket(ends.peer, ends.local)).await.ok().flatten()
        }
        (_, None) => None,
    };
    let uid = uid.ok_or_else(|| refuse("the socket that the request comes from is closed, or not on this machine"))?;
    let right = NameRight::of(owner, &user, uid).await;
    if !right.is_granted() {
        let detail =
            format!("user.name={user} is not the user with the uid {uid}, whose socket the request comes from");
        return Err(Problem::new(ProblemName::Forbidden, detail));
    }
    let caller = ApplicationCaller::User {
        caller: Caller::named(user),
        is_administrator: right.is_own_name && right.may_name_all,
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
    if let Ok(address) = authority.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
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

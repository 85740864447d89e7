//! One call: method, address and body, and how it is signed.

use hyper::Method;

use crate::client::file_digest::sha256_of;
use crate::client::market::Signer;
use crate::client::signed_query::escaped;
use crate::market::signature::sign;

/// Where the interface begins.
const BASE: &str = "/ws/v1/cluster";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApplicationCall {
    pub(super) method: Method,
    /// From the server's root.
    path: String,
    /// Escaped parameters, each followed by `&`.
    parameters: String,
    /// The parameter that names the signer.
    signer_parameter: &'static str,
    pub(super) body: Option<String>,
}

/// A call as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddressedCall {
    pub(super) target: String,
    /// Value of `Authorization`.
    pub(super) authorization: Option<String>,
}

impl ApplicationCall {
    /// A call of an address below `/ws/v1/cluster`, such as `/apps`.
    pub(super) fn new(method: Method, address: &str) -> Self {
        Self {
            method,
            path: format!("{BASE}{address}"),
            parameters: String::new(),
            signer_parameter: "user",
            body: None,
        }
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.parameters += &format!("{name}={}&", escaped(value));
        self
    }

    /// About applications of this user. Then the signer has the other name.
    pub(super) fn of_user(self, user: &str) -> Self {
        Self { signer_parameter: "user.name", ..self.with("user", user) }
    }

    pub(super) fn with_body(self, body: String) -> Self {
        Self { body: Some(body), ..self }
    }

    /// As a user who is believed.
    pub(super) fn named(&self, user: &str) -> AddressedCall {
        let Self { path, parameters, .. } = self;
        AddressedCall { target: format!("{path}?{parameters}user.name={}", escaped(user)), authorization: None }
    }

    /// Signed at a time, epoch ms. The text that is signed is `METHOD PATH?QUERY`, so the signature is good for nothing else.
    pub(super) fn signed(&self, signer: &Signer, timestamp_ms: i64) -> AddressedCall {
        let Self { method, path, parameters, signer_parameter, body } = self;
        let mut target =
            format!("{path}?{parameters}{signer_parameter}={}&timestamp={timestamp_ms}", escaped(&signer.user));
        if let Some(body) = body {
            target += &format!("&sha256={}", sha256_of(body));
        }
        let authorization = sign(&format!("{method} {target}"), &signer.key);
        AddressedCall { target, authorization: Some(authorization) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::Key;
    use crate::market::signature::decode_header;

    /// The target, and the signature decoded: the document's client leaves a slash as it is, others escape it.
    fn signed(call: &ApplicationCall, timestamp_ms: i64) -> (String, Vec<u8>) {
        let signer = Signer { user: "alice".to_owned(), key: Key::new("alicekey-abc") };
        let AddressedCall { target, authorization } = call.signed(&signer, timestamp_ms);
        (target, decode_header(&authorization.unwrap()).unwrap())
    }

    #[test]
    fn method_path_query_and_body_are_signed() {
        let list = ApplicationCall::new(Method::GET, "/apps");
        assert_eq!(signed(&list, 1_700_000_000_000).1, b"X+FsVfeHCWe7xoaAOfvzy4v7g7A=");
        let fresh = ApplicationCall::new(Method::POST, "/apps/new-application");
        assert_eq!(signed(&fresh, 1_700_000_000_002).1, b"bbSjRzl1kljzt0x0q8TqeSOa7+Q=");
        let allocate = ApplicationCall::new(Method::POST, "/apps/application_1700000000000_0001/allocate");
        let allocate = allocate.with_body(r#"{"attempt":1,"response-id":0}"#.to_owned());
        let (target, authorization) = signed(&allocate, 1_700_000_000_001);
        assert!(
            target.ends_with("&sha256=4c3830bf09dfb3f0f263cf78d7f4322e4193b36166da52033c820beb30ffd83f"),
            "{target}"
        );
        assert_eq!(authorization, b"oN0QlXr2ZID/ukWI0/hKlgngigg=");
    }

    #[test]
    fn a_signer_and_the_user_who_is_asked_about_have_names_of_their_own() {
        let call = ApplicationCall::new(Method::GET, "/apps").of_user("bob");
        assert_eq!(signed(&call, 1).0, "/ws/v1/cluster/apps?user=bob&user.name=alice&timestamp=1");
        assert_eq!(call.named("alice").target, "/ws/v1/cluster/apps?user=bob&user.name=alice");
    }

    #[test]
    fn parameters_are_escaped() {
        let call = ApplicationCall::new(Method::GET, "/apps").with("queue", "a&b c");
        assert_eq!(call.named("o'brien").target, "/ws/v1/cluster/apps?queue=a%26b%20c&user.name=o%27brien");
    }
}

//! Whether a request is meant for this server: the names it may be addressed by.
//!
//! A web page can have a browser resolve the page's own host to 127.0.0.1 (DNS rebinding) and so read what only this machine may read.
//! Such a request still carries the page's host name, which is none of ours.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;

/// Most characters of a refused name that the answer repeats.
const MAX_REPEATED_CHARS: usize = 64;

/// The host names that a web server answers to, beside every address and `localhost`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedNames {
    /// In lower case; `None`: every name.
    names: Option<BTreeSet<String>>,
    /// The configuration key that adds names.
    key: &'static str,
}

/// Marks the response to a request under a name that is not served: why, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NameRefused(pub(crate) String);

impl ServedNames {
    /// These names, in any case; `None` answers to every name. `key` is the configuration key that a refusal points to.
    pub fn new(names: Option<impl IntoIterator<Item = String>>, key: &'static str) -> Self {
        let names = names.map(|names| names.into_iter().map(|name| name.to_ascii_lowercase()).collect());
        Self { names, key }
    }

    /// Whether `authority` (`host` or `host:port`, as in the `Host` header) names this server. Ports are not compared: who forwards a
    /// port may change it, and a page cannot.
    pub(crate) fn is_served(&self, authority: &str) -> bool {
        let Some(names) = &self.names else { return true };
        if authority.parse::<IpAddr>().is_ok() {
            return true;
        }
        if let Some(bracketed) = authority.strip_prefix('[') {
            let Some((address, port)) = bracketed.split_once(']') else { return false };
            let has_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
            return has_port && address.parse::<Ipv6Addr>().is_ok();
        }
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if is_port(port) => host,
            _ => authority,
        };
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        host == "localhost" || names.contains(&host) || host.parse::<Ipv4Addr>().is_ok()
    }

    /// The first name in a request that is not served. A request without any names none: no browser sends it.
    fn unserved_name(&self, request: &Request) -> Option<String> {
        let of_target = request.uri().authority().map(|authority| authority.as_str().as_bytes());
        let of_headers = request.headers().get_all(HOST).iter().map(HeaderValue::as_bytes);
        let mut all = of_target.into_iter().chain(of_headers).map(String::from_utf8_lossy);
        all.find(|name| !self.is_served(name)).map(std::borrow::Cow::into_owned)
    }

    fn refusal(&self, name: &str) -> Response<Body> {
        let repeated: String = name.chars().take(MAX_REPEATED_CHARS).collect();
        let mark = if repeated.len() < name.len() { "..." } else { "" };
        let text = format!(
            "{repeated:?}{mark} is not a name of this server; use its address or host name, or add the name to {}\n",
            self.key
        );
        let headers = [
            (CONTENT_TYPE, "text/plain; charset=utf-8"),
            (CACHE_CONTROL, "no-store"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        let mut response = (StatusCode::MISDIRECTED_REQUEST, headers, text.clone()).into_response();
        response.extensions_mut().insert(NameRefused(text));
        response
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The router behind a check: a request under a name that is not served is answered with 421 and reaches no route, except for
/// `open_paths`, which answer under any name. Unknown paths are checked too.
pub(crate) fn require_served_name(router: Router, names: ServedNames, open_paths: &'static [&'static str]) -> Router {
    let names = Arc::new(names);
    router.layer(from_fn(move |request: Request, next: Next| {
        let names = names.clone();
        async move {
            match names.unserved_name(&request) {
                Some(name) if !open_paths.contains(&request.uri().path()) => names.refusal(&name),
                _ => next.run(request).await,
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use axum::routing::get;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    fn names() -> ServedNames {
        ServedNames::new(Some(["Node1.example.com".to_owned(), "node1".to_owned()]), "jobtracker.web.hosts")
    }

    #[test]
    fn addresses_and_own_names_are_served() {
        for name in [
            "127.0.0.1",
            "127.0.0.1:50060",
            "[::1]:50060",
            "[::1]",
            "::1",
            "localhost",
            "LOCALHOST:1",
            "localhost.:1",
            "node1:50060",
            "node1.example.com",
            "NODE1.EXAMPLE.COM.:50060",
        ] {
            assert!(names().is_served(name), "{name}");
        }
        for name in [
            "evil.example",
            "evil.example:50060",
            "node1.evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "[::1].evil.example",
            "[evil.example]",
            "node1@evil.example",
            "node1:x",
            "127.1",
            "",
            "..",
        ] {
            assert!(!names().is_served(name), "{name}");
            assert!(ServedNames::new(None::<Vec<String>>, "k").is_served(name), "{name}");
        }
    }

    #[tokio::test]
    async fn a_request_under_another_name_reaches_no_route() {
        let router = Router::new().route("/", get(|| async { "page" })).route("/healthz", get(|| async { "ok" }));
        let service = TowerToHyperService::new(require_served_name(router, names(), &["/healthz"]));
        let ask = async |target: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(target);
            for host in hosts {
                request = request.header(HOST, *host);
            }
            let response = service.call(request.body(Body::empty()).unwrap()).await.unwrap();
            let status = response.status().as_u16();
            let nosniff = response.headers().contains_key(X_CONTENT_TYPE_OPTIONS);
            let body = to_bytes(response.into_body(), 4096).await.unwrap();
            (status, nosniff, String::from_utf8(body.to_vec()).unwrap())
        };
        assert_eq!(ask("/", &["node1:50060"]).await.2, "page");
        assert_eq!(ask("/", &[]).await.2, "page");
        let (status, nosniff, text) = ask("/", &["evil.example:50060"]).await;
        assert_eq!((status, nosniff), (421, true));
        assert_eq!(
            text,
            "\"evil.example:50060\" is not a name of this server; use its address or host name, or add the name to \
             jobtracker.web.hosts\n"
        );
        assert_eq!(ask("http://evil.example/", &["node1"]).await.0, 421);
        assert_eq!(ask("/", &["node1", "evil.example"]).await.0, 421);
        assert_eq!(ask("/nothing", &["evil.example"]).await.0, 421);
        assert_eq!(ask("/healthz", &["evil.example"]).await.2, "ok");
        let long = ask("/", &[&"x".repeat(5000)]).await.2;
        assert!(long.len() < 200 && long.contains("...") && long.contains("jobtracker.web.hosts"), "{long}");
    }
}

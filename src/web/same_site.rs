//! Whether a request that changes something comes from a page of this server: a browser sends requests that other pages
//! make with the rights that its user's network place gives it.

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN, REFERER};
use axum::http::uri::Uri;

/// What a browser says of the page that made the request.
const FETCH_SITE: &str = "sec-fetch-site";

/// Whether no header names a page of another host. Programs that are no browsers send none of these headers.
pub(super) fn is_from_own_page(headers: &HeaderMap) -> bool {
    let text = |value: &axum::http::HeaderValue| value.to_str().map(str::to_owned).ok();
    let is_own_site = match headers.get(FETCH_SITE) {
        None => true,
        // `none`: its user typed the address.
        Some(site) => matches!(site.as_bytes(), b"same-origin" | b"none"),
    };
    let host = headers.get(HOST).and_then(text);
    let is_own_host = |page: &axum::http::HeaderValue| {
        let uri: Option<Uri> = text(page).and_then(|page| page.parse().ok());
        let authority = uri.and_then(|uri| uri.authority().map(|authority| authority.as_str().to_ascii_lowercase()));
        authority.is_some() && authority == host.as_deref().map(str::to_ascii_lowercase)
    };
    is_own_site && [ORIGIN, REFERER].iter().filter_map(|name| headers.get(name)).all(is_own_host)
}

/// What proxies add: behind one, the kernel says whose the proxy is, not who asks.
const OF_PROXIES: [&str; 4] = ["forwarded", "via", "x-real-ip", "x-forwarded"];

/// Why no name in such a request is believed.
pub(super) const THROUGH_PROXY: &str = "the request came through a proxy, whose users are not known here; expected a signed request, or one without a proxy";

/// Whether a request came through a proxy, by what proxies say of themselves.
pub(super) fn came_through_proxy(headers: &HeaderMap) -> bool {
    let is_of_proxy = |name: &str| OF_PROXIES.contains(&name) || name.starts_with("x-forwarded-");
    headers.keys().any(|name| is_of_proxy(name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_own(pairs: &[(&'static str, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "master:50030".parse().unwrap());
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        is_from_own_page(&headers)
    }

    #[test]
    fn programs_and_own_pages_may_change() {
        assert!(is_own(&[]));
        assert!(is_own(&[("sec-fetch-site", "same-origin"), ("origin", "http://master:50030")]));
        assert!(is_own(&[("sec-fetch-site", "none")]));
        assert!(is_own(&[("referer", "http://MASTER:50030/scheduler?advanced")]));
    }

    #[test]
    fn proxies_are_known_by_what_they_add() {
        let came = |name: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, "10.0.0.1".parse().unwrap());
            came_through_proxy(&headers)
        };
        for name in ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"] {
            assert!(came(name), "{name}");
        }
        assert!(!came("x-requested-by") && !came("forward"));
    }

    #[test]
    fn other_pages_may_not() {
        for header in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "http://evil.example"),
            ("origin", "null"),
            ("origin", "http://master:50031"),
            ("origin", "http://master:50030.evil.example"),
            ("referer", "http://evil.example/master:50030"),
            ("referer", "about:blank"),
        ] {
            assert!(!is_own(&[header]), "{header:?}");
        }
        assert!(!is_own(&[("origin", "http://master:50030"), ("referer", "http://evil.example/")]));
    }
}

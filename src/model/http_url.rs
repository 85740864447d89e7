//! Hosts and ports, alone and in `http:` URLs: one parser for all that people and other programs write.

use core::net::Ipv6Addr;

use thiserror::Error;

/// The port of an `http:` URL that names none.
const HTTP_PORT: u16 = 80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Authority<'a> {
    /// A name, an IPv4 address, or an IPv6 address without its brackets.
    pub(crate) host: &'a str,
    /// From 0 to 65535.
    pub(crate) port: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HttpUrl<'a> {
    authority: Authority<'a>,
    /// Host and port as written, for the header `Host`.
    host_header: &'a str,
    /// Path, query and fragment.
    rest: &'a str,
}

/// Why a text is no URL that can be called. No part of it is repeated: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum HttpUrlError {
    /// Another scheme, or none.
    #[error("it does not begin with http://")]
    Scheme,
    /// The host is missing, or none.
    #[error("invalid host")]
    Host,
    #[error("invalid port, expected a number from 1 to 65535")]
    Port,
}

impl<'a> Authority<'a> {
    /// Parses `host`, `host:port`, `[ipv6]` or `[ipv6]:port`; the port is from 0 to 65535.
    pub(crate) fn parse(text: &'a str) -> Result<Self, HttpUrlError> {
        let (host, port) = split_port(text);
        let port = port.map(|port| parse_port(port).ok_or(HttpUrlError::Port)).transpose()?;
        let is_host = match bracketed(host) {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => is_host_name(host),
        };
        if !is_host {
            return Err(HttpUrlError::Host);
        }
        Ok(Self { host: bracketed(host).unwrap_or(host), port })
    }
}

impl<'a> HttpUrl<'a> {
    /// Parses `http://host[:port][/path][?query]`. What stands after the port is not checked.
    pub(crate) fn parse(text: &'a str) -> Result<Self, HttpUrlError> {
        Self::parse_any(text, &["http"])
    }

    /// The same for `http:` and `https:`.
    pub(crate) fn parse_also_secure(text: &'a str) -> Result<Self, HttpUrlError> {
        Self::parse_any(text, &["http", "https"])
    }

    fn parse_any(text: &'a str, schemes: &[&str]) -> Result<Self, HttpUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(HttpUrlError::Scheme)?;
        if !schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(HttpUrlError::Scheme);
        }
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        // A user and a password are not sent.
        let host_header = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let authority = Authority::parse(host_header)?;
        if authority.port == Some(0) {
            return Err(HttpUrlError::Port);
        }
        Ok(Self { authority, host_header, rest })
    }

    #[must_use]
    pub(crate) fn host(&self) -> &'a str {
        self.authority.host
    }

    #[must_use]
    pub(crate) fn port(&self) -> u16 {
        self.authority.port.unwrap_or(HTTP_PORT)
    }

    #[must_use]
    pub(crate) fn has_port(&self) -> bool {
        self.authority.port.is_some()
    }

    #[must_use]
    pub(crate) fn host_header(&self) -> &'a str {
        self.host_header
    }

    /// Path and query as written; at least `/`.
    #[must_use]
    pub(crate) fn path_and_query(&self) -> String {
        let sent = self.rest.split('#').next().unwrap_or_default();
        if sent.starts_with('/') { sent.to_owned() } else { format!("/{sent}") }
    }
}

/// Cuts a port off; the colons of an IPv6 address without brackets part nothing.
pub(crate) fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    }
}

/// A port: digits alone, at most 65535.
pub(crate) fn parse_port(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn bracketed(host: &str) -> Option<&str> {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']'))
}

fn is_host_name(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        HttpUrl::parse(url).map_or_else(|error| error.to_string(), |url| format!("{url:?}"))
    }

    #[test]
    fn parts_of_a_url_are_read() {
        for (url, host, port, header, path) in [
            ("http://a.b/x?y=z#f", "a.b", 80, "a.b", "/x?y=z"),
            ("HTTP://a:8080", "a", 8080, "a:8080", "/"),
            ("http://a?b", "a", 80, "a", "/?b"),
            ("http://[::1]:65535/p", "::1", 65_535, "[::1]:65535", "/p"),
            ("http://[fd00::2]", "fd00::2", 80, "[fd00::2]", "/"),
            ("http://user:pass@h_1:1/", "h_1", 1, "h_1:1", "/"),
            ("http://127.0.0.1:080/a b", "127.0.0.1", 80, "127.0.0.1:080", "/a b"),
        ] {
            let parsed = HttpUrl::parse(url).unwrap();
            assert_eq!((parsed.host(), parsed.port(), parsed.host_header()), (host, port, header), "{url}");
            assert_eq!(parsed.path_and_query(), path, "{url}");
        }
        assert!(HttpUrl::parse("http://a:80").unwrap().has_port() && !HttpUrl::parse("http://a").unwrap().has_port());
        assert_eq!(HttpUrl::parse_also_secure("https://a:444/").unwrap().port(), 444);
    }

    #[test]
    fn a_port_that_is_none_is_refused_and_no_other_port_is_taken() {
        for port in ["99999", "65536", "0", "", "+80", "-1", "8 0", "http", "0x50", "99999999999999999999"] {
            let expected = "invalid port, expected a number from 1 to 65535";
            assert_eq!(refused(&format!("http://127.0.0.1:{port}/ok")), expected);
            assert_eq!(refused(&format!("http://[::1]:{port}")), expected);
        }
    }

    #[test]
    fn what_is_no_url_is_named() {
        for url in ["", "/end", "localhost:80", "nonsense", "https://h/", "file:///etc/passwd", "http:/h/", "://h"] {
            assert_eq!(refused(url), "it does not begin with http://", "{url}");
        }
        for host in ["", "/x", ":80/", "[::1/", "[g]/", "a b/", "a:b:80/", "é/", "user@/"] {
            assert_eq!(refused(&format!("http://{host}")), "invalid host", "{host}");
        }
    }

    #[test]
    fn a_host_has_a_port_or_none() {
        assert_eq!(Authority::parse("h:0"), Ok(Authority { host: "h", port: Some(0) }));
        assert_eq!(Authority::parse("[::1]"), Ok(Authority { host: "::1", port: None }));
        assert_eq!(split_port("fd00::2"), ("fd00::2", None));
        assert_eq!(split_port("[fd00::2]:1"), ("[fd00::2]", Some("1")));
        assert!(Authority::parse("::1:80").is_err() && Authority::parse("").is_err());
    }
}

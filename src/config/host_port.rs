//! Addresses as Hadoop writes them.

use std::fmt;
use std::net::Ipv6Addr;

use crate::model::Authority;

/// A host (name or numeric address) and a TCP port. Port 0 lets the system choose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// Host name, IPv4 address, or IPv6 address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl HostPort {
    /// Parses `host:port`, `[ipv6]:port` or `scheme://host:port/path` (1.2.1 `NetUtils.createSocketAddr`); `None` for
    /// anything else, in particular for a missing port.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let authority = match text.split_once("://") {
            Some((_, rest)) => rest.split('/').next()?,
            None => text,
        };
        let Authority { host, port } = Authority::parse(authority).ok()?;
        let host = host.parse::<Ipv6Addr>().map_or_else(|_| host.to_owned(), |address| address.to_string());
        Some(HostPort { host, port: port? })
    }

    #[must_use]
    pub(crate) fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_forms_hadoop_reads() {
        for (text, printed) in [
            ("master:9001", "master:9001"),
            (" 127.0.0.1:0 ", "127.0.0.1:0"),
            ("[::1]:8021", "[::1]:8021"),
            ("hdfs://namenode:8020/user", "namenode:8020"),
        ] {
            assert_eq!(HostPort::parse(text).map(|address| address.to_string()).as_deref(), Some(printed));
        }
    }

    #[test]
    fn refuses_the_rest() {
        for text in ["local", "host", "host:", ":80", "host:99999", "host:+80", "a b:80", "host:80/x", "::1:80", ""] {
            assert_eq!(HostPort::parse(text), None, "{text}");
        }
    }

    #[test]
    fn knows_loopback() {
        let loopback = |text| HostPort::parse(text).map(|address| address.is_loopback());
        assert_eq!(["localhost:1", "127.9.9.9:1", "[::1]:1"].map(loopback), [Some(true); 3]);
        assert_eq!(["0.0.0.0:1", "master:1"].map(loopback), [Some(false); 2]);
    }
}

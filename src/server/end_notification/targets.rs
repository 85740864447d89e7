//! The hosts that jobs may have called at their end.

use glob::Pattern;

use crate::model::{parse_port, split_port};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Targets(Vec<TargetPattern>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct TargetPattern {
    /// In lower case.
    host: Pattern,
    port: Option<u16>,
}

impl Targets {
    /// Parses `jobtracker.end-notification.targets`: names or addresses, with `*` for any characters, with or without a
    /// port.
    pub(crate) fn new(patterns: &[String]) -> Self {
        Self(patterns.iter().map(|pattern| TargetPattern::new(pattern)).collect())
    }

    /// Whether every host may be called.
    pub(crate) fn are_all(&self) -> bool {
        self.0.iter().any(|target| target.host.as_str() == "*" && target.port.is_none())
    }

    /// Whether a host may be called at that port; an IPv6 address has no brackets.
    pub(super) fn contain(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        self.0.iter().any(|target| target.port.is_none_or(|only| only == port) && target.host.matches(&host))
    }
}

impl TargetPattern {
    fn new(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        let (host, port) = match split_port(&text) {
            (host, Some(port)) => match parse_port(port) {
                Some(port) => (host, Some(port)),
                // The configuration refuses such a port: no host is that text.
                None => (&*text, None),
            },
            (host, None) => (host, None),
        };
        Self { host: host_pattern(host.trim_start_matches('[').trim_end_matches(']')), port }
    }
}

/// `*` stands for any characters, every other character for itself.
fn host_pattern(host: &str) -> Pattern {
    let mut pattern = String::new();
    for (at, literal) in host.split('*').enumerate() {
        // The library takes ** for nested directories.
        if at > 0 && !pattern.ends_with('*') {
            pattern.push('*');
        }
        pattern += &Pattern::escape(literal);
    }
    // An escaped text is always a pattern.
    Pattern::new(&pattern).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(patterns: &[&str]) -> Targets {
        Targets::new(&patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn hosts_are_listed_with_stars_and_ports() {
        let some = targets(&[
            "Oozie.example.com",
            "*.apps.example.com",
            "10.0.*:8080",
            "[fd00::1]:80",
            "fd00::2",
            "x**y",
            "a?[bc]d",
        ]);
        for (host, port, is_in) in [
            ("oozie.example.com", 11_000, true),
            ("OOZIE.EXAMPLE.COM", 80, true),
            ("oozie.example.com.evil.org", 80, false),
            ("xoozie.example.com", 80, false),
            ("a.b.apps.example.com", 1, true),
            (".apps.example.com", 1, true),
            ("apps.example.com", 1, false),
            ("10.0.3.4", 8080, true),
            ("10.0.3.4", 80, false),
            ("10.1.0.8080", 8080, false),
            ("fd00::1", 80, true),
            ("fd00::1", 81, false),
            ("fd00::2", 81, true),
            ("169.254.169.254", 80, false),
            ("xay", 80, true),
            ("x?[b]y", 80, true),
            ("xb", 80, false),
            ("a?[bc]d", 80, true),
            ("abbd", 80, false),
        ] {
            assert_eq!(some.contain(host, port), is_in, "{host} {port}");
        }
        assert!(!some.are_all() && targets(&["a", "*"]).are_all() && !targets(&["*:80"]).are_all());
        assert!(targets(&["*"]).contain("anything", 1) && !targets(&[]).contain("anything", 1));
    }

    #[test]
    fn many_stars_take_no_long_time() {
        let stars = "a*".repeat(100) + "b";
        assert!(!targets(&[&stars]).contain(&"a".repeat(10_000), 80));
    }
}

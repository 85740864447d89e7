//! How much of a daemon a client over HTTP may take.

use std::time::Duration;

/// The least buffer that hyper takes.
pub(super) const MIN_HEADER_BYTES: usize = 8192;

/// Limits of the web server. The defaults suit a daemon that people, scripts and scrapers look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebLimits {
    /// Connections at one time. Beyond it idle ones are closed; where all have requests in hand, further ones wait in the listen backlog.
    pub connections: usize,
    /// Bytes of a request's first line and headers together; less than 8192 counts as 8192.
    pub header_bytes: usize,
    pub headers: usize,
    /// Time for a request's headers to arrive, and so how long a connection may be idle.
    pub header_read: Duration,
    /// Time in which a client must take at least a byte of its answer.
    pub write: Duration,
    /// Time that requests in hand have when the server stops.
    pub drain: Duration,
    /// Paths that are answered when all places are taken by requests that do not wait.
    pub kept_paths: &'static [&'static str],
}

impl WebLimits {
    /// Most connections of one address (of one /64 of IPv6 addresses, of one user over loopback) that are served at one time: a
    /// quarter, at least 1. As many more wait for their turn.
    pub(crate) fn connections_of_peer(&self) -> usize {
        (self.connections / 4).max(1)
    }

    /// Connections beyond all others, for the paths that are kept free, if there are any.
    pub(super) fn connections_kept(&self) -> usize {
        const KEPT: usize = 4;
        if self.kept_paths.is_empty() { 0 } else { KEPT }
    }
}

impl Default for WebLimits {
    fn default() -> Self {
        WebLimits {
            connections: 1000,
            header_bytes: 16 * 1024,
            headers: 64,
            header_read: Duration::from_secs(10),
            write: Duration::from_secs(20),
            drain: Duration::from_secs(5),
            kept_paths: &[],
        }
    }
}

//! What this machine is called, and what is served on it.

use std::net::SocketAddr;

use crate::config::{HostPort, host_name};

/// How others reach what `configured` asked for and `bound` became: who listens on all addresses is named by the host, as 1.2.1
/// `JobTracker` does.
#[must_use]
pub fn as_others_name(configured: &HostPort, bound: SocketAddr) -> HostPort {
    let host = if bound.ip().is_unspecified() { host_name() } else { configured.host.clone() };
    HostPort { host, port: bound.port() }
}

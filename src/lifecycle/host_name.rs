//! The public name of a served address.

use std::net::SocketAddr;

use crate::config::{HostPort, host_name};

/// The address under which clients reach the port `bound`: for a port on all addresses the host name replaces the
/// address, as in 1.2.1 `JobTracker`.
#[must_use]
pub fn as_others_name(configured: &HostPort, bound: SocketAddr) -> HostPort {
    let host = if bound.ip().is_unspecified() { host_name() } else { configured.host.clone() };
    HostPort { host, port: bound.port() }
}

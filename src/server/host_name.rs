//! What this machine is called, and what is served on it.

use std::net::SocketAddr;

use crate::config::HostPort;

/// How others reach what `configured` asked for and `bound` became: who listens on all addresses is named by the host, as 1.2.1
/// `JobTracker` does.
#[must_use]
pub fn as_others_name(configured: &HostPort, bound: SocketAddr) -> HostPort {
    let host = if bound.ip().is_unspecified() { host_name() } else { configured.host.clone() };
    HostPort { host, port: bound.port() }
}

/// The name of this machine, as its kernel knows it; `localhost` when that is no name.
pub(super) fn host_name() -> String {
    let name = rustix::system::uname();
    match name.nodename().to_str() {
        Ok(name) if !name.is_empty() => name.to_owned(),
        _ => "localhost".to_owned(),
    }
}

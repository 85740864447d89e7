//! The daemon's ports, and the limit on file descriptors.

use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use crate::config::{HostPort, host_name};
use crate::ipc::listen;

use super::handover::Port;
use super::serve_error::ServeError;

/// A port that is listened on. It stays open while any process holds a copy.
#[derive(Debug)]
pub(super) struct OpenPort {
    listener: RefCell<Option<TcpListener>>,
    pub(super) bound: SocketAddr,
}

/// Raises the soft limit on file descriptors to `needed`, up to the hard limit; returns the limit reached.
pub(super) fn allow_descriptors(needed: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = needed as u64;
    let Some(current) = limit.current.filter(|current| *current < wanted) else { return needed };
    let reached = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(reached), maximum: limit.maximum });
    usize::try_from(if raised.is_ok() { reached } else { current }).unwrap_or(needed)
}

impl OpenPort {
    pub(super) fn open(key: &'static str, address: &HostPort) -> Result<Self, ServeError> {
        let resolved = resolve(key, address)?;
        let refused = |source| refusal(key, address, resolved, source);
        let listener = listen(resolved).and_then(tokio::net::TcpListener::into_std).map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        Ok(Self::of(listener, bound))
    }

    /// Binds the port that a key names, unless it is the `offered` one.
    pub(super) fn unless_offered(
        key: &'static str,
        address: &HostPort,
        offered: &Port,
    ) -> Result<Option<Self>, ServeError> {
        if offered.configured == address.to_string() || resolve(key, address)? == offered.bound {
            return Ok(None);
        }
        Self::open(key, address).map(Some)
    }

    /// A port that is bound already.
    pub(super) fn of(listener: TcpListener, bound: SocketAddr) -> Self {
        Self { listener: RefCell::new(Some(listener)), bound }
    }

    pub(super) fn share(&self) -> io::Result<TcpListener> {
        match &*self.listener.borrow() {
            Some(listener) => listener.try_clone(),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Drops this listener; the port closes with its last copy.
    pub(super) fn close(&self) {
        self.listener.take();
    }

    pub(super) fn offer(&self, address: &HostPort) -> Port {
        Port { configured: address.to_string(), bound: self.bound }
    }
}

/// The address under which clients reach the port `bound`: for a port on all addresses the host name replaces the
/// address, as in 1.2.1 `JobTracker`.
#[must_use]
pub(crate) fn as_others_name(configured: &HostPort, bound: SocketAddr) -> HostPort {
    let host = if bound.ip().is_unspecified() { host_name() } else { configured.host.clone() };
    HostPort { host, port: bound.port() }
}

/// Whether an address is one of this machine; any port of it, since that of a running daemon is taken.
pub(super) fn check_address(key: &'static str, address: &HostPort) -> Result<(), ServeError> {
    let mut resolved = resolve(key, address)?;
    resolved.set_port(0);
    TcpListener::bind(resolved).map(drop).map_err(|source| refusal(key, address, resolved, source))
}

fn refusal(key: &'static str, address: &HostPort, resolved: SocketAddr, source: io::Error) -> ServeError {
    match source.kind() {
        io::ErrorKind::AddrNotAvailable => ServeError::Address { key, address: address.clone(), source },
        _ => ServeError::Port { key, address: resolved, source },
    }
}

fn resolve(key: &'static str, address: &HostPort) -> Result<SocketAddr, ServeError> {
    let refused = |source| ServeError::Address { key, address: address.clone(), source };
    let mut resolved = (address.host.as_str(), address.port).to_socket_addrs().map_err(refused)?;
    resolved.next().ok_or_else(|| refused(std::io::ErrorKind::AddrNotAvailable.into()))
}

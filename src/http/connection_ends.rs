//! The two ends of the connection that a request came on, and who is at the other one: extensions of each request.

use std::net::SocketAddr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionEnds {
    /// The server's own.
    pub(crate) local: SocketAddr,
    /// The client's, or that of a proxy.
    pub(crate) peer: SocketAddr,
}

/// Who is at the other end, where a Unix socket is served beside the port: an extension of each request there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalCaller {
    /// The user of this machine who connected to the socket.
    Known(u32),
    /// Anybody, over TCP.
    Unknown,
}

//! The two ends of the connection that a request came on: an extension of each request.

use std::net::SocketAddr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionEnds {
    /// The server's own.
    pub local: SocketAddr,
    /// The client's, or that of a proxy.
    pub peer: SocketAddr,
}

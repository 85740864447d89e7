//! Host and port, and connections there.

use std::fmt;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::error::{HdfsError, ServerRole};

/// Host and port of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

// === impl Endpoint ===

impl Endpoint {
    /// The port of a NameNode that a URI without one means.
    pub const DEFAULT_NAMENODE_PORT: u16 = 8020;

    /// Connects; each address of the host is tried, with `limit` for each.
    pub(super) fn connect(&self, role: ServerRole, limit: Duration) -> Result<TcpStream, HdfsError> {
        let address = self.to_string();
        let resolved = (&*self.host, self.port).to_socket_addrs();
        let addresses = match resolved {
            Ok(addresses) => addresses.collect::<Vec<_>>(),
            Err(source) => return Err(HdfsError::Unresolved { address, role, source }),
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for one in addresses {
            match TcpStream::connect_timeout(&one, limit).and_then(|stream| stream.set_nodelay(true).map(|()| stream)) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(HdfsError::Connect { address, role, source: last })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

//! Host and port, and connections there.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;
use std::{fmt, io};

use super::error::{HdfsError, ServerRole};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
}

impl Endpoint {
    /// The port of a NameNode that a URI without one means.
    pub(crate) const DEFAULT_NAMENODE_PORT: u16 = 8020;

    /// Connects; each address of the host is tried, with `limit` for each.
    pub(super) fn connect(&self, role: ServerRole, limit: Duration) -> Result<TcpStream, HdfsError> {
        let address = self.to_string();
        let resolved = (&*self.host, self.port).to_socket_addrs();
        let addresses = match resolved {
            Ok(addresses) => addresses.collect::<Vec<_>>(),
            Err(source) => return Err(HdfsError::Unresolved { address, role, source }),
        };
        connect_to_any(&addresses, limit).map_err(|source| HdfsError::Connect { address, role, source })
    }
}

/// A connection to the first address that listens; else the error of the last one.
fn connect_to_any(addresses: &[SocketAddr], limit: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for one in addresses {
        match TcpStream::connect_timeout(one, limit).and_then(|stream| stream.set_nodelay(true).map(|()| stream)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn of_several_addresses_the_one_that_listens_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        // Nothing listens at another address of the same port.
        let closed = SocketAddr::from(([127, 9, 8, 7], open.port()));
        let limit = Duration::from_secs(20);
        assert_eq!(connect_to_any(&[closed, open, closed], limit).unwrap().peer_addr().unwrap(), open);
        assert_eq!(connect_to_any(&[closed], limit).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(connect_to_any(&[], limit).unwrap_err().to_string(), "the host has no address");
    }
}

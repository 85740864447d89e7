//! Connections to the data port of a DataNode.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::Duration;

use crate::wire::WireError;
use crate::wire::hdfs::{DataStatus, DatanodeInfo};

use super::endpoint::Endpoint;
use super::error::{HdfsError, ServerRole};
use super::options::HdfsOptions;
use super::receive_buffer::ReceiveBuffer;
use super::rpc_connection::Reads;

#[derive(Debug, thiserror::Error)]
pub(super) enum NodeFault {
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("the connection ended: {0}")]
    Ended(io::Error),
    #[error("silent for {0:?}")]
    Silent(Duration),
    #[error("refused with status {0:?}")]
    Refused(DataStatus),
    #[error("{0}")]
    Malformed(#[from] WireError),
    #[error("{0}")]
    OutOfOrder(String),
    #[error("wrong checksum at byte {offset_bytes} of the block")]
    Checksum {
        /// Where in the block, bytes.
        offset_bytes: u64,
    },
}

#[derive(Debug)]
pub(super) struct DatanodeSocket {
    pub(super) stream: TcpStream,
    pub(super) buffer: ReceiveBuffer,
    limit: Duration,
}

/// Where a DataNode is reached.
fn data_endpoint(node: &DatanodeInfo, options: &HdfsOptions) -> Result<Endpoint, NodeFault> {
    let (host, port) = node.address();
    let Some(port) = port else {
        return Err(NodeFault::Connect(format!("{:?} is no address; expected HOST:PORT", node.name)));
    };
    Ok(Endpoint { host: reached_host(node, host, options), port })
}

pub(super) fn ipc_endpoint(node: &DatanodeInfo, options: &HdfsOptions) -> Endpoint {
    Endpoint { host: reached_host(node, node.address().0, options), port: node.ipc_port }
}

fn reached_host(node: &DatanodeInfo, host: &str, options: &HdfsOptions) -> String {
    if options.use_datanode_hostname && !node.host.is_empty() { node.host.to_string() } else { host.to_owned() }
}

impl DatanodeSocket {
    /// Connects. `read_limit` bounds each wait for bytes, `write_limit` each write.
    pub(super) fn open(
        node: &DatanodeInfo,
        options: &HdfsOptions,
        read_limit: Duration,
        write_limit: Duration,
        buffer_bytes: usize,
    ) -> Result<Self, NodeFault> {
        let endpoint = data_endpoint(node, options)?;
        let stream = endpoint.connect(ServerRole::DataNode, options.socket_timeout).map_err(|error| match error {
            HdfsError::Connect { source, .. } | HdfsError::Unresolved { source, .. } => {
                NodeFault::Connect(source.to_string())
            }
            error => NodeFault::Connect(error.to_string()),
        })?;
        let limits = stream.set_read_timeout(Some(read_limit));
        limits.and_then(|()| stream.set_write_timeout(Some(write_limit))).map_err(NodeFault::Ended)?;
        Ok(Self { stream, buffer: ReceiveBuffer::with_room(buffer_bytes), limit: read_limit })
    }

    /// What stands at the start of what is received, read on until it is whole; its bytes are used up.
    pub(super) fn receive<T>(
        &mut self,
        decode: impl Fn(&[u8]) -> Result<Option<(T, usize)>, WireError>,
    ) -> Result<T, NodeFault> {
        loop {
            if let Some((value, used)) = decode(self.buffer.unread())? {
                self.buffer.consume(used);
                return Ok(value);
            }
            self.fill()?;
        }
    }

    /// Reads at least one byte.
    pub(super) fn fill(&mut self) -> Result<(), NodeFault> {
        match self.buffer.fill(&mut Reads(&self.stream)) {
            Ok(0) => Err(NodeFault::Ended(io::Error::new(ErrorKind::UnexpectedEof, "closed by the DataNode"))),
            Ok(_) => Ok(()),
            Err(error) => Err(self.fault(error)),
        }
    }

    pub(super) fn fault(&self, error: io::Error) -> NodeFault {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => NodeFault::Silent(self.limit),
            _ => NodeFault::Ended(error),
        }
    }
}

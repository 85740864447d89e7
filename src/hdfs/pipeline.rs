//! The stream of one block to the first DataNode of its pipeline.

use std::io::Write;

use crate::wire::hdfs::{
    Checksums, DataRequest, DataStatus, DatanodeInfo, HEARTBEAT_SEQUENCE, LocatedBlock, WriteRequest, decode_ack,
    decode_setup_answer, encode_data_request, encode_packet,
};

use super::datanode_socket::{DatanodeSocket, NodeFault};
use super::options::HdfsOptions;

/// A pipeline that stands.
#[derive(Debug)]
pub(super) struct Pipeline {
    socket: DatanodeSocket,
    nodes: usize,
    checksums: Checksums,
}

#[derive(Debug)]
pub(super) struct PipelineFault {
    /// Index of the DataNode that failed, as far as it is known; below the number of nodes.
    pub(super) bad: usize,
    pub(super) fault: NodeFault,
}

/// Room for acknowledgements.
const BUFFER_BYTES: usize = 8 << 10;

impl Pipeline {
    /// Connects to the first of `nodes`, which is not empty, and has it connect to the others.
    pub(super) fn open(
        located: &LocatedBlock,
        nodes: &[DatanodeInfo],
        is_recovery: bool,
        client: &str,
        options: &HdfsOptions,
    ) -> Result<Self, PipelineFault> {
        let first_failed = |fault| PipelineFault { bad: 0, fault };
        let Some((first, targets)) = nodes.split_first() else {
            return Err(first_failed(NodeFault::Connect("no DataNode".to_owned())));
        };
        let count = nodes.len() as u32;
        let read_limit = options.socket_timeout + options.socket_timeout_per_node * count;
        let write_limit = options.write_timeout + options.write_timeout_per_node * count;
        let checksums = Checksums::crc32(options.chunk_bytes);
        let mut socket =
            DatanodeSocket::open(first, options, read_limit, write_limit, BUFFER_BYTES).map_err(first_failed)?;
        let mut request = Vec::new();
        encode_data_request(
            &mut request,
            &DataRequest::Write(WriteRequest {
                block_id: located.block.id,
                generation: located.block.generation,
                pipeline_nodes: count as i32,
                is_recovery,
                client: client.into(),
                source: None,
                targets: targets.to_vec(),
                token: located.token.clone(),
                checksums,
            }),
        );
        socket.stream.write_all(&request).map_err(|error| first_failed(socket.fault(error)))?;
        let answer = socket.receive(decode_setup_answer).map_err(first_failed)?;
        if answer.status != DataStatus::Success || !answer.first_bad_node.is_empty() {
            let bad = nodes.iter().position(|node| *node.name == *answer.first_bad_node).unwrap_or(0);
            return Err(PipelineFault { bad, fault: NodeFault::Refused(answer.status) });
        }
        Ok(Self { socket, nodes: nodes.len(), checksums })
    }

    /// Sends whole packets.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), PipelineFault> {
        match self.socket.stream.write_all(bytes) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.after_write_error(error)),
        }
    }

    /// What is known after a write failed: an acknowledgement that was received before may name the culprit.
    fn after_write_error(&mut self, error: std::io::Error) -> PipelineFault {
        let fault = self.socket.fault(error);
        loop {
            match decode_ack(self.socket.buffer.unread(), self.nodes) {
                Ok(Some((ack, used))) => {
                    self.socket.buffer.consume(used);
                    if let Err(found) = self.check(&ack.statuses) {
                        return found;
                    }
                }
                Ok(None) if !matches!(fault, NodeFault::Silent(_)) && self.socket.fill().is_ok() => {}
                _ => return PipelineFault { bad: 0, fault },
            }
        }
    }

    /// Says to the DataNodes that the writer is there. Its acknowledgement is skipped.
    pub(super) fn send_heartbeat(&mut self) -> Result<(), PipelineFault> {
        let mut packet = Vec::new();
        encode_packet(&mut packet, 0, HEARTBEAT_SEQUENCE, false, &[], self.checksums);
        self.send(&packet)
    }

    pub(super) fn wait_for_ack(&mut self, sequence: i64) -> Result<(), PipelineFault> {
        loop {
            let nodes = self.nodes;
            let received = self.socket.receive(|bytes| decode_ack(bytes, nodes));
            let ack = received.map_err(|fault| PipelineFault { bad: 0, fault })?;
            self.check(&ack.statuses)?;
            if ack.sequence == HEARTBEAT_SEQUENCE {
                continue;
            }
            if ack.sequence != sequence || ack.statuses.len() != self.nodes {
                let text = format!(
                    "acknowledges packet {} for {} DataNodes; expected packet {sequence} for {}",
                    ack.sequence,
                    ack.statuses.len(),
                    self.nodes
                );
                return Err(PipelineFault { bad: 0, fault: NodeFault::OutOfOrder(text) });
            }
            return Ok(());
        }
    }

    fn check(&self, statuses: &[DataStatus]) -> Result<(), PipelineFault> {
        match statuses.iter().position(|status| *status != DataStatus::Success) {
            Some(index) => {
                Err(PipelineFault { bad: index.min(self.nodes - 1), fault: NodeFault::Refused(statuses[index]) })
            }
            None => Ok(()),
        }
    }
}

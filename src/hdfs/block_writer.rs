//! Writing one block: its pipeline, the packets that wait for their acknowledgement, and recovery when DataNodes fail.

use std::collections::VecDeque;

use crate::wire::hdfs::{
    Checksums, DatanodeInfo, HdfsAnswer, HdfsCall, HdfsProtocol, LocatedBlock, encode_end, encode_packet,
};

use super::datanode_socket::{NodeFault, ipc_endpoint};
use super::error::HdfsError;
use super::file_being_written::FileBeingWritten;
use super::pipeline::{Pipeline, PipelineFault};
use super::rpc_connection::RpcConnection;

#[derive(Debug)]
pub(super) struct BlockWriter {
    file: FileBeingWritten,
    located: LocatedBlock,
    /// DataNodes of the pipeline, in order; those that failed are gone.
    nodes: Vec<DatanodeInfo>,
    pipeline: Option<Pipeline>,
    /// Packets that were not acknowledged, in order, as they were sent.
    unacknowledged: VecDeque<SentPacket>,
    /// Memory of packets that were.
    spare: Vec<Vec<u8>>,
    next_sequence: i64,
    offset: u64,
    /// What DataNodes did, for the error if none is left.
    failed: Vec<(DatanodeInfo, String)>,
}

#[derive(Debug)]
struct SentPacket {
    sequence: i64,
    bytes: Vec<u8>,
}

impl BlockWriter {
    /// Gets a block and sets its pipeline up. DataNodes that cannot be used are added to `excluded`, and the block is given back for
    /// another one. `known` blocks of the file are written.
    pub(super) fn begin(
        file: &FileBeingWritten,
        excluded: &mut Vec<DatanodeInfo>,
        known: usize,
    ) -> Result<Self, HdfsError> {
        let options = file.namenode.options();
        let mut reasons = Vec::new();
        for _ in 0..=options.pipeline_retries {
            let located = match file.add_block(excluded, known) {
                Ok(located) => located,
                // The text of the NameNode says only that there are too few.
                Err(error @ HdfsError::Refused { .. }) if !reasons.is_empty() => {
                    return Err(file.no_pipeline("the next block", format!("{}; then {error}", reasons.join("; "))));
                }
                Err(error) => return Err(error),
            };
            let nodes = located.nodes.clone();
            match Pipeline::open(&located, &nodes, false, &file.client, options) {
                Ok(pipeline) => {
                    return Ok(Self {
                        file: file.clone(),
                        located,
                        nodes,
                        pipeline: Some(pipeline),
                        unacknowledged: VecDeque::new(),
                        spare: Vec::new(),
                        next_sequence: 0,
                        offset: 0,
                        failed: Vec::new(),
                    });
                }
                Err(PipelineFault { bad, fault }) => {
                    let name = nodes.get(bad).map_or("none", |node| &*node.name);
                    reasons.push(format!("{}: DataNode {name}: {fault}", located.block));
                    tracing::warn!(
                        "hdfs://{}{}: {} on DataNode {name}: {fault}",
                        file.namenode.address(),
                        file.path,
                        located.block
                    );
                    file.abandon_block(located.block)?;
                    excluded.extend(nodes.into_iter().nth(bad));
                }
            }
        }
        Err(file.no_pipeline("the next block", reasons.join("; ")))
    }

    pub(super) fn failed_nodes(&self) -> impl Iterator<Item = &DatanodeInfo> {
        self.failed.iter().map(|(node, _)| node)
    }

    /// Sends the next packet; of all but the last, the length is a multiple of the chunk. Waits while too many are not acknowledged,
    /// and after the last one until all are.
    pub(super) fn send(&mut self, data: &[u8], is_last: bool) -> Result<(), HdfsError> {
        let options = self.file.namenode.options();
        let (window, checksums) = (options.window_packets.max(1), Checksums::crc32(options.chunk_bytes));
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        encode_packet(&mut bytes, self.offset as i64, self.next_sequence, is_last, data, checksums);
        if is_last {
            encode_end(&mut bytes);
        }
        self.unacknowledged.push_back(SentPacket { sequence: self.next_sequence, bytes });
        self.next_sequence += 1;
        self.offset += data.len() as u64;
        if let Err(fault) = self.send_newest() {
            self.recover(fault)?;
        }
        let allowed = if is_last { 0 } else { window - 1 };
        while self.unacknowledged.len() > allowed {
            if let Err(fault) = self.take_ack() {
                self.recover(fault)?;
            }
        }
        if is_last {
            self.pipeline = None;
        }
        Ok(())
    }

    /// Keeps the pipeline while nothing is written. A failure shows at the next packet.
    pub(super) fn send_heartbeat(&mut self) {
        if let Some(pipeline) = &mut self.pipeline {
            let _ = pipeline.send_heartbeat();
        }
    }

    fn send_newest(&mut self) -> Result<(), PipelineFault> {
        match (&mut self.pipeline, self.unacknowledged.back()) {
            (Some(pipeline), Some(packet)) => pipeline.send(&packet.bytes),
            (Some(_), None) => Ok(()),
            (None, _) => Err(PipelineFault { bad: 0, fault: NodeFault::Connect("no pipeline".to_owned()) }),
        }
    }

    fn take_ack(&mut self) -> Result<(), PipelineFault> {
        if let (Some(pipeline), Some(packet)) = (&mut self.pipeline, self.unacknowledged.front()) {
            pipeline.wait_for_ack(packet.sequence)?;
            self.spare.extend(self.unacknowledged.pop_front().map(|packet| packet.bytes));
        }
        Ok(())
    }

    /// Has the DataNodes that are left agree on what they have, sets a pipeline of them up and sends again what was not acknowledged.
    /// Each round leaves at least one DataNode out, so this ends.
    fn recover(&mut self, mut fault: PipelineFault) -> Result<(), HdfsError> {
        loop {
            self.pipeline = None;
            self.leave_out(fault.bad, fault.fault.to_string());
            self.recover_block()?;
            match self.reopen() {
                Ok(()) => return Ok(()),
                Err(next) => fault = next,
            }
        }
    }

    fn reopen(&mut self) -> Result<(), PipelineFault> {
        let (client, options) = (&self.file.client, self.file.namenode.options());
        let mut pipeline = Pipeline::open(&self.located, &self.nodes, true, client, options)?;
        for packet in &self.unacknowledged {
            pipeline.send(&packet.bytes)?;
        }
        self.pipeline = Some(pipeline);
        Ok(())
    }

    fn leave_out(&mut self, index: usize, reason: String) {
        if index < self.nodes.len() {
            let node = self.nodes.remove(index);
            tracing::warn!(
                "hdfs://{}{}: {} on DataNode {}: {reason}; {} DataNodes are left",
                self.file.namenode.address(),
                self.file.path,
                self.located.block,
                node.name,
                self.nodes.len()
            );
            self.failed.push((node, reason));
        }
    }

    /// Has the DataNode with the least name recover the block, which gets a new generation stamp: replicas that failed are not taken for
    /// whole when they come back. One that cannot do it is left out.
    fn recover_block(&mut self) -> Result<(), HdfsError> {
        let options = self.file.namenode.options().clone();
        let mut tries = 0;
        while let Some((index, primary)) = self
            .nodes
            .iter()
            .enumerate()
            .min_by(|a, b| a.1.name.cmp(&b.1.name))
            .map(|(index, node)| (index, node.clone()))
        {
            match self.ask_recovery(&primary) {
                Ok(recovered) => {
                    // The answer holds names alone: what the NameNode gave before is kept.
                    self.nodes.retain(|node| recovered.nodes.iter().any(|other| other.name == node.name));
                    if !self.nodes.is_empty() {
                        self.nodes.sort_by_key(|node| recovered.nodes.iter().position(|other| other.name == node.name));
                        self.located.block = recovered.block;
                        self.located.token = recovered.token;
                        return Ok(());
                    }
                    self.failed.push((primary, "recovered no replica".to_owned()));
                }
                Err(error) => {
                    tries += 1;
                    // A DataNode that is gone will not come back in time.
                    if tries >= options.recovery_tries || matches!(error, HdfsError::Connect { .. }) {
                        tries = 0;
                        self.leave_out(index, format!("cannot recover the block: {error}"));
                    } else {
                        options.pauses.pause(options.recovery_pause);
                    }
                }
            }
        }
        let reasons: Vec<String> =
            self.failed.iter().map(|(node, reason)| format!("DataNode {}: {reason}", node.name)).collect();
        Err(self.file.no_pipeline(&self.located.block.to_string(), reasons.join("; ")))
    }

    fn ask_recovery(&self, primary: &DatanodeInfo) -> Result<LocatedBlock, HdfsError> {
        let options = self.file.namenode.options();
        // Two calls to each DataNode and two to the NameNode.
        let limit = options.socket_timeout * (self.nodes.len() as u32 * 2 + 2);
        let mut connection = RpcConnection::open(
            &ipc_endpoint(primary, options),
            HdfsProtocol::ClientDatanode,
            // As stock clients do: a DataNode knows no users.
            &self.located.block.to_string(),
            self.file.namenode.clock(),
            options.socket_timeout,
            limit,
        )?;
        let call = HdfsCall::RecoverBlock { block: self.located.block, keep_length: false, nodes: self.nodes.clone() };
        match connection.call(&call)? {
            HdfsAnswer::RecoveredBlock(Some(block)) => Ok(block),
            other => Err(self.file.namenode.unexpected(call.name(), &other)),
        }
    }
}

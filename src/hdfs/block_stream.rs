//! A part of a block as one DataNode sends it: only verified bytes come out.

use std::io::Write;
use std::ops::Range;

use crate::wire::hdfs::{
    Checksums, DataFrame, DataRequest, DataStatus, DatanodeInfo, LocatedBlock, ReadAnswer, ReadRequest,
    decode_read_answer, encode_checksum_ok, encode_data_request, first_bad_chunk, split_data_frame,
};

use super::datanode_socket::{DatanodeSocket, NodeFault};
use super::options::HdfsOptions;

/// A stream of one replica, from an offset to the end of the block.
#[derive(Debug)]
pub(super) struct BlockStream {
    socket: DatanodeSocket,
    checksums: Checksums,
    /// Where the next packet begins in the block, bytes.
    next_offset: u64,
    next_sequence: i64,
    empty_packets: u32,
    /// The first byte that is wanted and was not given out.
    position: u64,
    /// The end of the block, bytes.
    end: u64,
    /// Verified bytes, as a range of what is received and not used.
    ready: Range<usize>,
    /// Bytes of the packet that they stand in.
    packet_bytes: usize,
    /// Whether the stream began at the block's first byte.
    is_whole: bool,
    saw_last: bool,
}

/// Room for a stock packet with its checksums.
const BUFFER_BYTES: usize = 80 << 10;

/// Most packets without data in a row: stock DataNodes send none.
const MAX_EMPTY_PACKETS: u32 = 100;

impl BlockStream {
    /// Asks a DataNode for the bytes of a block from `position` on, which is below the block's length.
    pub(super) fn open(
        node: &DatanodeInfo,
        located: &LocatedBlock,
        position: u64,
        client: &str,
        options: &HdfsOptions,
    ) -> Result<Self, NodeFault> {
        let end = located.block.length_bytes.max(0) as u64;
        let mut socket =
            DatanodeSocket::open(node, options, options.socket_timeout, options.write_timeout, BUFFER_BYTES)?;
        let mut request = Vec::new();
        encode_data_request(
            &mut request,
            &DataRequest::Read(ReadRequest {
                block_id: located.block.id,
                generation: located.block.generation,
                offset_bytes: position as i64,
                length_bytes: end.saturating_sub(position) as i64,
                client: client.into(),
                token: located.token.clone(),
            }),
        );
        socket.stream.write_all(&request).map_err(|error| socket.fault(error))?;
        match socket.receive(decode_read_answer)? {
            ReadAnswer::Refused(status) => Err(NodeFault::Refused(status)),
            ReadAnswer::Ready { checksums, first_offset_bytes } => {
                let first = u64::try_from(first_offset_bytes).ok().filter(|first| *first <= position);
                let Some(next_offset) = first else {
                    let text = format!("its data begins at byte {first_offset_bytes}; expected at most {position}");
                    return Err(NodeFault::OutOfOrder(text));
                };
                Ok(Self {
                    socket,
                    checksums,
                    next_offset,
                    next_sequence: 0,
                    empty_packets: 0,
                    position,
                    end,
                    ready: 0..0,
                    packet_bytes: 0,
                    is_whole: position == 0,
                    saw_last: false,
                })
            }
        }
    }

    /// Verified bytes that were not given out; empty until [`Self::fill`], and at the end of the block.
    pub(super) fn ready(&self) -> &[u8] {
        self.socket.buffer.unread().get(self.ready.clone()).unwrap_or_default()
    }

    /// Where the next byte to give out stands in the block.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Gives out `count` of the verified bytes.
    pub(super) fn consume(&mut self, count: usize) {
        let count = count.min(self.ready.len());
        self.ready.start += count;
        self.position += count as u64;
    }

    /// Receives and verifies the next packets until there are bytes to give out, or the block has ended.
    pub(super) fn fill(&mut self) -> Result<(), NodeFault> {
        while self.ready.is_empty() && self.position < self.end {
            self.socket.buffer.consume(std::mem::take(&mut self.packet_bytes));
            self.ready = 0..0;
            self.receive_packet()?;
        }
        if self.position >= self.end && self.ready.is_empty() && self.is_whole {
            self.is_whole = false;
            self.acknowledge();
        }
        Ok(())
    }

    fn receive_packet(&mut self) -> Result<(), NodeFault> {
        loop {
            let received = self.socket.buffer.unread();
            let Some((frame, used)) = split_data_frame(received, self.checksums)? else {
                self.socket.fill()?;
                continue;
            };
            let DataFrame::Packet(packet) = frame else {
                let text = format!("it ends at byte {} of the block; expected {}", self.next_offset, self.end);
                return Err(NodeFault::OutOfOrder(text));
            };
            if self.saw_last || packet.sequence != self.next_sequence || packet.offset_bytes != self.next_offset as i64
            {
                let text = format!(
                    "packet {} at byte {} instead of packet {} at byte {}",
                    packet.sequence, packet.offset_bytes, self.next_sequence, self.next_offset
                );
                return Err(NodeFault::OutOfOrder(text));
            }
            let data_bytes = packet.data.len() as u64;
            let next_offset = self.next_offset + data_bytes;
            if next_offset > self.end {
                return Err(NodeFault::OutOfOrder(format!("data behind the end of the block, byte {}", self.end)));
            }
            // A short chunk can only be the block's last one: its checksum could be mistaken for that of a whole one.
            if !packet.is_last
                && next_offset < self.end
                && !data_bytes.is_multiple_of(self.checksums.chunk_bytes as u64)
            {
                return Err(NodeFault::OutOfOrder(format!("a packet of {data_bytes} bytes in the middle of a block")));
            }
            self.empty_packets = if data_bytes == 0 { self.empty_packets + 1 } else { 0 };
            if self.empty_packets > MAX_EMPTY_PACKETS {
                return Err(NodeFault::OutOfOrder(format!(
                    "more than {MAX_EMPTY_PACKETS} packets without data in a row"
                )));
            }
            if let Some(chunk) = first_bad_chunk(&packet, self.checksums) {
                let offset_bytes = self.next_offset + (chunk * self.checksums.chunk_bytes) as u64;
                return Err(NodeFault::Checksum { offset_bytes });
            }
            self.saw_last = packet.is_last;
            // What stands before the wanted byte was sent for its checksum only.
            let skipped = self.position.saturating_sub(self.next_offset).min(data_bytes) as usize;
            let data_end = used;
            self.ready = data_end - packet.data.len() + skipped..data_end;
            self.packet_bytes = used;
            self.next_offset = next_offset;
            self.next_sequence += 1;
            return Ok(());
        }
    }

    /// Acknowledges that the whole block was right. It answers nothing, and does not need it.
    fn acknowledge(&mut self) {
        let mut bytes = Vec::new();
        encode_checksum_ok(&mut bytes);
        let _ = self.socket.stream.write_all(&bytes);
    }
}

/// Whether the token of a block was refused: new locations come with a new one.
pub(super) fn is_token_refused(fault: &NodeFault) -> bool {
    matches!(fault, NodeFault::Refused(DataStatus::ErrorAccessToken))
}

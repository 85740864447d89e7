//! What a DataNode answers on its data port, with its status numbers, and what a reader acknowledges.

use crate::wire::limits::{BLOCK_LOCATIONS, DATANODE_NAME_BYTES};
use crate::wire::reader::decode_start;
use crate::wire::{Decode, Encode, Reader, Text, WireError, WireErrorKind, Writer};

use super::Checksums;

/// The answer to a [`ReadRequest`](super::ReadRequest).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAnswer {
    /// Packets follow.
    Ready {
        /// How their data is checked.
        checksums: Checksums,
        /// Where they begin in the block, bytes: at or before the offset that was wanted.
        first_offset_bytes: i64,
    },
    /// Nothing follows.
    Refused(DataStatus),
}

/// The answer to a [`WriteRequest`](super::WriteRequest).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupAnswer {
    /// Whether the pipeline stands.
    pub status: DataStatus,
    /// Name of the first DataNode that cannot be reached; empty when all can.
    pub first_bad_node: Text,
}

/// The acknowledgement of a packet by a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineAck {
    /// Number of the packet.
    pub sequence: i64,
    /// One for each DataNode, in the order of the pipeline; none for a heartbeat.
    pub statuses: Vec<DataStatus>,
}

/// Reads the answer to a read request.
///
/// # Errors
/// Malformed bytes.
pub fn decode_read_answer(bytes: &[u8]) -> Result<Option<(ReadAnswer, usize)>, WireError> {
    decode_start(bytes, |reader| match DataStatus::decode(reader)? {
        DataStatus::Success => Ok(ReadAnswer::Ready {
            checksums: Checksums::decode(reader)?,
            first_offset_bytes: reader.i64("offset of the first chunk")?,
        }),
        status => Ok(ReadAnswer::Refused(status)),
    })
}

/// Appends the answer to a read request.
pub fn encode_read_answer(out: &mut Vec<u8>, answer: &ReadAnswer) {
    let mut writer = Writer::new(out);
    match answer {
        ReadAnswer::Ready { checksums, first_offset_bytes } => {
            DataStatus::Success.encode(&mut writer);
            checksums.encode(&mut writer);
            writer.i64(*first_offset_bytes);
        }
        ReadAnswer::Refused(status) => status.encode(&mut writer),
    }
}

/// Appends the acknowledgement of a block that was read whole; a DataNode then knows it as verified.
pub fn encode_checksum_ok(out: &mut Vec<u8>) {
    DataStatus::ChecksumOk.encode(&mut Writer::new(out));
}

/// Reads the answer to a write request.
///
/// # Errors
/// Malformed bytes, or a name longer than [`DATANODE_NAME_BYTES`].
pub fn decode_setup_answer(bytes: &[u8]) -> Result<Option<(SetupAnswer, usize)>, WireError> {
    const WHAT: &str = "first bad DataNode";
    decode_start(bytes, |reader| {
        let status = DataStatus::decode(reader)?;
        // The length is looked at before its bytes have come.
        let mut ahead = reader.clone();
        let length = ahead.vint(WHAT)?;
        reader.check_limit(reader.length(length, WHAT)?, DATANODE_NAME_BYTES, WHAT)?;
        Ok(SetupAnswer { status, first_bad_node: reader.text(WHAT)? })
    })
}

/// Appends the answer to a write request.
pub fn encode_setup_answer(out: &mut Vec<u8>, answer: &SetupAnswer) {
    let mut writer = Writer::new(out);
    answer.status.encode(&mut writer);
    writer.text(&answer.first_bad_node);
}

/// Reads an acknowledgement of at most `nodes` DataNodes.
///
/// # Errors
/// Malformed bytes, or more statuses than that or [`BLOCK_LOCATIONS`], before they have come.
pub fn decode_ack(bytes: &[u8], nodes: usize) -> Result<Option<(PipelineAck, usize)>, WireError> {
    const WHAT: &str = "number of statuses";
    decode_start(bytes, |reader| {
        let sequence = reader.i64("number of a packet")?;
        let start = reader.clone();
        let count = i32::from(reader.i16(WHAT)?);
        start.check_limit(start.length(count, WHAT)?, nodes.min(BLOCK_LOCATIONS), WHAT)?;
        Ok(PipelineAck { sequence, statuses: reader.elements(count, WHAT)? })
    })
}

/// Appends an acknowledgement.
pub fn encode_ack(out: &mut Vec<u8>, ack: &PipelineAck) {
    let mut writer = Writer::new(out);
    writer.i64(ack.sequence);
    writer.i16(ack.statuses.len() as i16);
    writer.elements(&ack.statuses);
}

/// A status (1.2.1 `DataTransferProtocol.OP_STATUS_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataStatus {
    /// Done.
    Success = 0,
    /// Failed.
    Error = 1,
    /// A checksum is wrong.
    ErrorChecksum = 2,
    /// The request is wrong.
    ErrorInvalid = 3,
    /// The block is there already.
    ErrorExists = 4,
    /// The access token is refused.
    ErrorAccessToken = 5,
    /// Sent by a reader: the whole block was read and its checksums are right.
    ChecksumOk = 6,
}

impl DataStatus {
    const ALL: [Self; 7] = [
        Self::Success,
        Self::Error,
        Self::ErrorChecksum,
        Self::ErrorInvalid,
        Self::ErrorExists,
        Self::ErrorAccessToken,
        Self::ChecksumOk,
    ];
}

impl Decode for DataStatus {
    const MIN_BYTES: usize = 2;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let start = reader.clone();
        let number = reader.i16("status of a DataNode")?;
        let status = Self::ALL.into_iter().find(|status| *status as i16 == number);
        status.ok_or_else(|| start.error(WireErrorKind::UnknownNumber(i64::from(number)), "status of a DataNode"))
    }
}

impl Encode for DataStatus {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i16(*self as i16);
    }
}

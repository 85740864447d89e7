//! The first bytes on a connection to the data port of a DataNode.

use crate::wire::fields::fields;
use crate::wire::limits::{CHECKSUM_CHUNK_BYTES, DATA_PACKET_BYTES};
use crate::wire::reader::decode_start;
use crate::wire::{Decode, Encode, Reader, Text, Token, WireError, WireErrorKind, Writer};

use super::DatanodeInfo;

/// The version of the data port, of 0.20.203.0 to 1.2.1.
pub(crate) const DATA_TRANSFER_VERSION: i16 = 17;

const WRITE: i8 = 80;
const READ: i8 = 81;

/// What a client wants of a DataNode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataRequest {
    /// A part of a block.
    Read(ReadRequest),
    /// To write a block.
    Write(WriteRequest),
}

/// The request for a part of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// Id of the block.
    pub block_id: i64,
    /// Generation stamp of the block.
    pub generation: i64,
    /// Where to begin in the block, bytes.
    pub offset_bytes: i64,
    /// How much, bytes; not beyond the block.
    pub length_bytes: i64,
    /// For the DataNode's log.
    pub client: Text,
    /// As the NameNode gave it.
    pub token: Token,
}

/// The request to write a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    /// Id of the block.
    pub block_id: i64,
    /// Generation stamp of the block.
    pub generation: i64,
    /// DataNodes of the pipeline, the one that reads this too.
    pub pipeline_nodes: i32,
    /// Whether the block was recovered, and what is there is kept.
    pub is_recovery: bool,
    /// The holder of the lease; not empty.
    pub client: Text,
    /// The DataNode that copies the block; none for a client.
    pub source: Option<DatanodeInfo>,
    /// DataNodes behind the one that reads this.
    pub targets: Vec<DatanodeInfo>,
    /// As the NameNode gave it.
    pub token: Token,
    /// Checksums of the packets that follow.
    pub checksums: Checksums,
}

/// How the data of a block is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksums {
    /// Whether there are any: four bytes, the CRC-32 of each chunk.
    pub(crate) are_sent: bool,
    /// Bytes of a chunk, 1 to [`CHECKSUM_CHUNK_BYTES`].
    pub(crate) chunk_bytes: usize,
}

impl Checksums {
    /// CRC-32 of chunks of that length, 1 to [`CHECKSUM_CHUNK_BYTES`] bytes.
    pub const fn crc32(chunk_bytes: usize) -> Self {
        Self { are_sent: true, chunk_bytes }
    }

    /// Bytes of the checksums of so much data.
    pub(crate) const fn bytes_of(self, data_bytes: usize) -> usize {
        if self.are_sent { data_bytes.div_ceil(self.chunk_bytes) * 4 } else { 0 }
    }
}

impl Decode for Checksums {
    const MIN_BYTES: usize = 5;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        const WHAT: &str = "bytes of a checksum's chunk";
        const { assert!(CHECKSUM_CHUNK_BYTES <= DATA_PACKET_BYTES) };
        let start = reader.clone();
        let are_sent = match reader.i8("type of checksums")? {
            0 => false,
            1 => true,
            other => return Err(start.error(WireErrorKind::UnknownNumber(i64::from(other)), "type of checksums")),
        };
        let start = reader.clone();
        let chunk_bytes = reader.i32(WHAT)?;
        let chunk_bytes = start.length(chunk_bytes, WHAT)?;
        start.check_limit(chunk_bytes, CHECKSUM_CHUNK_BYTES, WHAT)?;
        if chunk_bytes == 0 {
            return Err(start.error(WireErrorKind::UnknownNumber(0), WHAT));
        }
        Ok(Self { are_sent, chunk_bytes })
    }
}

impl Encode for Checksums {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i8(i8::from(self.are_sent));
        writer.count(self.chunk_bytes);
    }
}

fields! {
    ReadRequest, 8 + 8 + 8 + 8 + 1 + Token::MIN_BYTES;
    block_id: i64 "id of a block",
    generation: i64 "generation stamp of a block",
    offset_bytes: i64 "offset in a block",
    length_bytes: i64 "length to read",
    client: &text "name of a client",
    token,
}

fields! {
    WriteRequest, 8 + 8 + 4 + 1 + 1 + 1 + 4 + Token::MIN_BYTES + Checksums::MIN_BYTES;
    block_id: i64 "id of a block",
    generation: i64 "generation stamp of a block",
    pipeline_nodes: i32 "length of a pipeline",
    is_recovery: bool "recovery flag",
    client: &text "name of a client",
    source: &option "source flag",
    targets: &block_nodes "number of DataNodes of a block",
    token,
    checksums,
}

/// Appends a request.
pub fn encode_data_request(out: &mut Vec<u8>, request: &DataRequest) {
    let mut writer = Writer::new(out);
    writer.i16(DATA_TRANSFER_VERSION);
    match request {
        DataRequest::Read(read) => {
            writer.i8(READ);
            read.encode(&mut writer);
        }
        DataRequest::Write(write) => {
            writer.i8(WRITE);
            write.encode(&mut writer);
        }
    }
}

/// Reads the request at the start of `bytes`, and its size; `None` while bytes are missing.
///
/// # Errors
/// Another version or operation, or malformed bytes: a DataNode closes the connection.
pub fn decode_data_request(bytes: &[u8]) -> Result<Option<(DataRequest, usize)>, WireError> {
    decode_start(bytes, decode_whole)
}

fn decode_whole(reader: &mut Reader<'_>) -> Result<DataRequest, WireError> {
    let start = reader.clone();
    let version = reader.i16("version of the data port")?;
    if version != DATA_TRANSFER_VERSION {
        let kind = WireErrorKind::BadVersion { found: version.into(), expected: DATA_TRANSFER_VERSION.into() };
        return Err(start.error(kind, "version of the data port"));
    }
    let start = reader.clone();
    match reader.i8("operation")? {
        READ => ReadRequest::decode(reader).map(DataRequest::Read),
        WRITE => WriteRequest::decode(reader).map(DataRequest::Write),
        other => Err(start.error(WireErrorKind::UnknownNumber(i64::from(other)), "operation")),
    }
}

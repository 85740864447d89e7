//! Blocks, and where they lie.

use std::fmt;

use crate::wire::limits::BLOCK_LOCATIONS;
use crate::wire::{Decode, Encode, Reader, Token, WireError, Writer};

use super::DatanodeInfo;

/// A block of a file (1.2.1 `Block`). Its name is `blk_ID_GENERATION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    /// Any number, also below zero.
    pub id: i64,
    /// Bytes; 0 for a block that is being written.
    pub length_bytes: i64,
    /// The generation stamp: a new one after each recovery.
    pub generation: i64,
}

/// A block with its replicas (1.2.1 `LocatedBlock`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedBlock {
    /// Passed on to DataNodes as it is; empty with security off.
    pub token: Token,
    /// Whether no replica is good.
    pub is_corrupt: bool,
    /// Offset of the block in its file, bytes.
    pub offset_bytes: i64,
    /// The block.
    pub block: Block,
    /// Where its replicas are, the nearest first; of a block to write: the pipeline, in order.
    pub nodes: Vec<DatanodeInfo>,
}

/// The blocks of a range of a file (1.2.1 `LocatedBlocks`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedBlocks {
    /// Bytes; of a file that is being written, those of its complete blocks.
    pub file_bytes: i64,
    /// Whether the file is being written.
    pub is_under_construction: bool,
    /// Blocks that overlap the range.
    pub blocks: Vec<LocatedBlock>,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blk_{}_{}", self.id, self.generation)
    }
}

impl Decode for Block {
    const MIN_BYTES: usize = 24;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            id: reader.i64("id of a block")?,
            length_bytes: reader.i64("length of a block")?,
            generation: reader.i64("generation stamp of a block")?,
        })
    }
}

impl Encode for Block {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i64(self.id);
        writer.i64(self.length_bytes);
        writer.i64(self.generation);
    }
}

impl Decode for LocatedBlock {
    const MIN_BYTES: usize = Token::MIN_BYTES + 1 + 8 + Block::MIN_BYTES + 4;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            token: Token::decode(reader)?,
            is_corrupt: reader.bool("corruption of a block")?,
            offset_bytes: reader.i64("offset of a block")?,
            block: Block::decode(reader)?,
            nodes: decode_nodes(reader)?,
        })
    }
}

/// DataNodes behind their number, at most [`BLOCK_LOCATIONS`].
pub(super) fn decode_nodes(reader: &mut Reader<'_>) -> Result<Vec<DatanodeInfo>, WireError> {
    const WHAT: &str = "number of DataNodes of a block";
    let start = reader.clone();
    let count = reader.i32(WHAT)?;
    start.check_limit(start.length(count, WHAT)?, BLOCK_LOCATIONS, WHAT)?;
    reader.list(count, WHAT)
}

impl Encode for LocatedBlock {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.token.encode(writer);
        writer.bool(self.is_corrupt);
        writer.i64(self.offset_bytes);
        self.block.encode(writer);
        writer.count(self.nodes.len());
        writer.list(&self.nodes);
    }
}

impl Decode for LocatedBlocks {
    const MIN_BYTES: usize = 13;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let file_bytes = reader.i64("length of a file")?;
        let is_under_construction = reader.bool("state of a file")?;
        let count = reader.i32("number of blocks")?;
        Ok(Self { file_bytes, is_under_construction, blocks: reader.list(count, "number of blocks")? })
    }
}

impl Encode for LocatedBlocks {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i64(self.file_bytes);
        writer.bool(self.is_under_construction);
        writer.count(self.blocks.len());
        writer.list(&self.blocks);
    }
}

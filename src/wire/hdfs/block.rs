//! Blocks, and where they lie.

use std::fmt;

use crate::wire::fields::fields;
use crate::wire::limits::BLOCK_LOCATIONS;
use crate::wire::{Reader, Token, WireError, Writer};

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

fields! {
    Block, 24;
    id: i64 "id of a block",
    length_bytes: i64 "length of a block",
    generation: i64 "generation stamp of a block",
}

fields! {
    LocatedBlock, Token::MIN_BYTES + 1 + 8 + Block::MIN_BYTES + 4;
    token,
    is_corrupt: bool "corruption of a block",
    offset_bytes: i64 "offset of a block",
    block,
    nodes: &block_nodes "number of DataNodes of a block",
}

impl Reader<'_> {
    /// DataNodes behind their number, at most [`BLOCK_LOCATIONS`].
    pub(super) fn block_nodes(&mut self, what: &'static str) -> Result<Vec<DatanodeInfo>, WireError> {
        let start = self.clone();
        let count = self.i32(what)?;
        start.check_limit(start.length(count, what)?, BLOCK_LOCATIONS, what)?;
        self.elements(count, what)
    }
}

impl Writer<'_> {
    pub(super) fn block_nodes(&mut self, nodes: &[DatanodeInfo]) {
        self.list(nodes);
    }
}

fields! {
    LocatedBlocks, 13;
    file_bytes: i64 "length of a file",
    is_under_construction: bool "state of a file",
    blocks: &list "number of blocks",
}

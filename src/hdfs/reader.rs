//! Reading a file: block by block, replica by replica, verified bytes only.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::wire::hdfs::{DatanodeInfo, HdfsAnswer, HdfsCall, LocatedBlock, LocatedBlocks};

use super::block_stream::{BlockStream, is_token_refused};
use super::datanode_socket::NodeFault;
use super::error::{HdfsError, ServerRole};
use super::namenode::NameNode;
use super::path::HdfsPath;

/// A file that is being read: [`Read`] and [`Seek`], one packet in memory.
///
/// A replica that cannot be connected to, ends early, is silent for `dfs.socket.timeout` or has a wrong checksum is left for the next
/// one, from the last verified byte on; one with a wrong checksum is reported to the NameNode. When all were tried, the reader pauses,
/// asks for the locations again and tries all again, `dfs.client.max.block.acquire.failures` times without a byte in between. A file that
/// was replaced meanwhile has other blocks, which are never read as if they were of the first (1.2.1 `DFSClient.openInfo`). The error
/// is an [`HdfsError`] inside the [`io::Error`]; a later read tries again.
#[derive(Debug)]
pub struct HdfsReader {
    namenode: Arc<NameNode>,
    user: String,
    client: String,
    path: HdfsPath,
    length_bytes: u64,
    /// Blocks by their offsets in the file.
    blocks: BTreeMap<u64, LocatedBlock>,
    /// The ids of all blocks that were ever listed, by their offsets: those of another file are other ones.
    ids: BTreeMap<u64, i64>,
    /// DataNodes that failed since all were tried again, and how.
    dead: BTreeMap<String, String>,
    rounds: u32,
    position: u64,
    open: Option<OpenBlock>,
}

#[derive(Debug)]
struct OpenBlock {
    stream: BlockStream,
    offset: u64,
    block: LocatedBlock,
    node: DatanodeInfo,
}

impl HdfsReader {
    /// Asks for the first blocks.
    pub(super) fn open(
        namenode: Arc<NameNode>,
        user: String,
        client: String,
        path: HdfsPath,
    ) -> Result<Self, HdfsError> {
        let mut reader = Self {
            namenode,
            user,
            client,
            path,
            length_bytes: 0,
            blocks: BTreeMap::new(),
            ids: BTreeMap::new(),
            dead: BTreeMap::new(),
            rounds: 0,
            position: 0,
            open: None,
        };
        match reader.ask_locations(0)? {
            Some(located) => {
                reader.length_bytes = u64::try_from(located.file_bytes).unwrap_or_default();
                reader.add_blocks(located)?;
                Ok(reader)
            }
            None => Err(reader.missing()?),
        }
    }

    /// Length of the file when it was opened, bytes. Of a file that is being written: its complete blocks.
    pub(crate) fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// Reads at an offset, at most to the end of a packet: [`Seek`] and [`Read`] in one.
    #[cfg(test)]
    pub(crate) fn read_at(&mut self, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.position = offset_bytes;
        self.read(buffer)
    }

    /// Fills the buffer, unless the block at the position or the file ends before (1.2.1 `DFSInputStream.read`).
    /// Errors: as [`Read::read`], when nothing is read.
    pub(crate) fn read_in_block(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = 0;
        while count < buffer.len() {
            match self.read(&mut buffer[count..]) {
                Ok(read) => count += read,
                // The next read finds it again.
                Err(_) if count > 0 => break,
                Err(error) => return Err(error),
            }
            if self.open.as_ref().is_none_or(OpenBlock::is_at_end) {
                break;
            }
        }
        Ok(count)
    }

    fn missing(&self) -> Result<HdfsError, HdfsError> {
        let (address, path) = (self.namenode.address().to_owned(), self.path.to_string());
        let call = HdfsCall::GetFileInfo { path: path.clone() };
        Ok(match self.namenode.ask(&self.user, &call)? {
            HdfsAnswer::FileStatus(Some(status)) if status.is_directory => HdfsError::IsDirectory { address, path },
            _ => HdfsError::NotFound { address, path },
        })
    }

    fn ask_locations(&self, offset: u64) -> Result<Option<LocatedBlocks>, HdfsError> {
        let prefetch = i64::try_from(self.namenode.options().prefetch()).unwrap_or(i64::MAX);
        let offset_bytes = i64::try_from(offset).unwrap_or(i64::MAX);
        let length_bytes = prefetch.min(i64::MAX - offset_bytes);
        let call = HdfsCall::GetBlockLocations { path: self.path.to_string(), offset_bytes, length_bytes };
        match self.namenode.ask(&self.user, &call)? {
            HdfsAnswer::Blocks(blocks) => Ok(blocks),
            other => Err(self.namenode.unexpected(call.name(), &other)),
        }
    }

    fn add_blocks(&mut self, located: LocatedBlocks) -> Result<(), HdfsError> {
        for block in located.blocks {
            let length = u64::try_from(block.block.length_bytes);
            let (Ok(offset), Ok(length)) = (u64::try_from(block.offset_bytes), length) else {
                return Err(self.bad_locations(format!("{} has a number below zero", block.block)));
            };
            // Blocks that hold nothing are being written.
            if length > 0 {
                if *self.ids.entry(offset).or_insert(block.block.id) != block.block.id {
                    return Err(self.replaced());
                }
                self.blocks.insert(offset, block);
            }
        }
        Ok(())
    }

    fn replaced(&self) -> HdfsError {
        let (address, path) = (self.namenode.address().to_owned(), self.path.to_string());
        HdfsError::Replaced { address, path, offset_bytes: self.position }
    }

    fn bad_locations(&self, reason: String) -> HdfsError {
        HdfsError::BadAnswer {
            address: self.namenode.address().to_owned(),
            role: ServerRole::NameNode,
            call: "getBlockLocations",
            reason: format!("{}: {reason}", self.path),
        }
    }

    /// The block with the byte at an offset of the file, and where the block begins.
    fn known_block(&self, position: u64) -> Option<(u64, &LocatedBlock)> {
        let (offset, block) = self.blocks.range(..=position).next_back()?;
        let end = offset.checked_add(block.block.length_bytes as u64)?;
        (position < end).then_some((*offset, block))
    }

    fn block_at(&mut self, position: u64) -> Result<(u64, LocatedBlock), HdfsError> {
        if self.known_block(position).is_none() {
            let located = self.ask_locations(position)?;
            let Some(located) = located else { return Err(self.missing()?) };
            // A closed file keeps its length; one that is being written only grows.
            if u64::try_from(located.file_bytes).is_ok_and(|bytes| bytes < self.length_bytes) {
                return Err(self.replaced());
            }
            self.add_blocks(located)?;
        }
        match self.known_block(position) {
            Some((offset, block)) => Ok((offset, block.clone())),
            None => Err(self.bad_locations(format!("no block has byte {position}"))),
        }
    }

    /// Opens the next replica of the block with the byte at the position.
    fn open_replica(&mut self) -> Result<(), HdfsError> {
        let mut has_new_token = false;
        loop {
            let (offset, block) = self.block_at(self.position)?;
            let Some(node) = block.nodes.iter().find(|node| !self.dead.contains_key(&node.name)).cloned() else {
                self.next_round(&block)?;
                continue;
            };
            let options = self.namenode.options();
            match BlockStream::open(&node, &block, self.position - offset, &self.client, options) {
                Ok(stream) => {
                    self.open = Some(OpenBlock { stream, offset, block, node });
                    return Ok(());
                }
                Err(fault) if is_token_refused(&fault) && !has_new_token => {
                    has_new_token = true;
                    self.blocks.remove(&offset);
                }
                Err(fault) => self.leave(&node, &block, &fault),
            }
        }
    }

    /// All replicas of a block failed: pauses and begins again, unless it was tried often enough.
    fn next_round(&mut self, block: &LocatedBlock) -> Result<(), HdfsError> {
        let options = self.namenode.options();
        if self.rounds >= options.read_rounds {
            self.rounds = 0;
            let failed = std::mem::take(&mut self.dead);
            let of_block = block
                .nodes
                .iter()
                .filter_map(|node| failed.get(&node.name).map(|reason| format!("DataNode {}: {reason}", node.name)));
            let reasons: Vec<String> = of_block.collect();
            return Err(HdfsError::NoReplica {
                address: self.namenode.address().to_owned(),
                path: self.path.to_string(),
                block: block.block.to_string(),
                offset_bytes: self.position,
                reason: if reasons.is_empty() { "the NameNode knows none".to_owned() } else { reasons.join("; ") },
            });
        }
        self.rounds += 1;
        options.pauses.pause(options.read_pause);
        self.dead.clear();
        // The NameNode may know other replicas by now.
        self.blocks.clear();
        Ok(())
    }

    fn leave(&mut self, node: &DatanodeInfo, block: &LocatedBlock, fault: &NodeFault) {
        tracing::warn!(
            "hdfs://{}{}: left {} on DataNode {} at byte {}: {fault}",
            self.namenode.address(),
            self.path,
            block.block,
            node.name,
            self.position
        );
        self.dead.insert(node.name.clone(), fault.to_string());
        if matches!(fault, NodeFault::Checksum { .. }) {
            let bad = LocatedBlock { nodes: vec![node.clone()], offset_bytes: -1, ..block.clone() };
            if let Err(error) = self.namenode.ask(&self.user, &HdfsCall::ReportBadBlocks { blocks: vec![bad] }) {
                tracing::warn!("{} on DataNode {} cannot be reported: {error}", block.block, node.name);
            }
        }
    }

    /// Has verified bytes at the position; the length of what is there. `None` at the end of the file.
    fn fill(&mut self) -> Result<Option<usize>, HdfsError> {
        loop {
            if self.position >= self.length_bytes {
                self.open = None;
                return Ok(None);
            }
            let position = self.position;
            if !self.open.as_mut().is_some_and(|open| open.is_usable_at(position)) {
                self.open_replica()?;
            }
            let Some(open) = &mut self.open else { continue };
            match open.stream.fill() {
                Ok(()) if open.stream.ready().is_empty() => self.open = None,
                Ok(()) => {
                    self.rounds = 0;
                    return Ok(Some(open.stream.ready().len()));
                }
                Err(fault) => {
                    if let Some(OpenBlock { block, node, .. }) = self.open.take() {
                        self.leave(&node, &block, &fault);
                    }
                }
            }
        }
    }
}

impl OpenBlock {
    /// Whether the stream has the byte at that offset of the file next; a seek within the packet in memory is made here.
    fn is_usable_at(&mut self, position: u64) -> bool {
        let at = self.offset + self.stream.position();
        if position > at && position - at < self.stream.ready().len() as u64 {
            self.stream.consume((position - at) as usize);
        }
        !self.is_at_end() && self.offset + self.stream.position() == position
    }

    fn is_at_end(&self) -> bool {
        self.stream.position() >= self.block.block.length_bytes as u64
    }
}

impl Read for HdfsReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let Some(ready) = self.fill()? else { return Ok(0) };
        let Some(open) = &mut self.open else { return Ok(0) };
        let count = ready.min(buffer.len());
        buffer[..count].copy_from_slice(&open.stream.ready()[..count]);
        open.stream.consume(count);
        self.position += count as u64;
        if open.is_at_end() {
            // Acknowledges a whole block; nothing is received.
            let _ = open.stream.fill();
        }
        Ok(count)
    }
}

impl Seek for HdfsReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.length_bytes.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let before_start = || io::Error::new(io::ErrorKind::InvalidInput, "a seek to before the start of a file");
        self.position = target.ok_or_else(before_start)?;
        Ok(self.position)
    }
}

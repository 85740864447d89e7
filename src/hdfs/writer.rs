//! Writing a file: packets into blocks, blocks into the file, and what becomes of a file that is not finished.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::wire::hdfs::DatanodeInfo;

use super::block_writer::BlockWriter;
use super::error::HdfsError;
use super::file_being_written::FileBeingWritten;
use super::lease_renewal::{CurrentBlock, LeaseRenewal, LeasedFile};
use super::options::CreateOptions;
#[cfg(test)]
use super::path::HdfsPath;

/// A file that is being written. It is whole only once [`Self::finish`] has returned `Ok`.
///
/// In memory are one packet and at most [`window_packets`](super::HdfsOptions::window_packets) that are not acknowledged. When a
/// DataNode of the pipeline fails, the others recover the block and get again what was not acknowledged; nothing is lost while one is
/// left. After an error every further write fails with it.
///
/// Dropped without [`Self::finish`], or after an error: the file is deleted, if this client still holds its lease. If the NameNode
/// cannot be reached then, the file stays open and readers see it without its last block; the NameNode closes it when the lease has
/// expired (an hour, or 60 s when another client wants to create it).
#[derive(Debug)]
pub struct HdfsWriter {
    file: FileBeingWritten,
    current: Arc<CurrentBlock>,
    packet: Vec<u8>,
    packet_bytes: usize,
    block_bytes: u64,
    /// Bytes of the current block, those in the packet too.
    in_block: u64,
    written: u64,
    blocks: usize,
    excluded: Vec<DatanodeInfo>,
    state: WriterState,
    lease: Option<LeasedFile>,
}

#[derive(Debug)]
enum WriterState {
    Open,
    Failed(String),
    Finished,
}

impl HdfsWriter {
    pub(super) fn create(
        file: FileBeingWritten,
        renewal: &Arc<LeaseRenewal>,
        wanted: CreateOptions,
    ) -> Result<Self, HdfsError> {
        let options = file.namenode.options();
        let block_bytes = wanted.block_bytes.unwrap_or(options.block_bytes);
        let replication = wanted.replication.unwrap_or(options.replication);
        let setting = |reason: String| HdfsError::Setting {
            address: file.namenode.address().to_owned(),
            path: file.path.to_string(),
            reason,
        };
        if block_bytes == 0 || !block_bytes.is_multiple_of(options.chunk_bytes as u64) || block_bytes > i64::MAX as u64
        {
            let text = format!("a block size of {block_bytes}; expected a multiple of {}", options.chunk_bytes);
            return Err(setting(text));
        }
        let replicas = i16::try_from(replication).ok().filter(|replicas| *replicas > 0);
        let replicas = replicas.ok_or_else(|| setting(format!("{replication} replicas; expected 1 to 512")))?;
        let packet_bytes = options.packet_data_bytes();
        file.create(wanted, replicas, block_bytes as i64)?;
        let current = Arc::new(Mutex::new(None));
        let lease = Some(renewal.register(&file.user, &current));
        Ok(Self {
            file,
            current,
            packet: Vec::new(),
            packet_bytes,
            block_bytes,
            in_block: 0,
            written: 0,
            blocks: 0,
            excluded: Vec::new(),
            state: WriterState::Open,
            lease,
        })
    }

    #[cfg(test)]
    pub(crate) fn path(&self) -> &HdfsPath {
        &self.file.path
    }

    #[cfg(test)]
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written
    }

    /// Sends what is left, waits until every DataNode of the pipeline has it, and closes the file; its length in bytes.
    ///
    /// # Errors
    /// [`HdfsError`]; the file is then removed, as when the writer is dropped.
    pub fn finish(mut self) -> Result<u64, HdfsError> {
        self.check_open()?;
        let result = self.finish_block().and_then(|()| self.file.complete(self.written));
        self.remember(result)?;
        self.state = WriterState::Finished;
        Ok(self.written)
    }

    /// Gives the file up and removes it. Errors: [`HdfsError`] when the NameNode does not remove it; see the type for what becomes of it.
    #[cfg(test)]
    pub(crate) fn abandon(mut self) -> Result<(), HdfsError> {
        self.state = WriterState::Finished;
        self.remove()
    }

    fn check_open(&self) -> Result<(), HdfsError> {
        let reason = match &self.state {
            WriterState::Open => return Ok(()),
            WriterState::Failed(reason) => reason.clone(),
            WriterState::Finished => "the file is closed".to_owned(),
        };
        let address = self.file.namenode.address().to_owned();
        Err(HdfsError::Failed { address, path: self.file.path.to_string(), reason })
    }

    fn remember<T>(&mut self, result: Result<T, HdfsError>) -> Result<T, HdfsError> {
        if let Err(error) = &result {
            self.state = WriterState::Failed(error.to_string());
        }
        result
    }

    /// Takes in what fits into the packet; a full packet is sent, as the block's last one where the block is full.
    fn take_in(&mut self, data: &[u8]) -> Result<usize, HdfsError> {
        let left_in_block = self.block_bytes - self.in_block;
        let room = (self.packet_bytes - self.packet.len()).min(usize::try_from(left_in_block).unwrap_or(usize::MAX));
        let count = room.min(data.len());
        self.packet.extend_from_slice(&data[..count]);
        self.in_block += count as u64;
        if self.in_block == self.block_bytes {
            self.finish_block()?;
        } else if self.packet.len() == self.packet_bytes {
            self.send_packet(false)?;
        }
        self.written += count as u64;
        Ok(count)
    }

    fn finish_block(&mut self) -> Result<(), HdfsError> {
        if self.in_block > 0 {
            self.send_packet(true)?;
            self.blocks += 1;
            self.in_block = 0;
        }
        Ok(())
    }

    fn send_packet(&mut self, is_last: bool) -> Result<(), HdfsError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let mut block = match current.take() {
            Some(block) => block,
            None => BlockWriter::begin(&self.file, &mut self.excluded, self.blocks)?,
        };
        block.send(&self.packet, is_last)?;
        self.packet.clear();
        if is_last {
            self.excluded.extend(block.failed_nodes().cloned());
        } else {
            *current = Some(block);
        }
        Ok(())
    }

    fn remove(&mut self) -> Result<(), HdfsError> {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let result = self.file.remove();
        drop(self.lease.take());
        result
    }
}

impl Write for HdfsWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.check_open()?;
        if data.is_empty() {
            return Ok(0);
        }
        let result = self.take_in(data);
        Ok(self.remember(result)?)
    }

    /// Does nothing: a 1.2.1 reader sees a block once it is whole.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for HdfsWriter {
    fn drop(&mut self) {
        if !matches!(self.state, WriterState::Finished)
            && let Err(error) = self.remove()
        {
            let (address, path) = (self.file.namenode.address(), &self.file.path);
            tracing::warn!("hdfs://{address}{path}: not finished, and not removed: {error}");
        }
    }
}

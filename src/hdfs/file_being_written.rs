//! The NameNode's side of a file that is being written: its blocks, its lease, its end.

use std::sync::Arc;

use crate::wire::hdfs::{Block, DatanodeInfo, FsPermission, HdfsAnswer, HdfsCall, LocatedBlock, LocatedBlocks};

use super::error::{ExceptionKind, HdfsError};
use super::namenode::{CallEffect, NameNode};
use super::options::CreateOptions;
use super::path::HdfsPath;

/// A file that this process has begun and not closed.
#[derive(Clone, Debug)]
pub(super) struct FileBeingWritten {
    pub(super) namenode: Arc<NameNode>,
    pub(super) user: String,
    pub(super) client: String,
    pub(super) path: HdfsPath,
}

impl FileBeingWritten {
    /// Begins the file. When the answer is lost, the file is ours if we hold its lease.
    pub(super) fn create(&self, wanted: CreateOptions, replication: i16, block_bytes: i64) -> Result<(), HdfsError> {
        let CreateOptions { mode, overwrite, create_parent, .. } = wanted;
        let (path, permission, client) = (self.path.to_string(), FsPermission(mode), self.client.clone());
        // The form with seven parameters is younger than 0.20.203.0.
        let call = if create_parent {
            HdfsCall::Create { path, permission, client, overwrite, replication, block_bytes }
        } else {
            HdfsCall::CreateBelow { path, permission, client, overwrite, create_parent, replication, block_bytes }
        };
        let look = || Ok(if self.is_ours()? { CallEffect::Done(HdfsAnswer::Void) } else { CallEffect::None });
        self.namenode.change(&self.user, &call, look).map(|_| ())
    }

    fn is_ours(&self) -> Result<bool, HdfsError> {
        let call = HdfsCall::Fsync { path: self.path.to_string(), client: self.client.clone() };
        match self.namenode.ask(&self.user, &call) {
            Ok(_) => Ok(true),
            Err(error) => match error.exception_kind() {
                Some(ExceptionKind::LeaseExpired | ExceptionKind::FileNotFound) => Ok(false),
                _ => Err(error),
            },
        }
    }

    /// The next block, on none of the `excluded` DataNodes; `known` blocks of the file are written.
    pub(super) fn add_block(&self, excluded: &[DatanodeInfo], known: usize) -> Result<LocatedBlock, HdfsError> {
        let options = self.namenode.options();
        let call = HdfsCall::AddBlock {
            path: self.path.to_string(),
            client: self.client.clone(),
            excluded: (!excluded.is_empty()).then(|| excluded.to_vec()),
        };
        let mut pause = options.next_block_pause;
        for _ in 0..options.next_block_retries {
            match self.namenode.change(&self.user, &call, || self.take_lost_block_back(known)) {
                Err(error) if error.exception_kind() == Some(ExceptionKind::NotReplicatedYet) => {
                    options.pauses.pause(pause);
                    pause *= 2;
                }
                result => return self.block_of(&call, result?),
            }
        }
        self.block_of(&call, self.namenode.change(&self.user, &call, || self.take_lost_block_back(known))?)
    }

    fn block_of(&self, call: &HdfsCall, answer: HdfsAnswer) -> Result<LocatedBlock, HdfsError> {
        match answer {
            HdfsAnswer::Block(Some(block)) => Ok(block),
            other => Err(self.namenode.unexpected(call.name(), &other)),
        }
    }

    /// After a lost answer to addBlock: a block beyond the `known` ones is one that was granted and will not be written.
    fn take_lost_block_back(&self, known: usize) -> Result<CallEffect<HdfsAnswer>, HdfsError> {
        if let Some(located) = self.locations()?
            && located.blocks.len() > known
            && let Some(last) = located.blocks.last()
        {
            self.abandon_block(last.block)?;
        }
        Ok(CallEffect::None)
    }

    /// Takes the last block back. When the answer is lost, it is looked whether it is still the last: a second call would fail.
    pub(super) fn abandon_block(&self, block: Block) -> Result<(), HdfsError> {
        let call = HdfsCall::AbandonBlock { block, path: self.path.to_string(), client: self.client.clone() };
        let look = || {
            let located = self.locations()?;
            let last = located.and_then(|located| located.blocks.last().map(|last| last.block.id));
            Ok(if last == Some(block.id) { CallEffect::None } else { CallEffect::Done(HdfsAnswer::Void) })
        };
        self.namenode.change(&self.user, &call, look).map(|_| ())
    }

    fn locations(&self) -> Result<Option<LocatedBlocks>, HdfsError> {
        let call = HdfsCall::GetBlockLocations { path: self.path.to_string(), offset_bytes: 0, length_bytes: i64::MAX };
        match self.namenode.ask(&self.user, &call)? {
            HdfsAnswer::Blocks(blocks) => Ok(blocks),
            other => Err(self.namenode.unexpected(call.name(), &other)),
        }
    }

    /// Closes the file of `length_bytes`: asks until a replica of each block is reported. When an answer is lost, a file that is
    /// closed with that length is ours.
    pub(super) fn complete(&self, length_bytes: u64) -> Result<(), HdfsError> {
        let options = self.namenode.options();
        let call = HdfsCall::Complete { path: self.path.to_string(), client: self.client.clone() };
        let look = || {
            let is_closed = self.locations()?.is_some_and(|located| {
                !located.is_under_construction && u64::try_from(located.file_bytes) == Ok(length_bytes)
            });
            Ok(if is_closed { CallEffect::Done(HdfsAnswer::Boolean(true)) } else { CallEffect::None })
        };
        for number in 0..options.complete_tries.max(1) {
            if number > 0 {
                options.pauses.pause(options.complete_pause);
            }
            match self.namenode.change(&self.user, &call, look)? {
                HdfsAnswer::Boolean(true) => return Ok(()),
                HdfsAnswer::Boolean(false) => {}
                other => return Err(self.namenode.unexpected(call.name(), &other)),
            }
        }
        let (address, path) = (self.namenode.address().to_owned(), self.path.to_string());
        Err(HdfsError::NotClosed { address, path, tries: options.complete_tries })
    }

    /// Removes the file if we still hold its lease, so that nothing that others made since is removed.
    pub(super) fn remove(&self) -> Result<(), HdfsError> {
        let path = self.path.to_string();
        let held = HdfsCall::Fsync { path: path.clone(), client: self.client.clone() };
        match self.namenode.call_once(&self.user, &held) {
            Ok(_) => {}
            Err(error) if error.exception_kind() == Some(ExceptionKind::LeaseExpired) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.namenode.call_once(&self.user, &HdfsCall::Delete { path, is_recursive: false }).map(|_| ())
    }

    pub(super) fn no_pipeline(&self, block: &str, reason: String) -> HdfsError {
        HdfsError::NoPipeline {
            address: self.namenode.address().to_owned(),
            path: self.path.to_string(),
            block: block.to_owned(),
            reason,
        }
    }
}

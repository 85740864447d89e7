//! A client of one HDFS for one user.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::wire::hdfs::{
    ByteArray, ContentSummary, DatanodeInfo, DirectoryListing, FileStatus, FsPermission, HdfsAnswer, HdfsCall,
    NameNodeSafeModeAction,
};

use super::endpoint::Endpoint;
use super::error::HdfsError;
use super::file_being_written::FileBeingWritten;
use super::lease_renewal::LeaseRenewal;
use super::list_bound::ListBound;
use super::namenode::{CallEffect, NameNode};
use super::options::{CreateOptions, HdfsOptions};
use super::path::HdfsPath;
use super::reader::HdfsReader;
use super::status::{BlockLocation, HdfsStatus, ReplicaPlace};
use super::writer::HdfsWriter;

/// A client of one HDFS for one user. Clones and [`Self::as_user`] share connections, settings and the lease; all are for threads that
/// may wait.
#[derive(Clone, Debug)]
pub struct HdfsClient {
    shared: Arc<SharedClient>,
    user: String,
}

#[derive(Debug)]
struct SharedClient {
    namenode: Arc<NameNode>,
    renewal: Arc<LeaseRenewal>,
    /// The holder of leases and the reader in the logs of DataNodes.
    client: String,
}

/// Clients that were made by this process.
static CLIENTS: AtomicU32 = AtomicU32::new(0);

impl HdfsClient {
    /// A client of the NameNode at an address; nothing is connected yet.
    pub fn new(namenode: Endpoint, user: &str, options: HdfsOptions) -> Self {
        let namenode = Arc::new(NameNode::new(namenode, Arc::new(options)));
        let mut random = [0; 8];
        // Without randomness the number of the process distinguishes clients of one machine.
        let _ = getrandom::fill(&mut random);
        let number = CLIENTS.fetch_add(1, Ordering::Relaxed);
        let client = format!(
            "DFSClient_NONMAPREDUCE_{}_{}_{number}",
            i64::from_be_bytes(random).unsigned_abs(),
            std::process::id()
        );
        let renewal = Arc::new(LeaseRenewal::new(Arc::clone(&namenode), client.clone()));
        Self { shared: Arc::new(SharedClient { namenode, renewal, client }), user: user.to_owned() }
    }

    pub(crate) fn as_user(&self, user: &str) -> Self {
        Self { shared: Arc::clone(&self.shared), user: user.to_owned() }
    }

    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    pub fn options(&self) -> &HdfsOptions {
        self.namenode().options()
    }

    fn namenode(&self) -> &NameNode {
        &self.shared.namenode
    }

    fn ask(&self, call: &HdfsCall) -> Result<HdfsAnswer, HdfsError> {
        self.namenode().ask(&self.user, call)
    }

    fn ask_boolean(&self, call: &HdfsCall) -> Result<bool, HdfsError> {
        let answer = self.ask(call)?;
        self.boolean(call, &answer)
    }

    fn boolean(&self, call: &HdfsCall, answer: &HdfsAnswer) -> Result<bool, HdfsError> {
        match answer {
            HdfsAnswer::Boolean(is) => Ok(*is),
            other => Err(self.namenode().unexpected(call.name(), other)),
        }
    }

    /// A file or directory; `None`: there is none.
    ///
    /// # Errors
    /// [`HdfsError`], as of all methods.
    pub fn status(&self, path: &HdfsPath) -> Result<Option<HdfsStatus>, HdfsError> {
        Ok(self.file_status(path)?.map(|status| HdfsStatus::of(path.name(), status)))
    }

    fn file_status(&self, path: &HdfsPath) -> Result<Option<FileStatus>, HdfsError> {
        let call = HdfsCall::GetFileInfo { path: path.to_string() };
        match self.ask(&call)? {
            HdfsAnswer::FileStatus(status) => Ok(status),
            other => Err(self.namenode().unexpected(call.name(), &other)),
        }
    }

    /// What a directory holds, in byte order of the names; of a file: itself. `None`: there is no such path.
    pub fn list(&self, path: &HdfsPath, bound: ListBound) -> Result<Option<Vec<HdfsStatus>>, HdfsError> {
        let mut entries: Vec<HdfsStatus> = Vec::new();
        let mut start_after = Vec::new();
        let mut count = bound.begin();
        let too_much = |beyond| HdfsError::TooMuchListed {
            address: self.namenode().address().to_owned(),
            path: path.to_string(),
            beyond,
        };
        loop {
            count.add_page().map_err(too_much)?;
            let Some(page) = self.page(path, std::mem::take(&mut start_after))? else {
                // A directory that is removed between two pages is no directory either.
                return Ok(None);
            };
            let is_end = page.remaining <= 0 || page.entries.is_empty();
            if let Some(last) = page.entries.last() {
                start_after.clone_from(&last.name);
            }
            for status in page.entries {
                count.add_entry(status.name.len()).map_err(too_much)?;
                entries.push(HdfsStatus::of(path.name(), status));
            }
            if is_end {
                return Ok(Some(entries));
            }
        }
    }

    pub(crate) fn is_empty(&self, path: &HdfsPath) -> Result<bool, HdfsError> {
        Ok(self.page(path, Vec::new())?.is_some_and(|page| page.entries.is_empty()))
    }

    fn page(&self, path: &HdfsPath, start_after: Vec<u8>) -> Result<Option<DirectoryListing>, HdfsError> {
        let call = HdfsCall::GetListing { path: path.to_string(), start_after: ByteArray(start_after.clone()) };
        match self.ask(&call)? {
            HdfsAnswer::Listing(Some(page)) => {
                // Pages that do not advance would never end.
                if page.entries.first().is_some_and(|first| !start_after.is_empty() && first.name <= start_after) {
                    return Err(self.namenode().unexpected(call.name(), &HdfsAnswer::Listing(Some(page))));
                }
                Ok(Some(page))
            }
            HdfsAnswer::Listing(None) => Ok(None),
            other => Err(self.namenode().unexpected(call.name(), &other)),
        }
    }

    /// The blocks of a range of a file, for splits. `None`: there is no such file. Nothing for a range behind its end.
    pub fn block_places(
        &self,
        path: &HdfsPath,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Option<Vec<BlockLocation>>, HdfsError> {
        let offset = i64::try_from(offset_bytes).unwrap_or(i64::MAX);
        let length = i64::try_from(length_bytes).unwrap_or(i64::MAX).min(i64::MAX - offset);
        let call = HdfsCall::GetBlockLocations { path: path.to_string(), offset_bytes: offset, length_bytes: length };
        let located = match self.ask(&call)? {
            HdfsAnswer::Blocks(Some(located)) => located,
            // Null is also for a range behind the end.
            HdfsAnswer::Blocks(None) => {
                let status = self.file_status(path)?;
                return Ok(status.filter(|status| !status.is_directory).map(|_| Vec::new()));
            }
            other => return Err(self.namenode().unexpected(call.name(), &other)),
        };
        let places = located.blocks.into_iter().map(|block| BlockLocation {
            offset_bytes: u64::try_from(block.offset_bytes).unwrap_or_default(),
            length_bytes: u64::try_from(block.block.length_bytes).unwrap_or_default(),
            replicas: block.nodes.iter().map(replica_place).collect(),
            is_corrupt: block.is_corrupt,
        });
        Ok(Some(places.collect()))
    }

    /// Sums over a file or a tree.
    ///
    /// # Errors
    /// [`HdfsError`]; a missing path is a `FileNotFoundException`.
    pub fn content_summary(&self, path: &HdfsPath) -> Result<ContentSummary, HdfsError> {
        let call = HdfsCall::GetContentSummary { path: path.to_string() };
        match self.ask(&call)? {
            HdfsAnswer::ContentSummary(summary) => Ok(summary),
            other => Err(self.namenode().unexpected(call.name(), &other)),
        }
    }

    /// Whether the NameNode is in safe mode; every user may ask.
    pub fn is_in_safe_mode(&self) -> Result<bool, HdfsError> {
        self.ask_boolean(&HdfsCall::SetSafeMode { action: NameNodeSafeModeAction::Get })
    }

    /// Makes a directory and those above it; true also when it was there, and then its mode stays. Missing ones above it inherit the
    /// mode of what is there.
    pub fn make_dirs(&self, path: &HdfsPath, mode: u16) -> Result<bool, HdfsError> {
        self.ask_boolean(&HdfsCall::Mkdirs { path: path.to_string(), permission: FsPermission(mode) })
    }

    /// Deletes a file or directory; false when there was none. When the answer is lost, a path that is gone counts as deleted.
    ///
    /// # Errors
    /// [`HdfsError`]; a directory that holds something, unless `is_recursive`.
    pub fn delete(&self, path: &HdfsPath, is_recursive: bool) -> Result<bool, HdfsError> {
        let call = HdfsCall::Delete { path: path.to_string(), is_recursive };
        let look = || {
            Ok(match self.file_status(path)? {
                Some(_) => CallEffect::None,
                None => CallEffect::Done(HdfsAnswer::Boolean(true)),
            })
        };
        let answer = self.namenode().change(&self.user, &call, look)?;
        self.boolean(&call, &answer)
    }

    /// Renames a file or directory, into `to` where that is a directory. False when there is no source or no parent of the target, a file
    /// stands at the target, or the target lies below the source. When the answer is lost, a source that is gone while the target is there
    /// counts as renamed.
    pub fn rename(&self, from: &HdfsPath, to: &HdfsPath) -> Result<bool, HdfsError> {
        let call = HdfsCall::Rename { from: from.to_string(), to: to.to_string() };
        let look = || {
            if self.file_status(from)?.is_some() {
                return Ok(CallEffect::None);
            }
            Ok(CallEffect::Done(HdfsAnswer::Boolean(self.file_status(to)?.is_some())))
        };
        let answer = self.namenode().change(&self.user, &call, look)?;
        self.boolean(&call, &answer)
    }

    /// Sets permission bits.
    ///
    /// # Errors
    /// [`HdfsError`]; of a missing path: denied to all but the superuser.
    pub fn set_permission(&self, path: &HdfsPath, mode: u16) -> Result<(), HdfsError> {
        self.ask(&HdfsCall::SetPermission { path: path.to_string(), permission: FsPermission(mode) }).map(|_| ())
    }

    /// Sets owner and group; `None`: as it is. A plain user may only give one of the own groups.
    pub fn set_owner(&self, path: &HdfsPath, owner: Option<&str>, group: Option<&str>) -> Result<(), HdfsError> {
        let (owner, group) = (owner.map(str::to_owned), group.map(str::to_owned));
        self.ask(&HdfsCall::SetOwner { path: path.to_string(), owner, group }).map(|_| ())
    }

    /// Sets how many replicas are wanted, 1 to 512; false when there is no such file.
    #[cfg(test)]
    pub(crate) fn set_replication(&self, path: &HdfsPath, replication: u16) -> Result<bool, HdfsError> {
        let replication = i16::try_from(replication).unwrap_or(i16::MAX);
        self.ask_boolean(&HdfsCall::SetReplication { path: path.to_string(), replication })
    }

    /// Sets times of a file, epoch ms; `None`: as it is.
    #[cfg(test)]
    pub(crate) fn set_times(
        &self,
        path: &HdfsPath,
        modified_ms: Option<i64>,
        accessed_ms: Option<i64>,
    ) -> Result<(), HdfsError> {
        let (modified_ms, accessed_ms) = (modified_ms.unwrap_or(-1), accessed_ms.unwrap_or(-1));
        self.ask(&HdfsCall::SetTimes { path: path.to_string(), modified_ms, accessed_ms }).map(|_| ())
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// [`HdfsError`]: [`NotFound`](HdfsError::NotFound), [`IsDirectory`](HdfsError::IsDirectory), or what the NameNode says.
    pub fn open(&self, path: &HdfsPath) -> Result<HdfsReader, HdfsError> {
        let namenode = Arc::clone(&self.shared.namenode);
        HdfsReader::open(namenode, self.user.clone(), self.shared.client.clone(), path.clone())
    }

    /// Begins a file.
    ///
    /// # Errors
    /// [`HdfsError`]; a file that is there, unless it may be replaced, and one that is being written.
    pub fn create(&self, path: &HdfsPath, options: CreateOptions) -> Result<HdfsWriter, HdfsError> {
        let file = FileBeingWritten {
            namenode: Arc::clone(&self.shared.namenode),
            user: self.user.clone(),
            client: self.shared.client.clone(),
            path: path.clone(),
        };
        HdfsWriter::create(file, &self.shared.renewal, options)
    }
}

fn replica_place(node: &DatanodeInfo) -> ReplicaPlace {
    let topology = format!("{}/{}", &*node.rack, node.name);
    ReplicaPlace { host: node.locality_host().to_owned(), topology }
}

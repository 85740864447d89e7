//! The NameNode: calls and their answers.

use std::io::{Read, Write};
use std::net::TcpStream;

use jobtracker::wire::hdfs::{
    Block, ContentSummary, HdfsAnswer, HdfsCall, HdfsOutcome, HdfsProtocol, HdfsResponse, LocatedBlock, LocatedBlocks,
    NameNodeSafeModeAction, decode_hdfs_call, encode_hdfs_response,
};
use jobtracker::wire::opening::ConnectionHeader;
use jobtracker::wire::protocol::RemoteException;
use jobtracker::wire::{Decode, Reader};

use super::cluster::{CallFault, File, Node, Refusal, Shared, State, no_token};

pub const IO: &str = "java.io.IOException";
pub const NAMENODE: &str = "org.apache.hadoop.hdfs.server.namenode.";
pub const PROTOCOL: &str = "org.apache.hadoop.hdfs.protocol.";

pub type Outcome = Result<HdfsAnswer, RemoteException>;

/// Reads the opening of a connection: preamble and header; the user that it names.
pub fn read_opening(mut stream: &TcpStream) -> std::io::Result<String> {
    stream.read_exact(&mut [0; 6])?;
    let frame = read_frame(stream)?;
    let header = ConnectionHeader::decode(&mut Reader::new(&frame)).unwrap();
    Ok(header.user.map(|user| user.effective).unwrap_or_default())
}

pub fn read_frame(mut stream: &TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}

/// Serves a connection until it ends.
pub fn serve(mut stream: &TcpStream, shared: &Shared) {
    let Ok(user) = read_opening(stream) else { return };
    while let Ok(frame) = read_frame(stream) {
        let call = decode_hdfs_call(&frame).unwrap();
        shared.change(|state| state.held += 1);
        shared.wait_until(|state| !state.is_silent);
        shared.change(|state| state.held -= 1);
        let answer = {
            let mut state = shared.lock();
            let fault = state.note(&call.call);
            if fault == Some(CallFault::LostBefore) {
                return;
            }
            if let Some(CallFault::Answers(bytes)) = fault {
                let _ = stream.write_all(bytes);
                return;
            }
            let outcome = match fault {
                Some(CallFault::Throws(class)) => Err(thrown(class, "scripted\n\tat a.b.C")),
                _ => state.answer(&call.call, &user),
            };
            if fault == Some(CallFault::LostAfter) {
                return;
            }
            outcome
        };
        shared.notify();
        let outcome = match answer {
            Ok(answer) => HdfsOutcome::Value(answer),
            Err(exception) => HdfsOutcome::Error(exception),
        };
        let mut bytes = Vec::new();
        encode_hdfs_response(&mut bytes, &HdfsResponse { id: call.id, outcome });
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
}

pub fn thrown(class: &str, message: &str) -> RemoteException {
    RemoteException { class: class.to_owned(), message: format!("{class}: {message}") }
}

// === impl State ===

impl State {
    /// Counts a call; what is to become of it.
    fn note(&mut self, call: &HdfsCall) -> Option<CallFault> {
        if let HdfsCall::GetProtocolVersion { .. } = call {
            return None;
        }
        self.calls.push(call.name().to_owned());
        if let Some(path) = call.path()
            && (!path.starts_with('/') || path.contains("//") || (path.len() > 1 && path.ends_with('/')))
        {
            self.violations.push(format!("{} of {path:?}", call.name()));
        }
        let is_meant = self.call_faults.front().is_some_and(|(name, _)| name == call.name());
        is_meant.then(|| self.call_faults.pop_front()).flatten().map(|(_, fault)| fault)
    }

    /// What a refusal that stands against the call throws.
    fn refusal(&self, call: &HdfsCall, user: &str) -> Option<RemoteException> {
        let path = call.path()?;
        let is_below =
            |above: &str| path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let is_meant = |refusal: &&Refusal| {
            (refusal.call.is_empty() || refusal.call == call.name())
                && (refusal.user.is_empty() || refusal.user == user)
                && is_below(&refusal.below)
        };
        self.refusals.iter().find(is_meant).map(|refusal| thrown(refusal.class, refusal.message))
    }

    fn answer(&mut self, call: &HdfsCall, user: &str) -> Outcome {
        if let Some(exception) = self.refusal(call, user) {
            return Err(exception);
        }
        let is_change = matches!(
            call,
            HdfsCall::Create { .. }
                | HdfsCall::Mkdirs { .. }
                | HdfsCall::Delete { .. }
                | HdfsCall::Rename { .. }
                | HdfsCall::AddBlock { .. }
                | HdfsCall::Complete { .. }
        );
        if self.safe_mode && is_change {
            return Err(thrown(&format!("{NAMENODE}SafeModeException"), "Name node is in safe mode."));
        }
        match call {
            HdfsCall::GetProtocolVersion { .. } => Ok(HdfsAnswer::Long(HdfsProtocol::Client.version())),
            HdfsCall::GetFileInfo { path } => Ok(HdfsAnswer::FileStatus(self.status(path, ""))),
            HdfsCall::GetListing { path, start_after } => Ok(HdfsAnswer::Listing(self.listing(path, &start_after.0))),
            HdfsCall::Mkdirs { path, permission } => self.make_directory(path, permission.0, user),
            HdfsCall::Delete { path, is_recursive } => self.delete(path, *is_recursive),
            HdfsCall::Rename { from, to } => Ok(HdfsAnswer::Boolean(self.rename(from, to))),
            HdfsCall::Create { path, permission, client, overwrite, replication, block_bytes } => {
                let file = File {
                    writer: Some(client.clone()),
                    blocks: Vec::new(),
                    replication: *replication as usize,
                    block_bytes: *block_bytes,
                    mode: permission.0,
                    owner: user.to_owned(),
                };
                self.create(path, file, *overwrite)
            }
            HdfsCall::RecoverLease { path, .. } => {
                if let Some(file) = self.files.get_mut(path) {
                    file.writer = None;
                }
                Ok(HdfsAnswer::Boolean(true))
            }
            HdfsCall::AddBlock { path, client, excluded } => {
                let excluded = excluded.as_deref().unwrap_or_default();
                self.add_block(path, client, &|name| excluded.iter().any(|node| node.name == name))
            }
            HdfsCall::AbandonBlock { block, path, client } => {
                let file = self.open_file(path, client)?;
                if file.blocks.last().map(|last| last.id) != Some(block.id) {
                    self.violations.push(format!("abandonBlock of {block}, which is not the last one"));
                    return Err(thrown(IO, "Trying to delete non-last block"));
                }
                file.blocks.pop();
                Ok(HdfsAnswer::Void)
            }
            HdfsCall::Complete { path, client } => self.complete(path, client),
            HdfsCall::Fsync { path, client } => self.open_file(path, client).map(|_| HdfsAnswer::Void),
            HdfsCall::GetBlockLocations { path, offset_bytes, length_bytes } => {
                Ok(HdfsAnswer::Blocks(self.locations(path, *offset_bytes, *length_bytes)))
            }
            HdfsCall::ReportBadBlocks { blocks } => {
                for located in blocks {
                    for node in &located.nodes {
                        self.reported.push((located.block.id, node.name.clone()));
                        self.dropped.push((located.block.id, node.name.clone()));
                    }
                }
                Ok(HdfsAnswer::Void)
            }
            HdfsCall::SetSafeMode { action: NameNodeSafeModeAction::Get } => Ok(HdfsAnswer::Boolean(self.safe_mode)),
            HdfsCall::SetPermission { path, permission } => match self.mode_of(path) {
                Some(mode) => {
                    *mode = permission.0;
                    Ok(HdfsAnswer::Void)
                }
                None => Err(thrown("java.io.FileNotFoundException", &format!("File does not exist: {path}"))),
            },
            HdfsCall::SetReplication { path, .. } => Ok(HdfsAnswer::Boolean(self.files.contains_key(path))),
            HdfsCall::GetContentSummary { .. } => Ok(HdfsAnswer::ContentSummary(ContentSummary {
                length_bytes: 1,
                files: self.files.len() as i64,
                directories: 2,
                quota: -1,
                space_bytes: 3,
                space_quota_bytes: -1,
            })),
            HdfsCall::RenewLease { .. } | HdfsCall::SetOwner { .. } | HdfsCall::SetTimes { .. } => Ok(HdfsAnswer::Void),
            other => Err(thrown(IO, &format!("not served: {other:?}"))),
        }
    }
}

// === impl State: blocks ===

impl State {
    fn open_file(&mut self, path: &str, client: &str) -> Result<&mut File, RemoteException> {
        let expired = || thrown(&format!("{NAMENODE}LeaseExpiredException"), &format!("No lease on {path}"));
        self.files.get_mut(path).filter(|file| file.writer.as_deref() == Some(client)).ok_or_else(expired)
    }

    fn add_block(&mut self, path: &str, client: &str, is_excluded: &dyn Fn(&str) -> bool) -> Outcome {
        let file = self.open_file(path, client)?.clone();
        if let Some(before) = file.blocks.len().checked_sub(2).map(|at| file.blocks[at])
            && !self.nodes.iter().any(|node| self.has_replica(node, &before))
        {
            return Err(thrown(&format!("{NAMENODE}NotReplicatedYetException"), "Not replicated yet"));
        }
        // Another order for each block.
        let start = file.blocks.len();
        let offset_bytes = start as i64 * file.block_bytes;
        let count = self.nodes.len();
        let order = (0..count).map(|at| (at + start) % count);
        let wanted = order.filter(|at| !is_excluded(&self.nodes[*at].info.name)).take(file.replication);
        let nodes: Vec<_> = wanted.map(|at| self.nodes[at].info.clone()).collect();
        if nodes.is_empty() {
            return Err(thrown(IO, &format!("File {path} could only be replicated to 0 nodes, instead of 1")));
        }
        let block = self.new_block();
        self.open_file(path, client)?.blocks.push(block);
        Ok(HdfsAnswer::Block(Some(LocatedBlock { token: no_token(), is_corrupt: false, offset_bytes, block, nodes })))
    }

    fn complete(&mut self, path: &str, client: &str) -> Outcome {
        let blocks = self.open_file(path, client)?.blocks.clone();
        if self.incomplete > 0 {
            self.incomplete -= 1;
            return Ok(HdfsAnswer::Boolean(false));
        }
        let mut closed = Vec::new();
        for block in blocks {
            match self.nodes.iter().find(|node| self.has_replica(node, &block)) {
                Some(node) => {
                    closed.push(Block { length_bytes: node.replicas[&block.id].bytes.len() as i64, ..block });
                }
                None => return Ok(HdfsAnswer::Boolean(false)),
            }
        }
        let file = self.open_file(path, client)?;
        file.blocks = closed;
        file.writer = None;
        Ok(HdfsAnswer::Boolean(true))
    }

    fn locations(&self, path: &str, offset: i64, length: i64) -> Option<LocatedBlocks> {
        let file = self.files.get(path)?;
        let file_bytes: i64 = file.blocks.iter().map(|block| block.length_bytes).sum();
        let (mut at, mut blocks) = (0, Vec::new());
        for block in &file.blocks {
            let end = at + block.length_bytes;
            if end > offset && at < offset.saturating_add(length) || file.writer.is_some() {
                let is_there = |node: &&Node| self.has_replica(node, block);
                let mut nodes: Vec<_> = self.nodes.iter().filter(is_there).map(|node| node.info.clone()).collect();
                let is_corrupt = nodes.is_empty();
                if is_corrupt {
                    // Where none is good, all are listed.
                    let is_left = |node: &&Node| {
                        let replica = node.replicas.get(&block.id);
                        replica.is_some_and(|replica| replica.is_final && replica.generation == block.generation)
                    };
                    nodes = self.nodes.iter().filter(is_left).map(|node| node.info.clone()).collect();
                }
                blocks.push(LocatedBlock { token: no_token(), is_corrupt, offset_bytes: at, block: *block, nodes });
            }
            at = end;
        }
        (file_bytes == 0 || !blocks.is_empty()).then(|| LocatedBlocks {
            file_bytes,
            is_under_construction: file.writer.is_some(),
            blocks,
        })
    }

    /// Gives a block a new generation after its recovery.
    pub fn set_generation(&mut self, id: i64, generation: i64) {
        let blocks = self.files.values_mut().flat_map(|file| &mut file.blocks);
        for block in blocks.filter(|block| block.id == id) {
            block.generation = generation;
        }
    }
}

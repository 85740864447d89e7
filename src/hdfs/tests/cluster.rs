//! A NameNode and DataNodes on ports of this machine, whose state the test sees.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::hdfs::{Endpoint, HdfsClient, HdfsOptions, HdfsPath, Pauses};
use crate::wire::Token;
use crate::wire::hdfs::{AdminState, Block, DatanodeInfo};

use super::{datanode, namenode};

/// Bytes of a chunk, of a packet's data and of a block, so small that few bytes make many of them.
pub const CHUNK: usize = 16;
pub const PACKET: usize = 2 * CHUNK;
pub const BLOCK: usize = 4 * PACKET;

/// What a DataNode does wrong, each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing listens on its port.
    NoListener,
    /// Closes each connection without a word.
    Closes,
    /// Answers each request with an error.
    Refuses,
    /// Answers the first request with "token refused".
    RefusesToken,
    /// Sends so many bytes to a reader, then closes; takes so many packets of a writer.
    CutsAfter(usize),
    /// The same, but stays connected.
    SilentAfter(usize),
    /// Flips this bit of what it sends to a reader.
    Flips(usize),
    /// Its replica has this bit flipped on disk, with the checksums of the right one.
    Rots(usize),
    /// Acknowledges this packet as failed.
    FailsPacket(usize),
    /// Acknowledges this packet as another one, where it is the first of a pipeline.
    MisnumbersPacket(usize),
    /// Also cannot recover blocks; takes so many packets.
    DiesAfter(usize),
}

/// What becomes of a call to the NameNode instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// The connection ends, the call has no effect.
    LostBefore,
    /// The connection ends, the call has its effect.
    LostAfter,
    /// It is answered with this exception.
    Throws(&'static str),
    /// It is answered with these bytes.
    Answers(&'static [u8]),
}

/// A replica on a DataNode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replica {
    pub generation: i64,
    pub bytes: Vec<u8>,
    pub is_final: bool,
}

/// A DataNode.
#[derive(Debug)]
pub struct Node {
    pub info: DatanodeInfo,
    pub fault: Option<Fault>,
    pub replicas: BTreeMap<i64, Replica>,
}

/// A file of the NameNode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The holder of the lease; none: closed.
    pub writer: Option<String>,
    pub blocks: Vec<Block>,
    pub replication: usize,
    pub block_bytes: i64,
    pub mode: u16,
}

/// All that the cluster knows.
#[derive(Debug, Default)]
pub struct State {
    pub files: BTreeMap<String, File>,
    pub directories: BTreeMap<String, u16>,
    pub nodes: Vec<Node>,
    pub next_id: i64,
    pub next_generation: i64,
    /// Reported replicas: id of the block, name of the DataNode.
    pub reported: Vec<(i64, String)>,
    /// Replicas that the NameNode does not list any more.
    pub dropped: Vec<(i64, String)>,
    /// Names of the calls, in order, but for getProtocolVersion.
    pub calls: Vec<String>,
    /// What becomes of the calls of that name from then on.
    pub call_faults: VecDeque<(String, CallFault)>,
    /// Falses before complete answers true.
    pub incomplete: u32,
    pub safe_mode: bool,
    pub page: usize,
    pub connections: u32,
    pub acknowledged_reads: u32,
    pub heartbeats: u32,
    /// What a stock cluster would not have had to endure.
    pub violations: Vec<String>,
}

pub struct Cluster {
    pub state: Arc<Shared>,
    pub port: u16,
    listeners: Vec<(SocketAddr, JoinHandle<()>)>,
    /// Ports that are taken, so that nothing else listens there.
    silent_ports: Vec<TcpListener>,
}

/// The state, and what waits for it to change.
#[derive(Default)]
pub struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    is_over: AtomicBool,
}

// === impl Shared ===

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Says that something has changed.
    pub fn notify(&self) {
        self.changed.notify_all();
    }

    /// Waits until the state is as wanted.
    pub fn wait_until(&self, is_so: impl Fn(&State) -> bool) {
        let mut state = self.lock();
        while !is_so(&state) {
            state = self.changed.wait(state).unwrap();
        }
    }
}

// === impl Cluster ===

impl Cluster {
    /// A cluster with one DataNode for each element: what it does wrong.
    pub fn start(faults: &[Option<Fault>]) -> Self {
        let shared = Arc::new(Shared::default());
        let mut cluster = Self { state: Arc::clone(&shared), port: 0, listeners: Vec::new(), silent_ports: Vec::new() };
        for (index, fault) in faults.iter().enumerate() {
            let has_listeners = *fault != Some(Fault::NoListener);
            let (data, ipc) = (bound_socket(has_listeners), bound_socket(has_listeners));
            let (data_port, ipc_port) = (port_of(&data), port_of(&ipc));
            let info = DatanodeInfo {
                name: format!("127.0.0.1:{data_port}"),
                storage_id: format!("DS-{index}"),
                info_port: 1,
                ipc_port,
                capacity_bytes: 1,
                used_bytes: 0,
                remaining_bytes: 1,
                last_update_ms: 0,
                transfers: 0,
                rack: "/default-rack".into(),
                host: format!("node{index}").into(),
                admin_state: AdminState::Normal,
            };
            shared.lock().nodes.push(Node { info, fault: *fault, replicas: BTreeMap::new() });
            if has_listeners {
                cluster.serve(data, move |stream, shared| datanode::serve_data(stream, shared, index));
                cluster.serve(ipc, move |stream, shared| datanode::serve_ipc(stream, shared, index));
            } else {
                cluster.silent_ports.extend([data, ipc]);
            }
        }
        shared.lock().page = 3;
        shared.lock().next_generation = 1000;
        let listener = bound_socket(true);
        cluster.port = port_of(&listener);
        cluster.serve(listener, |stream, shared| {
            shared.lock().connections += 1;
            namenode::serve(stream, shared);
        });
        cluster
    }

    /// Serves each connection on a thread of its own.
    fn serve(&mut self, listener: TcpListener, serve: impl Fn(TcpStream, &Arc<Shared>) + Clone + Send + 'static) {
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&self.state);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.is_over.load(Ordering::Acquire) {
                    return;
                }
                let (shared, serve) = (Arc::clone(&shared), serve.clone());
                std::thread::spawn(move || serve(stream.unwrap(), &shared));
            }
        });
        self.listeners.push((address, thread));
    }

    /// Settings that fit the small sizes here; no pause is waited for, no limit is reached.
    pub fn options() -> HdfsOptions {
        HdfsOptions {
            replication: 3,
            block_bytes: BLOCK as u64,
            chunk_bytes: CHUNK,
            packet_bytes: 25 + 2 * (CHUNK + 4),
            socket_timeout_per_node: Duration::ZERO,
            write_timeout_per_node: Duration::ZERO,
            connect_retries: 0,
            window_packets: 2,
            complete_tries: 5,
            pauses: Pauses::through(|_| {}),
            ..HdfsOptions::default()
        }
    }

    pub fn client(&self) -> HdfsClient {
        self.client_with(Self::options())
    }

    pub fn client_with(&self, options: HdfsOptions) -> HdfsClient {
        HdfsClient::new(Endpoint { host: "127.0.0.1".to_owned(), port: self.port }, "h1", options)
    }

    /// A closed file, with a replica of each block on every DataNode that listens.
    pub fn add_file(&self, path: &str, content: &[u8]) {
        let mut state = self.state.lock();
        let mut blocks = Vec::new();
        for bytes in content.chunks(BLOCK) {
            let block = state.new_block();
            let generation = block.generation;
            blocks.push(Block { length_bytes: bytes.len() as i64, ..block });
            for node in &mut state.nodes {
                node.replicas.insert(block.id, Replica { generation, bytes: bytes.to_vec(), is_final: true });
            }
        }
        state.files.insert(
            path.to_owned(),
            File { writer: None, blocks, replication: 3, block_bytes: BLOCK as i64, mode: 0o644 },
        );
    }

    /// Has each call of a name, one after the other, meet what is given.
    pub fn fail_calls(&self, faults: &[(&str, CallFault)]) {
        self.state.lock().call_faults.extend(faults.iter().map(|(name, fault)| ((*name).to_owned(), *fault)));
    }

    /// The content of a closed file, by replicas that a reader would be sent to; `None`: no closed file.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let file = state.files.get(path).filter(|file| file.writer.is_none())?;
        let mut content = Vec::new();
        for block in &file.blocks {
            let mut replicas = state.nodes.iter().filter_map(|node| node.replicas.get(&block.id));
            let replica = replicas.find(|replica| replica.is_final && replica.generation == block.generation);
            content.extend_from_slice(&replica.expect("a closed file has replicas").bytes);
        }
        Some(content)
    }

    /// Fails if something was asked that a stock cluster must not be asked.
    pub fn check(&self) {
        assert_eq!(self.state.lock().violations, [""; 0]);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Release);
        for (address, thread) in self.listeners.drain(..) {
            // Wakes the listener.
            drop(TcpStream::connect(address));
            let _ = thread.join();
        }
    }
}

// === impl State ===

impl State {
    pub fn new_block(&mut self) -> Block {
        // Ids of stock blocks are below zero as often as not.
        self.next_id -= 7;
        self.next_generation += 1;
        Block { id: self.next_id, length_bytes: 0, generation: self.next_generation }
    }

    /// Whether a replica is whole and of the block's generation.
    pub fn has_replica(&self, node: &Node, block: &Block) -> bool {
        node.replicas.get(&block.id).is_some_and(|replica| replica.is_final && replica.generation == block.generation)
            && !self.dropped.contains(&(block.id, node.info.name.clone()))
    }
}

pub fn no_token() -> Token {
    Token { identifier: Vec::new(), password: Vec::new(), kind: "".into(), service: "".into() }
}

pub fn path(text: &str) -> HdfsPath {
    HdfsPath::parse(text).unwrap()
}

/// Bytes that differ from block to block and from chunk to chunk.
pub fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 31 + at / 7 + at / 251) as u8).collect()
}

/// A port of its own, which refuses connections unless it listens.
fn bound_socket(listens: bool) -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    if listens {
        socket.listen(128).unwrap();
    }
    socket.into()
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().unwrap().port()
}

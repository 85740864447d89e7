//! What the fakes know, and their ports.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use jobtracker::hdfs::{Endpoint, HdfsClient, HdfsOptions, HdfsPath, Pauses};
use jobtracker::wire::Token;
use jobtracker::wire::hdfs::{AdminState, Block, DatanodeInfo};

use super::{datanode, namenode};

/// Bytes of a chunk, of a packet's data and of a block, so small that few bytes make many of them; [`Cluster::stock`] has others.
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
    /// Acknowledges this packet as another one, where it is the first of a pipeline; sends a reader this one as another.
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
    pub owner: String,
}

/// A directory of the NameNode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    pub mode: u16,
    pub owner: String,
}

/// Calls that the NameNode refuses.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Name of the call; empty: all.
    pub call: &'static str,
    /// Of this user; empty: all.
    pub user: &'static str,
    /// About this path and those below.
    pub below: String,
    /// What it throws.
    pub class: &'static str,
    pub message: &'static str,
}

/// All that the cluster knows.
#[derive(Debug, Default)]
pub struct State {
    pub files: BTreeMap<String, File>,
    pub directories: BTreeMap<String, Directory>,
    /// Bytes of a chunk and of a packet's data, as DataNodes send them.
    pub chunk: usize,
    pub packet: usize,
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
    pub refusals: Vec<Refusal>,
    /// The NameNode takes calls and answers none.
    pub is_silent: bool,
    /// Calls that it holds for that.
    pub held: u32,
    /// The NameNode closes each connection without a word.
    pub is_closing: bool,
    /// Connections to the NameNode, to be cut.
    pub open_connections: Vec<TcpStream>,
    /// How often the NameNode was stopped.
    pub stops: u32,
    pub page: usize,
    /// Every listing has another page.
    pub lists_without_end: bool,
    pub connections: u32,
    pub acknowledged_reads: u32,
    pub heartbeats: u32,
    /// What a stock cluster would not have had to endure.
    pub violations: Vec<String>,
}

pub struct Cluster {
    pub state: Arc<Shared>,
    pub port: u16,
    listeners: Vec<Listening>,
    namenode: Option<Listening>,
    /// Ports that are taken, so that nothing else listens there.
    silent_ports: Vec<TcpListener>,
}

/// A port that is served.
struct Listening {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
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

    /// Waits until the state is as wanted, or all is over.
    pub fn wait_until(&self, is_so: impl Fn(&State) -> bool) {
        let mut state = self.lock();
        while !is_so(&state) && !self.is_over.load(Ordering::Acquire) {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// Changes the state, and says so.
    pub fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.notify();
    }
}

// === impl Cluster ===

impl Cluster {
    /// A cluster with one DataNode for each element: what it does wrong.
    pub fn start(faults: &[Option<Fault>]) -> Self {
        Self::start_with(faults, CHUNK, PACKET, 3)
    }

    /// The same, with the sizes of stock ones, for clients that have them by their configuration.
    pub fn stock(faults: &[Option<Fault>]) -> Self {
        Self::start_with(faults, 512, 128 * 512, 1_000)
    }

    fn start_with(faults: &[Option<Fault>], chunk: usize, packet: usize, page: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let root = Directory { mode: 0o777, owner: "hdfs".to_owned() };
        let mut cluster = Self {
            state: Arc::clone(&shared),
            port: 0,
            listeners: Vec::new(),
            namenode: None,
            silent_ports: Vec::new(),
        };
        shared.change(|state| {
            (state.chunk, state.packet, state.page, state.next_generation) = (chunk, packet, page, 1_000);
            state.directories.insert("/".to_owned(), root);
        });
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
                let served = [
                    cluster.serve(data, move |stream, shared| datanode::serve_data(stream, shared, index)),
                    cluster.serve(ipc, move |stream, shared| datanode::serve_ipc(stream, shared, index)),
                ];
                cluster.listeners.extend(served);
            } else {
                cluster.silent_ports.extend([data, ipc]);
            }
        }
        cluster.serve_namenode(bound_socket(true));
        cluster
    }

    fn serve_namenode(&mut self, listener: TcpListener) {
        self.port = port_of(&listener);
        let stops = self.state.lock().stops;
        self.namenode = Some(self.serve(listener, move |stream, shared| {
            let is_closing = {
                let mut state = shared.lock();
                state.connections += 1;
                state.open_connections.extend(stream.try_clone());
                // One that was accepted while it was stopped is cut too.
                state.is_closing || state.stops != stops
            };
            shared.notify();
            if !is_closing {
                namenode::serve(&stream, shared);
            }
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }));
    }

    /// Ends the NameNode as a kill does: its connections end, and nothing listens on its port.
    pub fn stop_namenode(&mut self) {
        if let Some(namenode) = self.namenode.take() {
            namenode.end();
        }
        let mut state = self.state.lock();
        state.stops += 1;
        for connection in state.open_connections.drain(..) {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Leaves it as at the moment of a kill: its connections end, and each new one in its first call; how many there were so far.
    pub fn cut_off_namenode(&self) -> u32 {
        let mut state = self.state.lock();
        state.is_closing = true;
        for connection in state.open_connections.drain(..) {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
        state.connections
    }

    /// Starts it again at its port.
    pub fn start_namenode(&mut self) {
        self.serve_namenode(TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).unwrap());
    }

    /// Starts it again at another port.
    pub fn start_namenode_elsewhere(&mut self) {
        self.serve_namenode(bound_socket(true));
    }

    /// Serves each connection on a thread of its own.
    fn serve(
        &self,
        listener: TcpListener,
        serve: impl Fn(TcpStream, &Arc<Shared>) + Clone + Send + 'static,
    ) -> Listening {
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&self.state);
        let is_over = Arc::new(AtomicBool::new(false));
        let is_this_over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if is_this_over.load(Ordering::Acquire) {
                    return;
                }
                let (shared, serve) = (Arc::clone(&shared), serve.clone());
                std::thread::spawn(move || serve(stream.unwrap(), &shared));
            }
        });
        Listening { address, is_over, thread }
    }

    /// The URI of its files.
    pub fn uri(&self) -> String {
        format!("hdfs://127.0.0.1:{}", self.port)
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
        self.add_file_of("h1", path, content, BLOCK);
    }

    /// The same, of that user and with blocks of that size.
    pub fn add_file_of(&self, owner: &str, path: &str, content: &[u8], block: usize) {
        let mut state = self.state.lock();
        state.make_parents(path, owner);
        let mut blocks = Vec::new();
        for bytes in content.chunks(block) {
            let block = state.new_block();
            let generation = block.generation;
            blocks.push(Block { length_bytes: bytes.len() as i64, ..block });
            for node in &mut state.nodes {
                node.replicas.insert(block.id, Replica { generation, bytes: bytes.to_vec(), is_final: true });
            }
        }
        let (block_bytes, owner) = (block as i64, owner.to_owned());
        state
            .files
            .insert(path.to_owned(), File { writer: None, blocks, replication: 3, block_bytes, mode: 0o644, owner });
    }

    /// Has calls about a path, and about what lies below it, refused from now on; `call`, `user`: empty for all.
    pub fn refuse(
        &self,
        call: &'static str,
        user: &'static str,
        below: &str,
        (class, message): (&'static str, &'static str),
    ) {
        let below = below.to_owned();
        self.state.lock().refusals.push(Refusal { call, user, below, class, message });
    }

    /// Leaves a file as a writer does that was killed before it closed the file: open, with nothing in it.
    pub fn leave_open(&self, owner: &str, path: &str) {
        let mut state = self.state.lock();
        state.make_parents(path, owner);
        let (writer, owner) = (Some("DFSClient_of_a_former_life".to_owned()), owner.to_owned());
        let file = File { writer, blocks: Vec::new(), replication: 3, block_bytes: BLOCK as i64, mode: 0o600, owner };
        state.files.insert(path.to_owned(), file);
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
        self.state.notify();
        self.stop_namenode();
        self.listeners.drain(..).for_each(Listening::end);
    }
}

// === impl Listening ===

impl Listening {
    fn end(self) {
        self.is_over.store(true, Ordering::Release);
        // Wakes the listener.
        drop(TcpStream::connect(self.address));
        let _ = self.thread.join();
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
    // Connections inherit it; otherwise those that end keep the port from a NameNode that is started again.
    socket.set_reuse_address(listens).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    if listens {
        socket.listen(128).unwrap();
    }
    socket.into()
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().unwrap().port()
}

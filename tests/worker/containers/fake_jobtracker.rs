//! A JobTracker that only knows containers: it registers one worker, and does by its beats what a test wants.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use jobtracker::api::{BeatAnswer, BeatContainerState, ContainerEnd, ContainerKill, ContainerLaunch, WorkerBeat};
use jobtracker::model::ContainerId;
use jobtracker::wire::protocol::{
    Call, ContainerBeatCall, InterTrackerCall, Protocol, Value, decode_call, encode_response,
};
use jobtracker::wire::{HeartbeatResponse, Text};

/// Preamble, version of IPC, authentication method.
const PREAMBLE_BYTES: usize = 6;
/// Longest time for which an answer is held back: kills come with the next one.
const MOST_HELD: Duration = Duration::from_millis(50);
/// Longest wait of a test.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What the test wants, and what the worker has said.
#[derive(Default)]
struct Book {
    launches: Vec<ContainerLaunch>,
    kills: Vec<ContainerKill>,
    states: BTreeMap<ContainerId, BeatContainerState>,
    ends: BTreeMap<ContainerId, ContainerEnd>,
    /// The health report of the last heartbeat.
    report: String,
    secret: String,
}

impl Book {
    /// Launches of containers that the worker has not named.
    fn new_launches(&self) -> Vec<ContainerLaunch> {
        let is_new = |launch: &&ContainerLaunch| !self.states.contains_key(&launch.id);
        self.launches.iter().filter(is_new).cloned().collect()
    }
}

/// The JobTracker.
pub struct FakeJobTracker {
    pub address: SocketAddr,
    shared: Arc<(Mutex<Book>, Condvar)>,
}

impl FakeJobTracker {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::<(Mutex<Book>, Condvar)>::default();
        let book = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let book = book.clone();
                std::thread::spawn(move || serve(stream, &book));
            }
        });
        Self { address, shared }
    }

    pub fn launch(&self, launch: ContainerLaunch) {
        self.shared.0.lock().unwrap().launches.push(launch);
        self.shared.1.notify_all();
    }

    pub fn kill(&self, kill: ContainerKill) {
        self.shared.0.lock().unwrap().kills.push(kill);
    }

    /// The end of a container, once the worker has said it.
    pub fn end_of(&self, id: ContainerId) -> ContainerEnd {
        self.wait_for(|book| book.ends.get(&id).cloned())
    }

    /// Waits until a container runs.
    pub fn wait_until_running(&self, id: ContainerId) {
        let is_running = |state: &BeatContainerState| matches!(state, BeatContainerState::Running { .. });
        self.wait_for(|book| book.states.get(&id).filter(|state| is_running(state)).map(drop));
    }

    /// The health report of the worker's heartbeats, and the secret of its beats.
    pub fn report_and_secret(&self) -> (String, String) {
        self.wait_for(|book| (!book.secret.is_empty()).then(|| (book.report.clone(), book.secret.clone())))
    }

    fn wait_for<T>(&self, find: impl Fn(&Book) -> Option<T>) -> T {
        let (book, changed) = &*self.shared;
        let book = book.lock().unwrap();
        let is_missing = |book: &mut Book| find(book).is_none();
        let (book, _) = changed.wait_timeout_while(book, TIMEOUT, is_missing).unwrap();
        find(&book).unwrap_or_else(|| panic!("the worker has not said it: {:?}", book.states))
    }
}

fn frame(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}

/// Serves a connection until it ends.
fn serve(mut stream: TcpStream, shared: &(Mutex<Book>, Condvar)) -> Option<()> {
    stream.read_exact(&mut [0; PREAMBLE_BYTES]).ok()?;
    let header = frame(&mut stream).ok()?;
    let names = |protocol: &Protocol| {
        let name = protocol.class_name().as_bytes();
        header.windows(name.len()).any(|part| part == name)
    };
    let protocol = Protocol::ALL.into_iter().find(names)?;
    loop {
        let asked = decode_call(protocol, &frame(&mut stream).ok()?).unwrap();
        let value = answer(protocol, asked.call, shared);
        let mut response = Vec::new();
        encode_response(&mut response, asked.id, &value);
        stream.write_all(&response).ok()?;
    }
}

fn answer(protocol: Protocol, call: Call, (book, changed): &(Mutex<Book>, Condvar)) -> Value {
    match call {
        Call::InterTracker(InterTrackerCall::GetSystemDir) => Value::String(Some("file:/no/system".to_owned())),
        Call::InterTracker(InterTrackerCall::Heartbeat { request }) => {
            book.lock().unwrap().report = request.status.health.report.to_string();
            let response_id = request.response_id.wrapping_add(1);
            let (actions, recovered_jobs) = (Vec::new(), Vec::new());
            Value::Heartbeat(HeartbeatResponse { response_id, interval_ms: 100, actions, recovered_jobs })
        }
        Call::ContainerBeats(ContainerBeatCall::Beat { beat }) => {
            let beat: WorkerBeat = serde_json::from_str(&beat).unwrap();
            let mut book = book.lock().unwrap();
            book.secret = beat.secret;
            let mut answer = BeatAnswer::default();
            for container in beat.containers {
                if let BeatContainerState::Ended(end) = &container.state {
                    book.ends.insert(container.id, end.clone());
                    answer.noted.push(container.id);
                }
                book.states.insert(container.id, container.state);
            }
            changed.notify_all();
            // An answer that says nothing is held back for a while.
            let has_nothing_to_say = |book: &mut Book| answer.noted.is_empty() && book.new_launches().is_empty();
            let (book, _) = changed.wait_timeout_while(book, MOST_HELD, has_nothing_to_say).unwrap();
            (answer.launches, answer.kills) = (book.new_launches(), book.kills.clone());
            Value::Text(Text(serde_json::to_string(&answer).unwrap()))
        }
        _ => Value::Long(protocol.version()),
    }
}

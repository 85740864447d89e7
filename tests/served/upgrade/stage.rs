//! A daemon that is upgraded, and clients of its RPC that talk to it one after another.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::daemon::child::{ChildDaemon, DaemonFolders, TIMEOUT};
use crate::daemon::clients::{IntoCall, stage, submit};
use crate::upgrade::BUDGETS;

use jobtracker::model::JobId;
use jobtracker::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use jobtracker::wire::protocol::{
    Call, CallOutcome, JobSubmissionCall, Protocol, ReturnType, Value, decode_response, encode_call,
};

/// A place whose jobs need no signature.
pub fn unsigned_place() -> DaemonFolders {
    let mut place = place();
    place.overrides.push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
    place
}

/// A place of the market.
pub fn place() -> DaemonFolders {
    // What outlives its parent is ours to wait for.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    DaemonFolders::new(BUDGETS)
}

/// `jobtracker upgrade`, with more arguments.
pub fn ask_for_upgrade(place: &DaemonFolders, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    command.arg("upgrade").arg("-D").arg(format!("jobtracker.state.dir={}", place.path("state").display()));
    command.args(arguments).env_remove("HADOOP_CONF_DIR");
    command
}

/// Upgrades; the daemon is the new process from now on. Returns the printed line.
pub fn upgrade(place: &DaemonFolders, serving: &mut ChildDaemon, arguments: &[&str]) -> String {
    try_upgrade(place, serving, arguments).unwrap_or_else(|(_, error)| panic!("{error}\n{}", serving.log.text()))
}

/// Upgrades, and the daemon is the new process from now on, or fails to; returns what was printed.
pub fn try_upgrade(
    place: &DaemonFolders,
    serving: &mut ChildDaemon,
    arguments: &[&str],
) -> Result<String, (i32, String)> {
    let Output { status, stdout, stderr } = ask_for_upgrade(place, arguments).output().unwrap();
    if !status.success() {
        return Err((status.code().unwrap(), String::from_utf8(stderr).unwrap()));
    }
    let line = String::from_utf8(stdout).unwrap();
    let process = line.strip_prefix("process ").unwrap().split(' ').next().unwrap().parse().unwrap();
    serving.succeeded_by(process);
    Ok(line)
}

/// Fails to upgrade; returns what was printed.
pub fn fail_to_upgrade(place: &DaemonFolders, arguments: &[&str]) -> (i32, String) {
    let Output { status, stdout, stderr } = ask_for_upgrade(place, arguments).output().unwrap();
    assert!(stdout.is_empty(), "{}", String::from_utf8_lossy(&stdout));
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

/// A script in the place of the program. `$PROGRAM` is the program, `$LOCK` the lock of the state.
pub fn script(place: &DaemonFolders, name: &str, text: &str) -> PathBuf {
    let path = place.path(name);
    let program = env!("CARGO_BIN_EXE_jobtracker");
    let lock = place.path("state/lock");
    std::fs::write(&path, format!("#!/bin/sh\nPROGRAM={program}\nLOCK={}\n{text}\n", lock.display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A client of the RPC, as stock ones are: it asks, waits for ever, and dies of a closed connection.
pub struct Client {
    stream: TcpStream,
    calls: i32,
}

// === impl Client ===

impl Client {
    pub fn of(rpc: SocketAddr, protocol: Protocol) -> Self {
        Self::of_user("alice", rpc, protocol)
    }

    fn of_user(user: &str, rpc: SocketAddr, protocol: Protocol) -> Self {
        let stream = TcpStream::connect(rpc).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Self { stream, calls: 0 };
        client.stream.write_all(&opening(user, protocol)).unwrap();
        let (protocol, client_version) = (protocol.class_name().to_owned(), protocol.version());
        assert_eq!(client.call(&Call::ProtocolVersion { protocol, client_version }), Value::Long(client_version));
        client
    }

    pub fn call(&mut self, call: &Call) -> Value {
        self.calls += 1;
        let mut frame = Vec::new();
        encode_call(&mut frame, self.calls, call);
        self.stream.write_all(&frame).unwrap();
        receive(&mut self.stream, self.calls, call.method().returns)
    }

    /// What a call is refused with.
    pub fn refused(&mut self, call: &Call) -> String {
        self.calls += 1;
        let mut frame = Vec::new();
        encode_call(&mut frame, self.calls, call);
        self.stream.write_all(&frame).unwrap();
        match hear_outcome(&mut self.stream, self.calls, call.method().returns) {
            CallOutcome::Error(exception) => exception.message,
            other => panic!("{other:?}"),
        }
    }

    /// Any call.
    pub fn asks(&mut self) {
        assert!(matches!(self.call(&JobSubmissionCall::GetNewJobId.into_call()), Value::JobId(_)));
    }

    /// Submits a job of so many maps.
    pub fn submit(&mut self, place: &DaemonFolders, maps: usize) -> JobId {
        let (id, call) = self.staged(place, maps);
        let accepted = self.call(&call);
        assert!(matches!(accepted, Value::JobStatus(Some(status)) if status.id == id));
        id
    }

    /// The call that submits a job of so many maps.
    pub fn staged(&mut self, place: &DaemonFolders, maps: usize) -> (JobId, Call) {
        let Value::JobId(id) = self.call(&JobSubmissionCall::GetNewJobId.into_call()) else { panic!("no id") };
        let count = maps.to_string();
        let properties = [("mapred.map.tasks", count.as_str()), ("mapred.reduce.tasks", "0")];
        let staging: &Path = &place.path("hadoop/mapred/staging/alice/.staging");
        (id, submit(id, stage(staging, id, &properties, maps)))
    }
}

pub fn client(serving: &ChildDaemon, protocol: Protocol) -> Client {
    Client::of(serving.rpc(), protocol)
}

/// A job client of another user than alice.
pub fn client_of(user: &str, serving: &ChildDaemon) -> Client {
    Client::of_user(user, serving.rpc(), Protocol::JobSubmission)
}

fn opening(user: &str, protocol: Protocol) -> Vec<u8> {
    let user = ConnectionUser { effective: user.to_owned(), real: None };
    let mut text = Vec::new();
    encode_opening(&mut text, &ConnectionHeader { protocol: protocol.class_name().into(), user: Some(user) });
    text
}

fn receive(stream: &mut TcpStream, id: i32, returns: ReturnType) -> Value {
    match hear_outcome(stream, id, returns) {
        CallOutcome::Value(value) => value,
        other => panic!("{other:?}"),
    }
}

fn hear_outcome(stream: &mut TcpStream, id: i32, returns: ReturnType) -> CallOutcome {
    let mut received = Vec::new();
    loop {
        let mut room = [0; 4096];
        let count = stream.read(&mut room).unwrap();
        assert!(count > 0, "closed");
        received.extend_from_slice(&room[..count]);
        if let Some((response, _)) = decode_response(returns, &received).unwrap() {
            assert_eq!(response.id, id);
            return response.outcome;
        }
    }
}

/// A client that says its bytes as the test wants.
pub struct RawClient {
    stream: TcpStream,
    /// Opening and a call, of which so many bytes are said.
    text: Vec<u8>,
    said: usize,
}

impl RawClient {
    /// Says so much of its opening and one call; less than nothing is counted from the end.
    pub fn that_says(serving: &ChildDaemon, count: isize) -> Self {
        let mut text = opening("alice", Protocol::JobSubmission);
        encode_call(&mut text, 7, &JobSubmissionCall::GetSystemDir.into_call());
        let stream = TcpStream::connect(serving.rpc()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let until = if count < 0 { text.len().strict_add_signed(count) } else { count.cast_unsigned() };
        let mut client = Self { stream, text, said: 0 };
        client.say(until);
        client
    }

    fn say(&mut self, until: usize) {
        self.stream.write_all(&self.text[self.said..until]).unwrap();
        self.said = until;
    }

    /// Sends the rest and receives the answer.
    pub fn ends_well(mut self) {
        self.say(self.text.len());
        let value = receive(&mut self.stream, 7, ReturnType::String);
        assert!(matches!(value, Value::String(_)), "{value:?}");
    }
}

//! JobTrackers that a built-in tasktracker cannot work for.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::cluster::wait_until_gone;

use jobtracker::wire::protocol::{Call, InterTrackerCall, Protocol, Value, decode_call, encode_response};

/// Preamble, version of IPC, authentication method.
const PREAMBLE_BYTES: usize = 6;

fn frame(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame).unwrap();
    frame
}

/// A JobTracker whose files are on a file system that nothing here reads, asked until it has answered where.
fn on_unknown_files(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; PREAMBLE_BYTES]).unwrap();
    frame(&mut stream);
    loop {
        let asked = decode_call(Protocol::InterTracker, &frame(&mut stream)).unwrap();
        let is_last = matches!(asked.call, Call::InterTracker(InterTrackerCall::GetSystemDir));
        let value = match &asked.call {
            Call::InterTracker(InterTrackerCall::GetSystemDir) => {
                Value::String(Some("s3://bucket/mapred/system".to_owned()))
            }
            // The protocol's version, as every connection asks first.
            _ => Value::Long(Protocol::InterTracker.version()),
        };
        let mut response = Vec::new();
        encode_response(&mut response, asked.id, &value);
        stream.write_all(&response).unwrap();
        if is_last {
            return;
        }
    }
}

#[test]
fn a_jobtracker_with_its_files_on_an_unknown_file_system_is_left_with_one_line() {
    let scratch = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let jobtracker = format!("mapred.job.tracker={}", listener.local_addr().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    let folder = format!("hadoop.tmp.dir={}", scratch.path().display());
    command.args([
        "tasktracker",
        "-D",
        &folder,
        "-D",
        &jobtracker,
        "-D",
        "mapred.task.tracker.http.address=127.0.0.1:0",
    ]);
    command.env_remove("HADOOP_CONF_DIR").env_remove("RUST_LOG").stdin(Stdio::null()).stderr(Stdio::piped());
    let tasktracker = command.spawn().unwrap();
    on_unknown_files(&listener);
    // One that does not end fails here.
    wait_until_gone(tasktracker.id().cast_signed());
    let output = tasktracker.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let last = said.lines().last().unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(last.contains("mapred.system.dir there") && last.contains("s3://bucket"), "{said}");
    assert!(last.contains("a stock TaskTracker works for it"), "{said}");
}

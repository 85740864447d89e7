//! Every byte that stock Hadoop 1.2.1 was recorded to send or write: decoded and encoded again, it is the same.

use std::fs;
use std::path::{Path, PathBuf};

use jobtracker::wire::frame::{Frame, split_frame};
use jobtracker::wire::opening::{Opening, OpeningStep, encode_opening};
use jobtracker::wire::protocol::{
    CallError, CallOutcome, FATAL_CALL_ID, Protocol, ReturnType, decode_call, decode_response, encode_call, response_id,
};
use jobtracker::wire::{Decode, Encode, Reader, Writer, file};

const LIMIT_BYTES: usize = 1 << 20;

fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hadoop1").join(folder)
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(fixtures(folder)).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn read(folder: &str, name: &str) -> Vec<u8> {
    fs::read(fixtures(folder).join(name)).unwrap()
}

fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut Writer::new(&mut out));
    out
}

/// The protocol in a name such as `badbuild-InterTrackerProtocol.getVIVersion`.
fn protocol_of(name: &str) -> Protocol {
    let simple = name.trim_start_matches("badbuild-").split('.').next().unwrap();
    let by_simple_name = |protocol: &Protocol| protocol.class_name().rsplit('.').next() == Some(simple);
    Protocol::ALL.into_iter().find(by_simple_name).unwrap_or_else(|| panic!("{name}: no such protocol"))
}

fn round_trip_request(name: &str, bytes: &[u8]) -> ReturnType {
    let Ok(Some((Frame::Bytes(frame), consumed))) = split_frame(bytes, LIMIT_BYTES) else { panic!("{name}: no frame") };
    assert_eq!(consumed, bytes.len(), "{name}");
    let call = decode_call(protocol_of(name), frame).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut again = Vec::new();
    encode_call(&mut again, call.id, &call.call);
    assert_eq!(again, bytes, "{name}");
    call.call.method().returns
}

fn round_trip_response(name: &str, returns: ReturnType, bytes: &[u8]) {
    let decoded = decode_response(returns, bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (response, consumed) = decoded.unwrap_or_else(|| panic!("{name}: wants more bytes"));
    assert_eq!(consumed, bytes.len(), "{name}");
    assert_eq!(response_id(bytes), Some(response.id), "{name}");
    assert_eq!(encoded(&response), bytes, "{name}");
    let is_error = matches!(response.outcome, CallOutcome::Error(_));
    assert_eq!(is_error, name.contains(".error.") || name.contains(".denied."), "{name}");
    for end in 0..bytes.len() {
        let cut = decode_response(returns, &bytes[..end]);
        assert!(matches!(cut, Ok(None)), "{name} cut to {end} bytes: {cut:?}");
    }
}

fn round_trip_opening(name: &str, bytes: &[u8]) {
    let mut opening = Opening::default();
    let step = opening.advance(bytes).unwrap();
    assert_eq!(step, OpeningStep::Consumed { consumed: 6, switch_to_simple: false }, "{name}");
    let Ok(OpeningStep::Done { consumed, header }) = opening.advance(&bytes[6..]) else { panic!("{name}: no header") };
    assert_eq!(consumed, bytes.len() - 6, "{name}");
    let mut again = Vec::new();
    encode_opening(&mut again, &header);
    assert_eq!(again, bytes, "{name}");
}

#[test]
fn every_recorded_call_and_response_comes_back_byte_for_byte() {
    let (mut requests, mut responses, mut openings) = (0, 0, 0);
    for name in names("rpc") {
        let bytes = read("rpc", &name);
        if name == "index.json" {
            continue;
        } else if name.starts_with("connection.") {
            round_trip_opening(&name, &bytes);
            openings += 1;
        } else if name == "fatal.unauthorized.response.bin" {
            let (response, consumed) = decode_response(ReturnType::Void, &bytes).unwrap().unwrap();
            assert_eq!((response.id, consumed), (FATAL_CALL_ID, bytes.len()));
            assert!(matches!(&response.outcome, CallOutcome::Fatal(exception)
                if exception.class == "org.apache.hadoop.security.authorize.AuthorizationException"));
            assert_eq!(encoded(&response), bytes);
        } else if name.ends_with(".request.bin") {
            round_trip_request(&name, &bytes);
            requests += 1;
        } else {
            let request = name.replace(".response.bin", ".request.bin");
            assert_ne!(request, name, "a file of no known kind");
            round_trip_response(&name, round_trip_request(&request, &read("rpc", &request)), &bytes);
            responses += 1;
        }
    }
    assert_eq!((requests, responses, openings), (136, 136, 8), "recordings are missing or new");
}

#[test]
fn every_method_but_the_named_ones_has_a_recording() {
    // Read in the sources only: no stock program was seen to call them.
    let unseen = ["fsError", "reportNextRecordRange", "shuffleError", "updatePrivateDistributedCacheSizes"];
    let recorded = names("rpc");
    let mut missing = Vec::new();
    // Ours: no stock program calls it.
    for protocol in Protocol::ALL.into_iter().filter(|protocol| *protocol != Protocol::ContainerBeats) {
        let simple = protocol.class_name().rsplit('.').next().unwrap();
        for method in protocol.methods() {
            let prefix = format!("{simple}.{}.", method.name);
            if !recorded.iter().any(|name| name.starts_with(&prefix)) {
                missing.push(method.name);
            }
        }
    }
    missing.sort_unstable();
    assert_eq!(missing, unseen);
}

#[test]
fn every_recorded_file_comes_back_byte_for_byte() {
    let folders = ["files/staging-old-api", "files/staging-new-api", "files/system-dir"];
    let mut all: Vec<_> =
        folders.iter().flat_map(|folder| names(folder).into_iter().map(move |n| (*folder, n))).collect();
    all.push(("files", "credentials-secret-only.bin".to_owned()));
    assert_eq!(names("files").len(), 1 + folders.len(), "a file or folder that is not looked at");
    for (folder, name) in all {
        let bytes = read(folder, &name);
        match &*name {
            "job.xml" => {}   // Of the configuration's own tests.
            "job.split" => {} // Below, with its meta information.
            "job.splitmetainfo" => {
                let meta = file::read_split_meta(&bytes, Some(10_000_000)).unwrap();
                assert_eq!(file::write_split_meta(&meta), bytes, "{folder}");
                let splits = read(folder, "job.split");
                let mut writer = file::SplitsWriter::default();
                for entry in &meta {
                    let split = file::read_file_split(&splits, entry.offset_bytes as usize).unwrap();
                    writer.add(&split, entry.locations.clone());
                }
                assert_eq!(writer.finish(), (splits, meta), "{folder}");
            }
            "job-info" => {
                let info = file::JobInfo::decode(&mut Reader::new(&bytes)).unwrap();
                assert_eq!(&*info.user, "h1");
                assert_eq!(encoded(&info), bytes);
            }
            "credentials-secret-only.bin" | "jobToken" | "jobToken.with-secret" => {
                let credentials = file::read_token_storage(&bytes).unwrap();
                let has_job_token = credentials.tokens.iter().any(|(alias, _)| **alias == *file::JOB_TOKEN_ALIAS);
                assert_eq!(has_job_token, name.starts_with("jobToken"));
                assert_eq!(file::write_token_storage(&credentials), bytes, "{name}");
            }
            other => panic!("{folder}/{other}: a file of no known kind"),
        }
    }
}

/// How far a hand-made client gets by the codecs alone: what a server would see, in order.
fn events(bytes: &[u8]) -> Vec<String> {
    let mut events = Vec::new();
    let end = match read_opening(bytes, &mut events) {
        Ok((protocol, calls)) => read_calls(protocol, calls, &mut events).err(),
        Err(end) => Some(end),
    };
    events.extend(end.map(|end| format!("close: {end}")));
    events
}

fn read_opening<'a>(mut bytes: &'a [u8], events: &mut Vec<String>) -> Result<(Protocol, &'a [u8]), String> {
    let mut opening = Opening::default();
    loop {
        match opening.advance(bytes).map_err(|error| error.to_string())? {
            OpeningStep::NeedMore => return Err("opening not complete".to_owned()),
            OpeningStep::Consumed { consumed, switch_to_simple } => {
                bytes = &bytes[consumed..];
                events.extend(switch_to_simple.then(|| "switch".to_owned()));
            }
            OpeningStep::Done { consumed, header } => {
                match header.user {
                    None => events.push("no user".to_owned()),
                    Some(user) => events.extend(user.real.map(|real| format!("real user {real}"))),
                }
                let protocol = Protocol::from_class_name(&header.protocol);
                let protocol = protocol.ok_or_else(|| format!("protocol `{}`", header.protocol))?;
                return Ok((protocol, &bytes[consumed..]));
            }
        }
    }
}

fn read_calls(protocol: Protocol, mut bytes: &[u8], events: &mut Vec<String>) -> Result<(), String> {
    while let Some((frame, consumed)) = split_frame(bytes, LIMIT_BYTES).map_err(|error| error.to_string())? {
        bytes = &bytes[consumed..];
        events.push(match frame {
            Frame::Ping => "ping".to_owned(),
            Frame::Bytes(frame) => match decode_call(protocol, frame) {
                Ok(call) => format!("{} {}", call.id, call.call.method().name),
                Err(CallError::Method { id, text } | CallError::Disallowed { id, text }) => {
                    format!("{id} ERROR {text}")
                }
                Err(CallError::Close(error)) => return Err(error.to_string()),
            },
        });
    }
    Ok(())
}

#[test]
fn hand_made_clients_are_understood_as_the_stock_server_did() {
    let mut seen = String::new();
    for name in names("edge").iter().filter_map(|name| name.strip_suffix(".client.bin")) {
        seen += &format!("{name}: {}\n", events(&read("edge", &format!("{name}.client.bin"))).join(" | "));
    }
    insta::assert_snapshot!(seen, @r"
    badauth: close: authentication method 0x01 is not known
    boolparam: 1 getClusterStatus
    crossproto: 1 ERROR java.io.IOException: java.lang.NoSuchMethodException: org.apache.hadoop.mapred.JobSubmissionProtocol.getBuildVersion: no such method
    emptyproto: close: protocol ``
    http: close: does not begin with hrpc
    neglen: close: a frame length of -5 is below zero
    nouser: no user | 7 getProtocolVersion | 8 getStagingAreaDir
    nulljobid: 1 getJobStatus
    ok: 7 getProtocolVersion
    otherproto: close: protocol `org.apache.hadoop.hdfs.protocol.ClientProtocol`
    ping: ping | 7 getProtocolVersion | ping | 8 getFilesystemName
    pipelined: 5 getSystemDir | 3 getSystemDir | 9 getSystemDir | 1 getSystemDir
    real: real user h1 | 7 getProtocolVersion
    sasl_digest: switch | 7 getProtocolVersion
    sasl_kerb: switch | 7 getProtocolVersion
    subclass: 1 ERROR java.io.IOException: java.lang.NoSuchMethodException: org.apache.hadoop.mapred.JobSubmissionProtocol.getJobStatus: org.apache.hadoop.mapreduce.JobID is not org.apache.hadoop.mapred.JobID
    trailing: 7 getProtocolVersion | 8 getSystemDir
    unknownclass: close: class at byte 22: class `org.apache.hadoop.mapred.NoSuch` is not known
    unknownmethod: 1 ERROR java.io.IOException: java.lang.NoSuchMethodException: org.apache.hadoop.mapred.JobSubmissionProtocol.noSuchMethod: no such method
    unknownproto: close: protocol `org.apache.hadoop.NoSuch`
    version3: close: version 3 of the IPC protocol is not 4
    version5: close: version 5 of the IPC protocol is not 4
    wrongargs: 1 ERROR java.io.IOException: java.lang.NoSuchMethodException: org.apache.hadoop.mapred.JobSubmissionProtocol.getClusterStatus: 0 parameters instead of 1
    ");
}

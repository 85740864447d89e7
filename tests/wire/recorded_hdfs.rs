//! Every byte of the recorded conversations with a stock HDFS 1.2.1: decoded and encoded again, it is the same.

use std::fs;
use std::path::{Path, PathBuf};

use jobtracker::wire::frame::{Frame, split_frame};
use jobtracker::wire::hdfs::{
    Checksums, DataFrame, DataRequest, HdfsAnswer, HdfsAnswerKind, HdfsCall, HdfsOutcome, HdfsProtocol, ReadAnswer,
    decode_ack, decode_data_request, decode_hdfs_call, decode_hdfs_response, decode_read_answer, decode_setup_answer,
    encode_ack, encode_checksum_ok, encode_data_request, encode_end, encode_hdfs_call, encode_hdfs_response,
    encode_packet, encode_read_answer, encode_setup_answer, first_bad_chunk, split_data_frame,
};
use jobtracker::wire::opening::{Opening, OpeningStep, encode_opening};
use jobtracker::wire::protocol::CallError;

const LIMIT_BYTES: usize = 1 << 20;

fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hdfs1").join(folder)
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(fixtures(folder)).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn read(name: &str) -> Vec<u8> {
    fs::read(fixtures(name)).unwrap()
}

/// What the call of that name answers; the one that no client here has is read as a call without an answer.
fn round_trip_request(name: &str) -> HdfsAnswerKind {
    let bytes = read(&format!("rpc/{name}.request.bin"));
    let Ok(Some((Frame::Bytes(frame), consumed))) = split_frame(&bytes, LIMIT_BYTES) else {
        panic!("{name}: no frame")
    };
    assert_eq!(consumed, bytes.len(), "{name}");
    match decode_hdfs_call(frame) {
        Ok(call) => {
            let mut again = Vec::new();
            encode_hdfs_call(&mut again, call.id, &call.call);
            assert_eq!(again, bytes, "{name}");
            let method = name.split('.').next().unwrap().trim_end_matches('7');
            assert_eq!(call.call.name(), method, "{name}");
            call.call.answer_kind()
        }
        Err(CallError::Method { text, .. }) if name == "getServerDefaults.absent" => {
            assert!(text.contains("NoSuchMethodException"), "{text}");
            HdfsAnswerKind::Void
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

fn round_trip_response(name: &str, kind: HdfsAnswerKind) -> HdfsOutcome {
    let bytes = read(&format!("rpc/{name}.response.bin"));
    let decoded = decode_hdfs_response(kind, &bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (response, consumed) = decoded.unwrap_or_else(|| panic!("{name}: wants more bytes"));
    assert_eq!(consumed, bytes.len(), "{name}");
    let mut again = Vec::new();
    encode_hdfs_response(&mut again, &response);
    assert_eq!(again, bytes, "{name}");
    for end in 0..bytes.len() {
        let cut = decode_hdfs_response(kind, &bytes[..end]);
        assert!(matches!(cut, Ok(None)), "{name} cut to {end} bytes: {cut:?}");
    }
    response.outcome
}

#[test]
fn every_call_and_answer_comes_back_byte_for_byte() {
    let index = fs::read_to_string(fixtures("index.md")).unwrap();
    let mut calls = 0;
    for name in names("rpc").iter().filter_map(|name| name.strip_suffix(".request.bin")) {
        let outcome = round_trip_response(name, round_trip_request(name));
        let row = index.lines().find(|line| line.starts_with(&format!("| {name} | "))).unwrap_or_default();
        assert_eq!(matches!(outcome, HdfsOutcome::Error(_)), row.contains("ERROR"), "{name}: {row}");
        calls += 1;
    }
    assert_eq!((calls, names("rpc").len()), (91, 91 * 2 + 2), "recordings are missing or new");
}

#[test]
fn openings_come_back_byte_for_byte() {
    for (name, protocol) in [
        ("rpc/connection.namenode.bin", HdfsProtocol::Client),
        ("rpc/connection.datanode-ipc.bin", HdfsProtocol::ClientDatanode),
    ] {
        let bytes = read(name);
        let mut opening = Opening::default();
        opening.advance(&bytes).unwrap();
        let Ok(OpeningStep::Done { consumed, header }) = opening.advance(&bytes[6..]) else {
            panic!("{name}: no header")
        };
        assert_eq!(consumed, bytes.len() - 6, "{name}");
        assert_eq!(&*header.protocol, protocol.class_name());
        let mut again = Vec::new();
        encode_opening(&mut again, &header);
        assert_eq!(again, bytes, "{name}");
    }
}

#[test]
fn answers_mean_what_the_recording_says() {
    let answer = |name: &str| match round_trip_response(name, round_trip_request(name)) {
        HdfsOutcome::Value(answer) => answer,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(answer("getProtocolVersion"), HdfsAnswer::Long(HdfsProtocol::Client.version()));
    let HdfsAnswer::Blocks(Some(blocks)) = answer("getBlockLocations.four-blocks") else { panic!("no blocks") };
    assert_eq!(blocks.blocks.len(), 4);
    let offsets: Vec<i64> = blocks.blocks.iter().map(|block| block.offset_bytes).collect();
    assert_eq!(offsets, [0, 1 << 20, 2 << 20, 3 << 20]);
    assert_eq!(blocks.blocks.iter().map(|block| block.block.length_bytes).sum::<i64>(), blocks.file_bytes);
    for missing in ["getBlockLocations.missing", "getBlockLocations.directory"] {
        assert_eq!(answer(missing), HdfsAnswer::Blocks(None));
    }
    let HdfsAnswer::Listing(Some(page)) = answer("getListing.part1") else { panic!("no listing") };
    assert_eq!(page.entries.len(), 5);
    assert!(page.remaining > 0);
    assert_eq!(answer("getFileInfo.missing"), HdfsAnswer::FileStatus(None));
    assert_eq!(answer("getDelegationToken.off"), HdfsAnswer::Token(None));
    let HdfsAnswer::Datanodes(nodes) = answer("getDatanodeReport.live") else { panic!("no nodes") };
    assert!(nodes.len() == 2 && nodes.iter().all(|node| node.locality_host() == "localhost"), "{nodes:?}");
}

#[test]
fn every_call_that_we_make_was_recorded() {
    // A DataNode's, and a form that no client of 1.2.1 sends.
    let unseen = ["delete", "fsync", "recoverBlock"];
    let mut decoded = std::collections::BTreeSet::new();
    for name in names("rpc").iter().filter(|name| name.ends_with(".request.bin")) {
        let bytes = read(&format!("rpc/{name}"));
        if let Ok(call) = decode_hdfs_call(&bytes[4..]) {
            // Behind lengths and ids: the number of parameters.
            let name = call.call.name();
            decoded.insert((name, bytes[10 + name.len() + 3]));
        }
    }
    let seen = |name: &str| decoded.iter().filter(|(seen, _)| *seen == name).count();
    assert_eq!(unseen.map(seen), [1, 0, 0], "only the newer delete");
    assert_eq!((seen("create"), seen("addBlock"), decoded.len()), (2, 2, 28));
    let recover = HdfsCall::RecoverBlock {
        block: jobtracker::wire::hdfs::Block { id: -8, length_bytes: 5, generation: 1001 },
        keep_length: false,
        nodes: Vec::new(),
    };
    let mut bytes = Vec::new();
    encode_hdfs_call(&mut bytes, 3, &recover);
    assert_eq!(decode_hdfs_call(&bytes[4..]).unwrap().call, recover);
}

/// Packets until the end; what is left.
fn round_trip_packets<'a>(mut bytes: &'a [u8], checksums: Checksums, again: &mut Vec<u8>) -> &'a [u8] {
    loop {
        let (frame, used) = split_data_frame(bytes, checksums).unwrap().expect("a packet");
        for end in [0, 3, 4, 20, 24, used - 1].into_iter().filter(|end| *end < used) {
            assert_eq!(split_data_frame(&bytes[..end], checksums), Ok(None));
        }
        bytes = &bytes[used..];
        match frame {
            DataFrame::End => {
                encode_end(again);
                return bytes;
            }
            DataFrame::Packet(packet) => {
                assert_eq!(first_bad_chunk(&packet, checksums), None);
                encode_packet(again, packet.offset_bytes, packet.sequence, packet.is_last, packet.data, checksums);
            }
        }
    }
}

fn round_trip_server(name: &str, request: &DataRequest, bytes: &[u8]) {
    let mut again = Vec::new();
    match request {
        DataRequest::Read(_) => {
            let (answer, used) = decode_read_answer(bytes).unwrap().expect("an answer");
            assert!((0..used).all(|end| decode_read_answer(&bytes[..end]) == Ok(None)), "{name}");
            encode_read_answer(&mut again, &answer);
            if let ReadAnswer::Ready { checksums, .. } = answer {
                assert_eq!(round_trip_packets(&bytes[used..], checksums, &mut again), b"", "{name}");
            }
        }
        DataRequest::Write(write) => {
            let (answer, used) = decode_setup_answer(bytes).unwrap().expect("an answer");
            assert!((0..used).all(|end| decode_setup_answer(&bytes[..end]) == Ok(None)), "{name}");
            encode_setup_answer(&mut again, &answer);
            let mut acks = &bytes[used..];
            let mut expected = 0;
            while !acks.is_empty() {
                let (ack, used) = decode_ack(acks, 2).unwrap().expect("an acknowledgement");
                assert!((0..used).all(|end| decode_ack(&acks[..end], 2) == Ok(None)), "{name}");
                assert_eq!((ack.sequence, ack.statuses.len() as i32), (expected, write.pipeline_nodes), "{name}");
                encode_ack(&mut again, &ack);
                acks = &acks[used..];
                expected += 1;
            }
        }
    }
    assert_eq!(again, bytes, "{name}");
}

#[test]
fn every_stream_of_a_datanode_comes_back_byte_for_byte() {
    let streams = names("datanode");
    for name in &streams {
        let bytes = read(&format!("datanode/{name}/client.bin"));
        let (request, used) = decode_data_request(&bytes).unwrap().unwrap_or_else(|| panic!("{name}: no request"));
        assert!((0..used).all(|end| decode_data_request(&bytes[..end]) == Ok(None)), "{name}");
        let mut again = Vec::new();
        encode_data_request(&mut again, &request);
        let rest = match &request {
            DataRequest::Read(_) => &bytes[used..],
            DataRequest::Write(write) => round_trip_packets(&bytes[used..], write.checksums, &mut again),
        };
        if !rest.is_empty() {
            assert!(matches!(request, DataRequest::Read(_)), "{name}");
            encode_checksum_ok(&mut again);
        }
        assert_eq!(again, bytes, "{name}");
        round_trip_server(name, &request, &read(&format!("datanode/{name}/server.bin")));
    }
    assert_eq!(streams.len(), 11, "recordings are missing or new");
}

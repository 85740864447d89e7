//! What each fuzz target does with an input. `tests/wire/fuzz_targets.rs` does the same with every kept input.

use std::sync::LazyLock;

use jobtracker::wire::frame::{LENGTH_BYTES, split_frame};
use jobtracker::wire::hdfs::{
    Checksums, HdfsAnswerKind, decode_ack, decode_data_request, decode_hdfs_call, decode_hdfs_response,
    decode_read_answer, decode_setup_answer, encode_data_request, encode_hdfs_call, encode_hdfs_response,
    first_bad_chunk, split_data_frame,
};
use jobtracker::wire::opening::{Opening, OpeningStep};
use jobtracker::wire::protocol::{Protocol, ReturnType, decode_call, decode_response, encode_call};
use jobtracker::wire::{Decode, Reader, file};

/// Longest frame that is read, bytes.
const LIMIT_BYTES: usize = 1 << 20;

/// All that any method returns.
static RETURN_TYPES: LazyLock<Vec<ReturnType>> = LazyLock::new(|| {
    let mut types = Vec::new();
    for method in Protocol::ALL.iter().flat_map(|protocol| protocol.methods()) {
        if !types.contains(&method.returns) {
            types.push(method.returns);
        }
    }
    types
});

/// A frame with its length, as a call of each protocol; what can be read is written to bytes that mean the same.
pub fn call(input: &[u8]) {
    let Some(frame) = input.get(LENGTH_BYTES..) else { return };
    for protocol in Protocol::ALL {
        let Ok(call) = decode_call(protocol, frame) else { continue };
        let mut written = Vec::new();
        encode_call(&mut written, call.id, &call.call);
        let read = decode_call(protocol, &written[LENGTH_BYTES..]).expect("a call that was written");
        let mut again = Vec::new();
        encode_call(&mut again, read.id, &read.call);
        assert_eq!(again, written);
    }
}

/// A response of every type; its length is part of it.
pub fn response(input: &[u8]) {
    for returns in RETURN_TYPES.iter() {
        if let Ok(Some((_, consumed))) = decode_response(*returns, input) {
            assert!(consumed <= input.len());
        }
    }
}

/// HDFS: a call, an answer of every type and what comes over the data port of a DataNode; what can be read is written to bytes that mean
/// the same.
pub fn hdfs(input: &[u8]) {
    if let Some(call) = input.get(LENGTH_BYTES..).and_then(|frame| decode_hdfs_call(frame).ok()) {
        let mut written = Vec::new();
        encode_hdfs_call(&mut written, call.id, &call.call);
        assert_eq!(decode_hdfs_call(&written[LENGTH_BYTES..]).expect("a call that was written"), call);
    }
    for kind in HdfsAnswerKind::ALL {
        if let Ok(Some((response, consumed))) = decode_hdfs_response(*kind, input) {
            assert!(consumed <= input.len());
            let mut written = Vec::new();
            encode_hdfs_response(&mut written, &response);
            let read = decode_hdfs_response(*kind, &written).expect("an answer that was written");
            assert_eq!(read.expect("all of it"), (response, written.len()));
        }
    }
    if let Ok(Some((request, consumed))) = decode_data_request(input) {
        assert!(consumed <= input.len());
        let mut written = Vec::new();
        encode_data_request(&mut written, &request);
        assert_eq!(decode_data_request(&written), Ok(Some((request, written.len()))));
    }
    let _ = (decode_read_answer(input), decode_setup_answer(input), decode_ack(input, 3));
    let (mut bytes, checksums) = (input, Checksums::crc32(512));
    while let Ok(Some((frame, consumed))) = split_data_frame(bytes, checksums) {
        if let jobtracker::wire::hdfs::DataFrame::Packet(packet) = frame {
            let _ = first_bad_chunk(&packet, checksums);
        }
        bytes = &bytes[consumed..];
    }
}

/// The opening of a connection and the frames after it.
pub fn opening(input: &[u8]) {
    let mut bytes = input;
    let mut opening = Opening::default();
    loop {
        match opening.advance(bytes) {
            Ok(OpeningStep::Consumed { consumed, .. }) => bytes = &bytes[consumed..],
            Ok(OpeningStep::Done { consumed, .. }) => {
                bytes = &bytes[consumed..];
                break;
            }
            Ok(OpeningStep::NeedMore) | Err(_) => return,
        }
    }
    while let Ok(Some((_, consumed))) = split_frame(bytes, LIMIT_BYTES) {
        bytes = &bytes[consumed..];
    }
}

/// Files of staging and system directories; what can be read is written and read again.
pub fn file(input: &[u8]) {
    if let Ok(splits) = file::read_split_meta(input, None) {
        assert_eq!(file::read_split_meta(&file::write_split_meta(&splits), None).as_ref(), Ok(&splits));
    }
    if let Ok(credentials) = file::read_token_storage(input) {
        assert!(file::read_token_storage(&file::write_token_storage(&credentials)) == Ok(credentials));
    }
    let _ = file::read_file_split(input, 7);
    let _ = file::JobInfo::decode(&mut Reader::new(input));
}

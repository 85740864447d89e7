//! Recorded frames, damaged in every way a random generator thinks of: nothing panics, and nothing takes more memory
//! than the stated multiple of its length.
//!
//! `FUZZ_FRAMES` sets how many frames are tried, `FUZZ_SEED` which ones. The same seed tries the same frames:
//! `FUZZ_FRAMES=10000000 cargo test --release --test mutated_frames`. There is one test in this file since the
//! allocator counts for the whole process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::alloc::System;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use jobtracker::wire::frame::{Frame, LENGTH_BYTES, split_frame};
use jobtracker::wire::hdfs::{
    Checksums, DataFrame, DataRequest, HdfsAnswerKind, ReadAnswer, decode_ack, decode_data_request, decode_hdfs_call,
    decode_hdfs_response, decode_read_answer, decode_setup_answer, encode_data_request, encode_hdfs_call,
    encode_hdfs_response, first_bad_chunk, split_data_frame,
};
use jobtracker::wire::opening::{Opening, OpeningStep};
use jobtracker::wire::protocol::{Protocol, ReturnType, decode_call, decode_response, encode_call};
use jobtracker::wire::{Decode, Encode, MEMORY_BASE_BYTES, MEMORY_PER_BYTE, Reader, Writer, file};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const DEFAULT_FRAMES: u64 = 200_000;
const DEFAULT_SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const LIMIT_BYTES: usize = 1 << 20;

/// Which parser a recording belongs to.
#[derive(Clone, Copy, Debug)]
enum Parser {
    Call(Protocol),
    Response(ReturnType),
    Opening,
    SplitMeta,
    Split,
    TokenStorage,
    JobInfo,
    HdfsCall,
    HdfsResponse(HdfsAnswerKind),
    /// What a client sends to a DataNode.
    DataClient,
    /// What a DataNode sends to one that reads, or that writes.
    DataServer {
        is_read: bool,
    },
}

struct Recording {
    name: String,
    parser: Parser,
    bytes: Vec<u8>,
}

/// A small generator (xorshift64*): the frames must be the same wherever the test runs.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 32) as usize % bound.max(1)
    }
}

fn recordings() -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hadoop1");
    let mut names: Vec<_> = fs::read_dir(root.join("rpc"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let read = |name: &str| fs::read(root.join(name)).unwrap();
    let mut recordings = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(".bin")) {
        let bytes = read(&format!("rpc/{name}"));
        let name = name.trim_end_matches(".bin").to_owned();
        if name.starts_with("connection.") {
            recordings.push(Recording { name, parser: Parser::Opening, bytes });
        } else if let Some(call) = name.strip_suffix(".request") {
            let simple = call.trim_start_matches("badbuild-").split('.').next().unwrap();
            let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.class_name().ends_with(simple)).unwrap();
            let returns = decode_call(protocol, &bytes[LENGTH_BYTES..]).unwrap().call.method().returns;
            let response = read(&format!("rpc/{call}.response.bin"));
            recordings.push(Recording {
                name: format!("{call}.response"),
                parser: Parser::Response(returns),
                bytes: response,
            });
            let bytes = bytes[LENGTH_BYTES..].to_vec();
            recordings.push(Recording { name, parser: Parser::Call(protocol), bytes });
        }
    }
    for (name, parser) in [
        ("files/staging-old-api/job.splitmetainfo", Parser::SplitMeta),
        ("files/staging-old-api/job.split", Parser::Split),
        ("files/staging-new-api/job.split", Parser::Split),
        ("files/system-dir/jobToken.with-secret", Parser::TokenStorage),
        ("files/system-dir/job-info", Parser::JobInfo),
    ] {
        recordings.push(Recording { name: name.to_owned(), parser, bytes: read(name) });
    }
    recordings
}

/// Recorded calls to a NameNode and conversations with DataNodes.
fn hdfs_recordings() -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hdfs1");
    let names = |folder: &str| {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let mut recordings = Vec::new();
    for call in names("rpc").iter().filter_map(|name| name.strip_suffix(".request.bin")) {
        let bytes = fs::read(root.join(format!("rpc/{call}.request.bin"))).unwrap()[LENGTH_BYTES..].to_vec();
        let kind = decode_hdfs_call(&bytes).map_or(HdfsAnswerKind::Void, |call| call.call.answer_kind());
        recordings.push(Recording { name: format!("{call}.request"), parser: Parser::HdfsCall, bytes });
        let bytes = fs::read(root.join(format!("rpc/{call}.response.bin"))).unwrap();
        recordings.push(Recording { name: format!("{call}.response"), parser: Parser::HdfsResponse(kind), bytes });
    }
    for name in names("datanode") {
        // Damage in the middle of much data would be found by its checksum alone.
        let read = |side: &str| {
            let mut bytes = fs::read(root.join(format!("datanode/{name}/{side}.bin"))).unwrap();
            bytes.truncate(2_000);
            bytes
        };
        let is_read = name.starts_with("read");
        recordings.push(Recording { name: name.clone(), parser: Parser::DataClient, bytes: read("client") });
        let bytes = read("server");
        recordings.push(Recording { name, parser: Parser::DataServer { is_read }, bytes });
    }
    recordings
}

/// Damages bytes once.
fn damage(bytes: &mut Vec<u8>, others: &[Recording], random: &mut Random) {
    const LENGTHS: [i32; 8] = [-1, -2, i32::MIN, i32::MAX, 0, 0x00ff_ffff, 0x7fff, 256];
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(40)).min(bytes.len());
    let overwrite = |bytes: &mut Vec<u8>, new: &[u8]| {
        let end = (at + new.len()).min(bytes.len());
        bytes.splice(at.min(end)..end, new.iter().copied());
    };
    match random.below(9) {
        0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
        1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.next() as u8),
        2 => bytes.truncate(at),
        3 => overwrite(bytes, &LENGTHS[random.below(LENGTHS.len())].to_be_bytes()),
        4 => overwrite(bytes, &(bytes.len() as i32).to_be_bytes()),
        // Variable lengths: 2^15 - 1, 2^31 - 1, 2^63 - 1 and -2^63.
        5 => overwrite(
            bytes,
            [&[0x8e, 0x7f, 0xff][..], &[0x8c, 0x7f, 0xff, 0xff, 0xff], &[0x88], &[0x80]][random.below(4)],
        ),
        6 => {
            let other = &others[random.below(others.len())].bytes;
            let start = random.below(other.len());
            let piece = &other[start..(start + random.below(200)).min(other.len())];
            bytes.splice(at.min(end)..end, piece.iter().copied());
        }
        7 => {
            let piece = bytes[at.min(end)..end].to_vec();
            for _ in 0..random.below(50) {
                bytes.splice(at..at, piece.iter().copied());
            }
        }
        _ => drop(bytes.drain(at.min(end)..end)),
    }
}

fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut Writer::new(&mut out));
    out
}

/// Decodes; encodes again what could be decoded.
fn parse(parser: Parser, bytes: &[u8]) -> Option<Vec<u8>> {
    match parser {
        Parser::Call(protocol) => {
            let call = decode_call(protocol, bytes).ok()?;
            let mut out = Vec::new();
            encode_call(&mut out, call.id, &call.call);
            Some(out.split_off(LENGTH_BYTES))
        }
        Parser::Response(returns) => {
            decode_response(returns, bytes).ok().flatten().map(|(response, _)| encoded(&response))
        }
        Parser::Opening => {
            parse_opening(bytes);
            None
        }
        Parser::SplitMeta => file::read_split_meta(bytes, None).ok().map(|splits| file::write_split_meta(&splits)),
        Parser::Split => {
            for offset in [0, 7, 8, bytes.len(), usize::MAX] {
                let _ = file::read_file_split(bytes, offset);
            }
            None
        }
        Parser::TokenStorage => file::read_token_storage(bytes).ok().map(|tokens| file::write_token_storage(&tokens)),
        Parser::JobInfo => file::JobInfo::decode(&mut Reader::new(bytes)).ok().map(|info| encoded(&info)),
        Parser::HdfsCall => {
            let call = decode_hdfs_call(bytes).ok()?;
            let mut out = Vec::new();
            encode_hdfs_call(&mut out, call.id, &call.call);
            Some(out.split_off(LENGTH_BYTES))
        }
        Parser::HdfsResponse(kind) => {
            let (response, _) = decode_hdfs_response(kind, bytes).ok().flatten()?;
            let mut out = Vec::new();
            encode_hdfs_response(&mut out, &response);
            Some(out)
        }
        Parser::DataClient => {
            let (request, used) = decode_data_request(bytes).ok().flatten()?;
            if let DataRequest::Write(write) = &request {
                parse_packets(&bytes[used..], write.checksums);
            }
            let mut out = Vec::new();
            encode_data_request(&mut out, &request);
            Some(out)
        }
        Parser::DataServer { is_read: true } => {
            if let Ok(Some((ReadAnswer::Ready { checksums, .. }, used))) = decode_read_answer(bytes) {
                parse_packets(&bytes[used..], checksums);
            }
            None
        }
        Parser::DataServer { is_read: false } => {
            let (_, mut used) = decode_setup_answer(bytes).ok().flatten()?;
            while let Ok(Some((_, more))) = decode_ack(&bytes[used..], 3) {
                used += more;
            }
            None
        }
    }
}

fn parse_packets(mut bytes: &[u8], checksums: Checksums) {
    while let Ok(Some((frame, used))) = split_data_frame(bytes, checksums) {
        if let DataFrame::Packet(packet) = frame {
            let _ = first_bad_chunk(&packet, checksums);
        }
        bytes = &bytes[used..];
    }
}

fn parse_opening(mut bytes: &[u8]) {
    let mut opening = Opening::default();
    while let Ok(OpeningStep::Consumed { consumed, .. }) = opening.advance(bytes) {
        bytes = &bytes[consumed..];
    }
    while let Ok(Some((Frame::Ping | Frame::Bytes(_), consumed))) = split_frame(bytes, LIMIT_BYTES) {
        bytes = &bytes[consumed..];
    }
}

/// Decodes and no more: what is encoded again must not count as memory that decoding took.
fn decode_only(parser: Parser, bytes: &[u8]) {
    match parser {
        Parser::Call(protocol) => drop(decode_call(protocol, bytes)),
        Parser::Response(returns) => drop(decode_response(returns, bytes)),
        Parser::Opening | Parser::Split | Parser::DataServer { .. } => drop(parse(parser, bytes)),
        Parser::HdfsCall => drop(decode_hdfs_call(bytes)),
        Parser::HdfsResponse(kind) => drop(decode_hdfs_response(kind, bytes)),
        Parser::DataClient => drop(decode_data_request(bytes)),
        Parser::SplitMeta => drop(file::read_split_meta(bytes, None)),
        Parser::TokenStorage => drop(file::read_token_storage(bytes)),
        Parser::JobInfo => drop(file::JobInfo::decode(&mut Reader::new(bytes))),
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name}={value}")))
}

#[test]
fn damaged_frames_neither_panic_nor_take_much_memory() {
    let mut recordings = recordings();
    recordings.extend(hdfs_recordings());
    assert!(recordings.len() > 480, "only {} recordings", recordings.len());
    let (frames, seed) = (setting("FUZZ_FRAMES", DEFAULT_FRAMES), setting("FUZZ_SEED", DEFAULT_SEED));
    let mut random = Random(seed | 1);
    let (mut worst_ratio, mut decoded) = (0.0_f64, 0_u64);
    for number in 0..frames {
        let recording = &recordings[random.below(recordings.len())];
        let mut bytes = recording.bytes.clone();
        for _ in 0..=random.below(4) {
            damage(&mut bytes, &recordings, &mut random);
        }
        let parser = recording.parser;
        let tell = || format!("frame {number} of seed {seed}, from {}: {bytes:02x?}", recording.name);

        let region = Region::new(ALLOCATOR);
        let outcome = catch_unwind(|| decode_only(parser, &bytes));
        let taken_bytes = region.change().bytes_allocated;
        assert!(outcome.is_ok(), "panic: {}", tell());
        let limit_bytes = bytes.len() * MEMORY_PER_BYTE + MEMORY_BASE_BYTES;
        assert!(taken_bytes <= limit_bytes, "{taken_bytes} bytes taken, {limit_bytes} allowed: {}", tell());
        worst_ratio = worst_ratio.max(taken_bytes as f64 / (bytes.len() + MEMORY_BASE_BYTES / MEMORY_PER_BYTE) as f64);

        if let Some(again) = parse(parser, &bytes) {
            decoded += 1;
            let third = parse(parser, &again);
            assert_eq!(third.as_ref(), Some(&again), "what was encoded does not come back: {}", tell());
        }
    }
    println!("{frames} frames, {decoded} of them still meant something, at most {worst_ratio:.1} times their length");
    assert!(decoded > frames / 50, "hardly any frame got past the first bytes, so the rest was not tried");
}

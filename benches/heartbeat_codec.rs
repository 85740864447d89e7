//! What a heartbeat costs in bytes to values and back, on frames recorded from stock Hadoop 1.2.1.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use jobtracker::wire::frame::LENGTH_BYTES;
use jobtracker::wire::protocol::{
    CallOutcome, Protocol, ReturnType, Value, decode_call, decode_response, encode_call, encode_response,
};

fn recorded(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hadoop1/rpc");
    std::fs::read(folder.join(format!("InterTrackerProtocol.heartbeat.{name}.bin"))).unwrap()
}

fn heartbeats(criterion: &mut Criterion) {
    for name in ["idle", "map-succeeded", "launch-map"] {
        let mut group = criterion.benchmark_group(name);
        let request = recorded(&format!("{name}.request"));
        let frame = &request[LENGTH_BYTES..];
        group.throughput(Throughput::Bytes(frame.len() as u64));
        group.bench_function("decode request", |bencher| {
            bencher.iter(|| decode_call(Protocol::InterTracker, black_box(frame)).unwrap());
        });
        let call = decode_call(Protocol::InterTracker, frame).unwrap();
        let mut out = Vec::new();
        group.bench_function("encode request", |bencher| {
            bencher.iter(|| {
                out.clear();
                encode_call(&mut out, call.id, black_box(&call.call));
            });
        });

        let response = recorded(&format!("{name}.response"));
        group.throughput(Throughput::Bytes(response.len() as u64));
        let decoded = decode_response(ReturnType::Heartbeat, &response).unwrap().unwrap().0;
        let CallOutcome::Value(value) = decoded.outcome else { panic!("the heartbeat failed") };
        group.bench_function("encode answer", |bencher| {
            bencher.iter(|| {
                out.clear();
                encode_response(&mut out, 5, black_box(&value));
            });
        });
        let Value::Heartbeat(answer) = &value else { panic!("not an answer to a heartbeat") };
        let kept = Value::EncodedHeartbeat(Arc::from(answer.encode_body()));
        group.bench_function("encode kept answer", |bencher| {
            bencher.iter(|| {
                out.clear();
                encode_response(&mut out, 5, black_box(&kept));
            });
        });
        group.finish();
    }
}

criterion_group!(benches, heartbeats);
criterion_main!(benches);

//! How fast map output is collected, sorted, spilled and merged, in bytes of records per second.

#![allow(missing_docs, clippy::unwrap_used, reason = "a measurement")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

use jobtracker::streaming::codec::Codec;
use jobtracker::streaming::key_order::{KeyOrder, Partitioner};
use jobtracker::streaming::map_output::{MapOutput, OutputRules};
use jobtracker::streaming::plan::SortPlan;
use jobtracker::streaming::progress::Progress;
use jobtracker::wire::Phase;

/// Records of one round.
const RECORDS: usize = 1_000_000;

/// `word TAB 1` of a small language, or lines with keys that hardly ever repeat.
fn records(of_words: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..RECORDS)
        .map(|_| {
            if of_words {
                // Some words are much more common than others.
                let word = (random() % 5000).min(random() % 5000);
                (format!("word{word}").into_bytes(), b"1".to_vec())
            } else {
                (format!("{:016x}", random()).into_bytes(), vec![b'v'; 80])
            }
        })
        .collect()
}

fn map_output(criterion: &mut Criterion) {
    let progress = Progress::new("attempt_202611211027_0016_m_000000_0".parse().unwrap(), Phase::Map, None).unwrap();
    let mut group = criterion.benchmark_group("map_output");
    group.sample_size(10);
    for (name, of_words, memory_mb, codec) in [
        ("words", true, 512, None),
        ("words spilled", true, 16, None),
        ("words zlib", true, 512, Some(Codec::Zlib)),
        ("long unique lines", false, 512, None),
    ] {
        let records = records(of_words);
        let bytes: usize = records.iter().map(|(key, value)| key.len() + value.len()).sum();
        let memory_bytes = memory_mb << 20;
        let sort = SortPlan {
            reduces: 4,
            partitioner: Partitioner::Hash,
            order: KeyOrder::Bytes,
            codec,
            combine: None,
            memory_bytes,
            spill_at_bytes: memory_bytes / 5 * 4,
            factor: 10,
            least_spills_to_combine: 3,
        };
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || tempfile::tempdir().unwrap(),
                |folder| {
                    let rules = OutputRules { sort: &sort, combiner: None, folder: folder.path() };
                    let mut output = MapOutput::new(rules, &progress);
                    for (key, value) in &records {
                        output.collect(key, value).unwrap();
                    }
                    black_box(output.finish().unwrap());
                    folder
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, map_output);
criterion_main!(benches);

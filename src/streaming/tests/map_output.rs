//! Map output equals what stock Hadoop wrote, however often it had to be spilled.

use proptest::prelude::*;

use crate::wire::Phase;

use super::super::command_stream::closures::{Closure, sums};
use super::super::fixtures;
use super::super::segment_reader::SegmentReader;
use super::super::spill_index::read_index;
use super::*;
use crate::streaming::command_stream::FieldRule;

fn plan(reduces: u32, codec: Option<Codec>, spill_at_bytes: u64) -> SortPlan {
    SortPlan {
        reduces,
        partitioner: Partitioner::Hash,
        order: super::super::key_order::KeyOrder::Bytes,
        codec,
        combine: None,
        memory_bytes: 1 << 20,
        spill_at_bytes,
        factor: 3,
        least_spills_to_combine: 3,
    }
}

fn progress() -> Progress {
    Progress::new("attempt_202611211027_0016_m_000000_0".parse().unwrap(), Phase::Map, None).unwrap()
}

/// Collects lines `key TAB value`.
fn collect(sort: &SortPlan, combiner: Option<Combiner<'_>>, lines: &str) -> (tempfile::TempDir, Progress) {
    let folder = tempfile::tempdir().unwrap();
    let progress = progress();
    let mut output = MapOutput::new(OutputRules { sort, combiner, folder: folder.path() }, &progress);
    for line in lines.lines() {
        let (key, value) = line.split_once('\t').unwrap();
        output.collect(key.as_bytes(), value.as_bytes()).unwrap();
    }
    let bytes = output.finish().unwrap();
    assert_eq!(bytes, fs::metadata(folder.path().join(OUTPUT_FILE)).unwrap().len());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    (folder, progress)
}

/// The words of a file, as the recorded mapper writes them.
fn words(file: &str) -> String {
    let text = String::from_utf8(fixtures::bytes(&format!("input/{file}.txt"))).unwrap();
    text.split_whitespace().map(|word| format!("{word}\t1\n")).collect()
}

fn segments(folder: &Path, codec: Option<Codec>) -> Vec<Vec<(String, String)>> {
    let index = read_index(&fs::read(folder.join(INDEX_FILE)).unwrap()).unwrap();
    let segment = |entry: &IndexEntry| {
        let mut reader =
            SegmentReader::open(&folder.join(OUTPUT_FILE), entry.start_bytes, entry.lengths, codec).unwrap();
        let mut records = Vec::new();
        while reader.advance().unwrap() {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            records.push((text(reader.key()), text(reader.value())));
        }
        records
    };
    index.iter().map(segment).collect()
}

fn counted(progress: &Progress) -> [i64; 6] {
    [
        FrameworkCounter::MapOutputRecords,
        FrameworkCounter::MapOutputBytes,
        FrameworkCounter::MapOutputMaterializedBytes,
        FrameworkCounter::CombineInputRecords,
        FrameworkCounter::CombineOutputRecords,
        FrameworkCounter::SpilledRecords,
    ]
    .map(|counter| progress.counters().get(counter))
}

#[test]
fn a_plain_map_writes_the_recorded_bytes() {
    for (map, file, counters) in [(0, "a", [11, 74, 108, 0, 0, 11]), (1, "b", [5, 36, 58, 0, 0, 5])] {
        let (folder, progress) = collect(&plan(2, None, 1 << 20), None, &words(file));
        for name in [OUTPUT_FILE, INDEX_FILE] {
            let recorded = fixtures::bytes(&format!("plain/map{map}.{name}"));
            assert_eq!(fs::read(folder.path().join(name)).unwrap(), recorded, "{map} {name}");
        }
        assert_eq!(counted(&progress), counters);
    }
}

#[test]
fn a_combined_and_compressed_map_writes_the_recorded_records() {
    let command = Closure(sums);
    let rule = FieldRule { separator: b"\t".to_vec(), key_fields: 1 };
    let combiner = Combiner::Command { command: &command, input_separator: b"\t", output: &rule };
    for (map, file, counters) in [(0, "a", [11, 74, 0, 11, 10, 10]), (1, "b", [5, 36, 0, 5, 4, 4])] {
        let (folder, progress) = collect(&plan(2, Some(Codec::Zlib), 1 << 20), Some(combiner), &words(file));
        let recorded = fixtures::decoded()["zlib"]["maps"][format!("map{map}")]["reduces"].clone();
        let recorded: Vec<Vec<(String, String)>> = recorded
            .as_array()
            .unwrap()
            .iter()
            .map(|reduce| serde_json::from_value(reduce["records"].clone()).unwrap())
            .collect();
        assert_eq!(segments(folder.path(), Some(Codec::Zlib)), recorded);
        let mut counted = counted(&progress);
        counted[2] = 0;
        assert_eq!(counted, counters);
    }
}

#[test]
fn a_map_without_output_leaves_empty_segments() {
    let (folder, progress) = collect(&plan(3, None, 1), None, "");
    assert_eq!(segments(folder.path(), None), vec![Vec::new(); 3]);
    assert_eq!(counted(&progress), [0, 0, 18, 0, 0, 0]);
}

#[test]
fn combining_again_needs_enough_spills() {
    let command = Closure(sums);
    let rule = FieldRule { separator: b"\t".to_vec(), key_fields: 1 };
    let combiner = Combiner::Command { command: &command, input_separator: b"\t", output: &rule };
    // Each record is a spill.
    let two = collect(&plan(1, None, 1), Some(combiner), "a\t1\na\t2\n");
    assert_eq!(segments(two.0.path(), None)[0].len(), 2);
    assert_eq!(counted(&two.1)[3..], [2, 2, 4]);
    let three = collect(&plan(1, None, 1), Some(combiner), "a\t1\na\t2\na\t3\n");
    assert_eq!(segments(three.0.path(), None)[0], [("a".to_owned(), "6".to_owned())]);
    assert_eq!(counted(&three.1)[3..], [6, 4, 4]);
}

#[test]
fn who_is_to_end_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (sort, progress) = (plan(1, None, 1), progress());
    let mut output = MapOutput::new(OutputRules { sort: &sort, combiner: None, folder: folder.path() }, &progress);
    progress.kill();
    assert!(matches!(output.collect(b"a", b""), Err(TaskFailure::Killed)));
}

proptest! {
    #[test]
    fn spills_make_no_difference(
        records in proptest::collection::vec(("[a-c]{0,3}", "[a-z]{0,20}"), 0..60), spill_at in 1_u64..3000, zlib: bool,
    ) {
        let lines: String = records.iter().map(|(key, value)| format!("{key}\t{value}\n")).collect();
        let codec = zlib.then_some(Codec::Zlib);
        let (many, one) = (collect(&plan(2, codec, spill_at), None, &lines), collect(&plan(2, codec, 1 << 20), None, &lines));
        let (many_counted, one_counted) = (counted(&many.1), counted(&one.1));
        prop_assert_eq!(&many_counted[..2], &one_counted[..2]);
        let sorted = |folder: &Path| {
            let mut segments = segments(folder, codec);
            // Merges in several steps may change the order of equal keys.
            assert!(segments.iter().all(|segment| segment.is_sorted_by_key(|(key, _)| key.clone())));
            segments.iter_mut().for_each(|segment| segment.sort());
            segments
        };
        prop_assert_eq!(sorted(many.0.path()), sorted(one.0.path()));
    }
}

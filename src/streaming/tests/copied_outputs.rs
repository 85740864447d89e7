//! Outputs are segment within memory, and none is lost on its way to disk.

use super::super::super::segment_reader::Records;
use super::super::super::segment_writer::{SegmentLengths, SegmentWriter};
use super::super::super::stage::{attempt_id, counted, progress_of};
use super::*;

fn output(keys: &[&str], codec: Option<Codec>) -> (Vec<u8>, SegmentLengths) {
    let mut writer = SegmentWriter::new(Vec::new(), codec);
    for key in keys {
        writer.append(key.as_bytes(), b"").unwrap();
    }
    writer.finish().unwrap()
}

fn fetched<'a>(output: &'a (Vec<u8>, SegmentLengths)) -> Fetched<'a> {
    Fetched { lengths: output.1, body: Box::new(&output.0[..]) }
}

fn rules(folder: &Path, memory_bytes: u64, codec: Option<Codec>) -> CopyRules<'_> {
    CopyRules {
        memory_bytes,
        merge_at_bytes: memory_bytes,
        merge_at_outputs: usize::MAX,
        order: &KeyOrder::Bytes,
        codec,
        folder,
    }
}

#[test]
fn what_does_not_fit_goes_to_disk_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(100);
    for (codec, memory_bytes) in [(None, 1000), (Some(Codec::Zlib), 1000), (None, 30), (None, 60), (None, 0)] {
        let progress = progress_of(attempt_id('r', 0), None);
        let copied = CopiedOutputs::new(rules(folder.path(), memory_bytes, codec), &progress);
        for keys in [&["a", "c"][..], &["b"], &[], &[&long], &["d"], &["a"]] {
            let output = output(keys, codec);
            let segment = copied.buffer(fetched(&output)).unwrap();
            copied.add(segment).unwrap();
        }
        let (memory, disk) = copied.into_runs();
        assert_eq!(disk.is_empty(), memory_bytes == 1000, "{memory_bytes}");
        let is_in_memory = disk.is_empty();
        let runs = memory.into_iter().chain(disk).collect();
        let mut merge = Merge::of(runs, &KeyOrder::Bytes, codec, &progress).unwrap();
        let [read, written] = [FrameworkCounter::FileBytesRead, FrameworkCounter::FileBytesWritten]
            .map(|counter| progress.counters().get(counter));
        assert_eq!((read, written > 0), (written, !is_in_memory), "{memory_bytes}");
        let mut keys = Vec::new();
        while merge.advance().unwrap() {
            keys.push(String::from_utf8(merge.key().to_vec()).unwrap());
        }
        assert_eq!(keys, ["a", "a", "b", "c", "d", &long]);
        drop(merge);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn many_outputs_in_memory_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let progress = progress_of(attempt_id('r', 0), None);
    let rules = CopyRules { merge_at_outputs: 2, ..rules(folder.path(), 1000, None) };
    let copied = CopiedOutputs::new(rules, &progress);
    let output = output(&["a"], None);
    for _ in 0..3 {
        copied.add(copied.buffer(fetched(&output)).unwrap()).unwrap();
    }
    let unwanted = copied.buffer(fetched(&output)).unwrap();
    copied.discard(unwanted);
    let (memory, disk) = copied.into_runs();
    assert_eq!((memory.len(), disk.len()), (1, 1));
    let stored = output.1.stored_bytes as i64;
    assert_eq!(counted(&progress, &["SPILLED_RECORDS", "REDUCE_SHUFFLE_BYTES"]), [2, 3 * stored]);
}

#[test]
fn damage_costs_a_fetch_and_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let progress = progress_of(attempt_id('r', 0), None);
    for memory_bytes in [0, 100] {
        let copied = CopiedOutputs::new(rules(folder.path(), memory_bytes, None), &progress);
        let mut bad = output(&["a"], None);
        bad.0[2] ^= 1;
        for _ in 0..50 {
            assert!(matches!(copied.buffer(fetched(&bad)), Err(BufferError::Fetch(FetchError::Read(_)))));
        }
        let mut lies = output(&["a"], None);
        lies.1.raw_bytes += 1;
        assert_eq!(copied.buffer(fetched(&lies)).is_err(), memory_bytes > 0);
        assert_eq!(copied.state().used_bytes, 0);
    }
}

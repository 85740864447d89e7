//! Maps of the recorded jobs, from their input files to the recorded bytes and counters.

use std::fs;
use std::path::Path;

use crate::fs::FileUri;

use super::super::fixtures;
use super::super::map_output::{INDEX_FILE, OUTPUT_FILE};
use super::super::stage::{Stage, attempt_id, counted, progress_of};
use super::*;

fn assert_output_is_recorded(folder: &Path, recorded: &str) {
    for name in [OUTPUT_FILE, INDEX_FILE] {
        let expected = fixtures::bytes(&format!("{recorded}.{name}"));
        assert!(fs::read(folder.join(name)).unwrap() == expected, "{recorded} {name}");
    }
}

#[test]
fn plain_maps_leave_the_recorded_output_and_counters() {
    let stage = Stage::new("plain", &[]);
    let names = [
        "MAP_INPUT_RECORDS",
        "MAP_INPUT_BYTES",
        "MAP_OUTPUT_RECORDS",
        "MAP_OUTPUT_BYTES",
        "MAP_OUTPUT_MATERIALIZED_BYTES",
        "SPILLED_RECORDS",
        "SPLIT_RAW_BYTES",
        "BYTES_READ",
        "COMBINE_INPUT_RECORDS",
        "lines",
    ];
    let recorded = [[3, 52, 11, 74, 108, 11, 79, 52, 0, 3], [3, 27, 5, 36, 58, 5, 79, 27, 0, 3]];
    for (task, file, expected) in [(0, "a", recorded[0]), (1, "b", recorded[1])] {
        let (result, progress) = stage.map(task, file);
        assert_eq!(result.unwrap(), MapResult { output_bytes: Some(expected[4] as u64) });
        assert_output_is_recorded(&stage.map_folder(task), &format!("plain/map{task}"));
        assert_eq!(counted(&progress, &names), expected);
        let left = [OUTPUT_FILE, INDEX_FILE].map(|name| fs::metadata(stage.map_folder(task).join(name)).unwrap().len());
        assert_eq!(counted(&progress, &["FILE_BYTES_WRITTEN"]), [left.iter().sum::<u64>() as i64]);
        assert_eq!(progress.status(), (Phase::Map, "mapper is done".to_owned()));
        assert_eq!(progress.done_thousandths(), 1000);
    }
}

#[test]
fn key_fields_decide_on_partition_and_order() {
    let stage = Stage::new("keyfields", &[]);
    let (result, _) = stage.map(0, "keyfields");
    result.unwrap();
    assert_output_is_recorded(&stage.map_folder(0), "keyfields/map0");
}

#[test]
fn a_combiner_runs_over_each_spill() {
    let stage = Stage::new("zlib", &[]);
    let (result, progress) = stage.map(0, "a");
    result.unwrap();
    let names = ["COMBINE_INPUT_RECORDS", "COMBINE_OUTPUT_RECORDS", "SPILLED_RECORDS", "lines"];
    assert_eq!(counted(&progress, &names), [11, 10, 10, 3]);
}

#[test]
fn without_reduces_output_waits_for_its_commit() {
    let stage = Stage::new("plain", &[("mapred.reduce.tasks", "0"), ("stream.map.streamprocessor", "cat")]);
    let (result, progress) = stage.map(4, "a");
    assert_eq!(result.unwrap(), MapResult { output_bytes: None });
    let folder = stage.path("out/_temporary").join(format!("_{}", attempt_id('m', 4)));
    assert_eq!(
        fs::read_to_string(folder.join("part-00004")).unwrap(),
        "the quick brown fox\t\njumps over the lazy dog\t\nTHE end\t\n"
    );
    assert_eq!(counted(&progress, &["MAP_OUTPUT_RECORDS", "SPILLED_RECORDS", "BYTES_WRITTEN"]), [3, 0, 55 + 12]);
}

#[test]
fn a_failed_map_leaves_no_output() {
    let change = [("mapred.reduce.tasks", "0"), ("stream.map.streamprocessor", "sh+-c+%22cat;exit+7%22")];
    let stage = Stage::new("plain", &change);
    let (result, _) = stage.map(0, "a");
    assert!(matches!(&result, Err(TaskFailure::ExitStatus(exit)) if exit.code == 7), "{result:?}");
    assert_eq!(fs::read_dir(stage.path("out/_temporary")).unwrap().count(), 0);
}

#[test]
fn a_map_that_hangs_is_ended() {
    let stage = Stage::new("plain", &[("stream.map.streamprocessor", "sleep+1000"), ("mapred.task.timeout", "200")]);
    let (result, _) = stage.map(0, "a");
    assert!(matches!(result, Err(TaskFailure::TimedOut { .. })), "{result:?}");
}

#[test]
fn a_missing_input_says_which() {
    let stage = Stage::new("plain", &[]);
    let split = MapSplit {
        uri: "file:/no/such".to_owned(),
        file: FileUri::parse("file:/no/such").unwrap(),
        start_bytes: 0,
        length_bytes: 1,
        raw_bytes: 60,
    };
    let progress = progress_of(attempt_id('m', 0), None);
    let error = stage.attempt(0, Some(&split), &progress, |attempt| run(attempt, &split)).unwrap_err();
    insta::assert_snapshot!(error, @"cannot read /no/such: No such file or directory (os error 2)");
}

#[test]
fn splits_of_recorded_jobs_are_read() {
    let split = MapSplit::read(&fixtures::bytes("plain/job.split"), 7, &FileUri::local_root()).unwrap();
    assert_eq!((split.start_bytes, split.length_bytes, split.raw_bytes), (0, 52, 79));
    assert!(split.uri.starts_with("file:/") && split.uri.ends_with("a.txt"), "{}", split.uri);
    assert!(MapSplit::read(b"SPL", 0, &FileUri::local_root()).is_err());
}

//! Whole jobs, from input files to part files, equal to what the stock cluster left.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::fs::FileSystems;
use crate::model::{AttemptId, JobId};

use super::super::committer::OutputCommitter;
use super::super::fixtures;
use super::super::map_output::{INDEX_FILE, OUTPUT_FILE};
use super::super::segment_writer::SegmentLengths;
use super::super::shuffle::fetch::{FetchError, Fetched, HttpFetcher};
use super::super::shuffle::fetch_schedule::MapEvent;
use super::super::shuffle::host_queues::FetchOrder;
use super::super::shuffle::servlet;
use super::super::shuffle::servlet::{MapOutputRequest, OutputFolder, ServedOutputs};
use super::super::shuffle::signature::ShuffleSecret;
use super::super::spill_index::read_index;
use super::super::stage::{Stage, attempt_id, counted, progress_of};
use super::*;

/// Fetches from the folders of maps that ran in the same stage; the first fetches fail.
struct FromFolders<'a> {
    stage: &'a Stage,
    failures: AtomicU32,
}

impl FetchMapOutput for FromFolders<'_> {
    fn fetch(&self, order: &FetchOrder, reduce: u32) -> Result<Fetched<'_>, FetchError> {
        if self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
            return Err(FetchError::Connect(std::io::ErrorKind::ConnectionRefused.into()));
        }
        let folder: PathBuf = self.stage.map_folder(order.attempt.task.number as u32);
        let entry = read_index(&fs::read(folder.join(INDEX_FILE)).unwrap()).unwrap()[reduce as usize];
        let file = fs::read(folder.join(OUTPUT_FILE)).unwrap();
        let SegmentLengths { stored_bytes, .. } = entry.lengths;
        let body = file[entry.start_bytes as usize..][..stored_bytes as usize].to_vec();
        Ok(Fetched { lengths: entry.lengths, body: Box::new(std::io::Cursor::new(body)) })
    }
}

fn succeeded(attempt: AttemptId) -> MapEvent {
    MapEvent::Succeeded { attempt, tracker: format!("http://host{}:1", attempt.task.number), run_ms: 1 }
}

/// Runs a reduce over maps that ran.
fn reduce(stage: &Stage, maps: u32, partition: u32) -> (Result<(), TaskFailure>, Progress) {
    let progress = progress_of(attempt_id('r', partition), stage.plan.process.time_limit);
    let feed = MapCompletionFeed::default();
    feed.push((0..maps).map(|map| succeeded(attempt_id('m', map))));
    let fetcher = FromFolders { stage, failures: AtomicU32::new(0) };
    let result = stage.attempt(partition, None, &progress, |attempt| run(attempt, maps, &feed, &fetcher));
    (result, progress)
}

/// Commits and reads a part file.
fn committed(stage: &Stage, progress: &Progress, name: &str) -> Vec<u8> {
    let committer = OutputCommitter::new(&FileSystems::with_defaults("alice"), stage.plan.output.folder.clone());
    assert!(committer.needs_commit(progress.attempt()).unwrap());
    committer.commit(progress.attempt()).unwrap();
    fs::read(stage.path("out").join(name)).unwrap()
}

/// The recorded third input makes the stock mapper sleep; ours takes it for a word.
const INPUTS: [&str; 3] = ["a", "b", "c"];

const NAMES: [&str; 7] = [
    "REDUCE_SHUFFLE_BYTES",
    "REDUCE_INPUT_GROUPS",
    "REDUCE_INPUT_RECORDS",
    "REDUCE_OUTPUT_RECORDS",
    "SPILLED_RECORDS",
    "COMBINE_INPUT_RECORDS",
    "COMBINE_OUTPUT_RECORDS",
];

#[test]
fn a_plain_job_leaves_the_recorded_output_and_counters() {
    let stage = Stage::new("plain", &[]);
    for (task, file) in INPUTS.into_iter().enumerate() {
        stage.map(task as u32, file).0.unwrap();
    }
    for (partition, expected) in [(0, [105, 7, 10, 7, 10, 0, 0]), (1, [85, 6, 7, 6, 7, 0, 0])] {
        let (result, progress) = reduce(&stage, 3, partition);
        result.unwrap();
        assert_eq!(counted(&progress, &NAMES), expected);
        let name = format!("part-0000{partition}");
        assert_eq!(committed(&stage, &progress, &name), fixtures::bytes(&format!("output/plain.{name}")));
        let (phase, status) = progress.status();
        assert!(phase == Phase::Reduce && status.ends_with("> reduce"), "{status}");
    }
}

#[test]
fn a_combined_and_compressed_job_leaves_the_recorded_output_and_counters() {
    let stage = Stage::new("zlib", &[]);
    for (task, file) in INPUTS.into_iter().enumerate() {
        stage.map(task as u32, file).0.unwrap();
    }
    for (partition, expected) in [(0, [7, 8, 7, 8, 0, 0]), (1, [6, 7, 6, 7, 0, 0])] {
        let (result, progress) = reduce(&stage, 3, partition);
        result.unwrap();
        assert_eq!(counted(&progress, &NAMES)[1..], expected);
        let name = format!("part-0000{partition}.gz");
        let unzipped = |bytes: &[u8]| {
            let mut text = String::new();
            flate2::read::MultiGzDecoder::new(bytes).read_to_string(&mut text).unwrap();
            text
        };
        let ours = committed(&stage, &progress, &name);
        assert_eq!(unzipped(&ours), unzipped(&fixtures::bytes(&format!("output/zlib.{name}"))));
    }
}

#[test]
fn key_fields_decide_on_order_and_groups() {
    let stage = Stage::new("keyfields", &[]);
    stage.map(0, "keyfields").0.unwrap();
    // The other input of the recorded job is not among the fixtures, but what came of it is.
    let other = stage.path("other.txt");
    fs::write(&other, "SLEEP20\n").unwrap();
    stage.map_file(1, &other).0.unwrap();
    for partition in 0..2 {
        let (result, progress) = reduce(&stage, 2, partition);
        result.unwrap();
        let name = format!("part-0000{partition}");
        assert_eq!(committed(&stage, &progress, &name), fixtures::bytes(&format!("output/keyfields.{name}")));
    }
}

#[test]
fn little_memory_and_few_runs_at_a_time_make_no_difference() {
    let changes = [
        ("mapred.reduce.child.java.opts", "-Xmx400"),
        ("io.sort.factor", "2"),
        ("mapred.inmem.merge.threshold", "2"),
        ("io.sort.spill.percent", "0.000001"),
    ];
    let stage = Stage::new("plain", &changes);
    for (task, file) in INPUTS.into_iter().enumerate() {
        stage.map(task as u32, file).0.unwrap();
    }
    let (result, progress) = reduce(&stage, 3, 0);
    result.unwrap();
    assert_eq!(counted(&progress, &NAMES)[..4], [105, 7, 10, 7]);
    assert_eq!(committed(&stage, &progress, "part-00000"), fixtures::bytes("output/plain.part-00000"));
    let left = fs::read_dir(stage.path(&format!("{}/output", progress.attempt()))).unwrap().count();
    assert_eq!(left, 0, "intermediate files are gone");
}

#[test]
fn without_input_the_reducer_speaks_into_nothing() {
    let stage = Stage::new("plain", &[("stream.reduce.streamprocessor", "echo+words")]);
    let (result, progress) = reduce(&stage, 0, 1);
    result.unwrap();
    assert_eq!(committed(&stage, &progress, "part-00001"), b"");
}

#[test]
fn without_a_reducer_records_pass() {
    let stage = Stage::new("plain", &[("stream.reduce.streamprocessor", "")]);
    assert_eq!(stage.plan.reduce, None);
    stage.map(0, "b").0.unwrap();
    let (result, progress) = reduce(&stage, 1, 1);
    result.unwrap();
    assert_eq!(committed(&stage, &progress, "part-00001"), "dog\t1\nwörld\t1\n".as_bytes());
    assert_eq!(counted(&progress, &NAMES)[1..5], [2, 2, 2, 2]);
}

#[test]
fn a_failed_reducer_leaves_nothing() {
    let stage = Stage::new("plain", &[("stream.reduce.streamprocessor", "false")]);
    stage.map(0, "b").0.unwrap();
    let (result, progress) = reduce(&stage, 1, 1);
    assert!(matches!(&result, Err(TaskFailure::ExitStatus(exit)) if exit.code == 1), "{result:?}");
    assert!(
        !OutputCommitter::new(&FileSystems::with_defaults("alice"), stage.plan.output.folder.clone())
            .needs_commit(progress.attempt())
            .unwrap()
    );
}

#[test]
fn news_may_come_late_and_a_kill_ends_the_wait() {
    let stage = Stage::new("plain", &[]);
    stage.map(0, "b").0.unwrap();
    let progress = progress_of(attempt_id('r', 0), None);
    let (feed, fetcher) = (MapCompletionFeed::default(), FromFolders { stage: &stage, failures: AtomicU32::new(0) });
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !progress.status().1.starts_with("reduce > copy (0 of 2") {
                std::thread::yield_now();
            }
            feed.push([succeeded(attempt_id('m', 0))]);
            while !progress.status().1.starts_with("reduce > copy (1 of 2") {
                std::thread::yield_now();
            }
            progress.kill();
        });
        stage.attempt(0, None, &progress, |attempt| run(attempt, 2, &feed, &fetcher))
    });
    assert!(matches!(result, Err(TaskFailure::Killed)), "{result:?}");
}

#[test]
fn maps_given_up_count_as_done() {
    let stage = Stage::new("plain", &[]);
    stage.map(0, "b").0.unwrap();
    let progress = progress_of(attempt_id('r', 1), None);
    let (feed, fetcher) = (MapCompletionFeed::default(), FromFolders { stage: &stage, failures: AtomicU32::new(0) });
    feed.push([succeeded(attempt_id('m', 0)), MapEvent::GivenUp(attempt_id('m', 1))]);
    stage.attempt(1, None, &progress, |attempt| run(attempt, 2, &feed, &fetcher)).unwrap();
    assert_eq!(committed(&stage, &progress, "part-00001"), "dog\t1\nwörld\t1\n".as_bytes());
}

/// Serves what the maps of a stage left, as the tracker of the recorded job would.
struct Serving<'a>(&'a Stage);

impl ServedOutputs for Serving<'_> {
    fn secret(&self, _job: JobId) -> Option<ShuffleSecret> {
        ShuffleSecret::of_token_file(&fixtures::bytes("plain/jobToken"))
    }

    fn output_folder(&self, attempt: AttemptId) -> Option<OutputFolder> {
        let path = self.0.map_folder(attempt.task.number as u32);
        Some(OutputFolder { root: path.clone(), path, owner: rustix::process::geteuid().as_raw() })
    }
}

fn serve(outputs: &Serving<'_>, mut connection: std::net::TcpStream) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0);
    }
    let answer = servlet::answer(
        &MapOutputRequest {
            path_and_query: head.split(' ').nth(1).unwrap().to_owned(),
            url_hash: head.lines().find_map(|line| line.strip_prefix("urlhash: ")).map(str::to_owned),
            local_port: connection.local_addr().unwrap().port(),
        },
        outputs,
    );
    let body = answer.body.map_or(Vec::new(), |range| {
        fs::read(range.folder.path.join(OUTPUT_FILE)).unwrap()[range.start_bytes as usize..]
            [..range.length_bytes as usize]
            .to_vec()
    });
    let mut response = format!("HTTP/1.1 {} {}\r\nContent-Length: {}\r\n", answer.status, answer.reason, body.len());
    answer.headers.iter().for_each(|(name, value)| response += &format!("{name}: {value}\r\n"));
    connection.write_all(&[response.as_bytes(), b"\r\n", &body].concat()).unwrap();
}

#[test]
fn outputs_travel_over_http_with_their_signatures() {
    let stage = Stage::new("plain", &[]);
    for (task, file) in INPUTS.into_iter().enumerate() {
        stage.map(task as u32, file).0.unwrap();
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let tracker = format!("http://{}", listener.local_addr().unwrap());
    let progress = progress_of(attempt_id('r', 1), None);
    let feed = MapCompletionFeed::default();
    for map in 0..3 {
        feed.push([MapEvent::Succeeded { attempt: attempt_id('m', map), tracker: tracker.clone(), run_ms: 1 }]);
    }
    std::thread::scope(|scope| {
        let outputs = Serving(&stage);
        scope.spawn(move || {
            for _ in 0..3 {
                serve(&outputs, listener.accept().unwrap().0);
            }
        });
        let secret = Serving(&stage).secret(attempt_id('m', 0).task.job).unwrap();
        let fetcher = HttpFetcher::new(secret, stage.plan.shuffle.timeouts, &progress);
        stage.attempt(1, None, &progress, |attempt| run(attempt, 3, &feed, &fetcher)).unwrap();
    });
    assert_eq!(committed(&stage, &progress, "part-00001"), fixtures::bytes("output/plain.part-00001"));
}

#[test]
fn a_failed_fetch_is_reported_by_the_rules() {
    let stage = Stage::new("plain", &[("mapreduce.reduce.shuffle.maxfetchfailures", "1")]);
    let progress = progress_of(attempt_id('r', 0), None);
    let (feed, fetcher) = (MapCompletionFeed::default(), FromFolders { stage: &stage, failures: AtomicU32::new(1) });
    feed.push([succeeded(attempt_id('m', 0))]);
    let result = stage.attempt(0, None, &progress, |attempt| run(attempt, 1, &feed, &fetcher));
    assert_eq!(result.unwrap_err().to_string(), "Shuffle Error: Exceeded MAX_FAILED_UNIQUE_FETCHES; bailing-out.");
    assert_eq!(progress.take_failed_fetches(), [attempt_id('m', 0)]);
    assert_eq!(progress.take_failed_fetches(), []);
}

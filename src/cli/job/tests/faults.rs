//! Submissions with one mistake each, as users make them (`tests/fixtures/faults`): what is said before anything is sent names the culprit,
//! and what Hadoop takes is taken.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;

use crate::cli::hadoop_spelling::in_our_spelling;
use crate::client::job::configuration::JobConfiguration;
use crate::client::job::submit::PreparedJob;

use super::submit::check_commands;
use super::submit_arguments::SubmitArguments;

/// What becomes of a submission.
enum Verdict {
    /// It is refused with a text that has these parts.
    Refused(&'static [&'static str]),
    /// It is taken, with this property.
    Taken(&'static str, &'static str),
}
use Verdict::{Refused, Taken};

/// The verdicts on what each script submits.
const VERDICTS: &[(&str, &[Verdict])] = &[
    ("impossible-comparator-option", &[Refused(&["mapred.text.key.comparator.options", "\"-k2,r\""])]),
    ("sort-buffer-zero", &[Refused(&["io.sort.mb = \"0\"", "1 to 2047"])]),
    ("dos-line-ends-in-mapper", &[Refused(&["\"/usr/bin/python3\\r\"", "m.py", "DOS line ends"])]),
    (
        "formats-set-by-D",
        &[
            Taken("mapred.output.format.class", "org.apache.hadoop.mapred.SequenceFileOutputFormat"),
            Taken("stream.map.output.reader.class", "org.apache.hadoop.streaming.io.TypedBytesOutputReader"),
        ],
    ),
    (
        "cache-archive-by-D",
        &[
            Taken("mapreduce.job.cache.archives.visibilities", "false"),
            Refused(&["mapred.cache.archives: file:/", "/none.tgz does not exist"]),
        ],
    ),
    (
        "reducer-aggregate",
        &[
            Taken("mapred.reducer.class", "org.apache.hadoop.mapred.lib.aggregate.ValueAggregatorReducer"),
            Refused(&["--reducer org.example.Sum", "Java class", "aggregate"]),
        ],
    ),
    ("notification-port-out-of-range", &[Refused(&["job.end.notification.url", "http://127.0.0.1:99999/ok", "port"])]),
    (
        "class-that-no-worker-has",
        &[
            Taken("mapred.partitioner.class", "com.example.IntHashPartitioner"),
            Taken("mapred.combiner.class", "org.apache.hadoop.mapred.lib.LongSumReducer"),
        ],
    ),
    (
        "cache-file-with-name",
        &[Taken("mapred.cache.files.filesizes", "2"), Taken("mapreduce.job.cache.files.visibilities", "false")],
    ),
    ("hadoop-spelling", &[Taken("stream.map.streamprocessor", "cat"), Refused(&["-libjars", "`hadoop jar`"])]),
];

/// Inputs that other tests read: of conf folders, of key files, of `jobtracker run`.
const READ_ELSEWHERE: &[&str] = &[
    "acl-of-a-queue-that-does-not-exist",
    "array-whose-items-fail.sh",
    "array-writes-one-file.sh",
    "configuration-inside-configuration",
    "fair-pool-with-misspelt-limit",
    "full-disk-of-the-worker.sh",
    "key-file-with-byte-order-mark.key",
    "key-file-with-comment.key",
    "nested-capacity-file",
    "unknown-variable-in-a-path",
    "worker-at-its-process-limit.sh",
    "worker-short-of-file-descriptors.sh",
];

/// Notes the words of a command line in the place of the program.
const NOTE_WORDS: &str = "jobtracker() { printf '%s\\0' jobtracker \"$@\" >> words; echo >> words; }\n";

/// `job submit` alone.
#[derive(Debug, clap::Parser)]
struct SubmitLine {
    #[command(flatten)]
    submit: SubmitArguments,
}

/// The command lines of a script that has run in this folder.
fn command_lines(script: &str, folder: &Path) -> Vec<Vec<OsString>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/faults/{script}.sh"));
    let text = std::fs::read_to_string(&path).unwrap();
    let ran = Command::new("sh").arg("-ec").arg(format!("{NOTE_WORDS}{text}")).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{script}: {ran:?}");
    let words = std::fs::read_to_string(folder.join("words")).unwrap();
    words.lines().map(|line| line.split_terminator('\0').map(OsString::from).collect()).collect()
}

/// What `job submit` does with a command line in this folder before it asks a server.
fn prepare(words: Vec<OsString>, folder: &Path) -> Result<PreparedJob, String> {
    let mut words = in_our_spelling(words)?;
    for at in 1..words.len() {
        if words[at - 1] == "--file" {
            words[at] = folder.join(&words[at]).into();
        }
    }
    let submit = SubmitLine::try_parse_from(&words[2..]).map_err(|error| error.to_string())?.submit;
    let configuration =
        JobConfiguration::load(None, &submit.properties(), "alice").map_err(|error| error.to_string())?;
    let files = configuration.file_systems("alice");
    let working_dir = configuration.working_dir("alice", folder).map_err(|error| error.to_string())?;
    let job = submit.job(&working_dir).map_err(|error| error.to_string())?;
    check_commands(&job).map_err(|error| error.to_string())?;
    PreparedJob::new(job, &configuration, &files, &working_dir).map_err(|error| error.to_string())
}

#[test]
fn each_input_has_a_verdict() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/faults");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let judged = VERDICTS.iter().map(|(script, _)| format!("{script}.sh"));
    let judged: BTreeSet<String> = judged.chain(READ_ELSEWHERE.iter().map(|name| (*name).to_owned())).collect();
    assert_eq!(names.collect::<BTreeSet<_>>(), judged);
}

#[test]
fn each_submission_with_a_mistake_is_refused_by_its_culprit_and_the_others_are_taken() {
    for (script, verdicts) in VERDICTS {
        let folder = tempfile::tempdir().unwrap();
        // What is in it is nothing that all may read.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        let lines = command_lines(script, folder.path());
        assert_eq!(lines.len(), verdicts.len(), "{script}");
        for (line, verdict) in lines.into_iter().zip(*verdicts) {
            let shown = format!("{script}: {line:?}");
            match (prepare(line, folder.path()), verdict) {
                (Err(text), Refused(parts)) => {
                    assert!(parts.iter().all(|part| text.contains(part)), "{shown}: {text}");
                }
                (Ok(job), Taken(name, value)) => assert_eq!(job.property(name), Some(*value), "{shown}"),
                (prepared, _) => panic!("{shown}: {:?}", prepared.err()),
            }
        }
    }
}

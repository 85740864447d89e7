//! `jobtracker what-if` on a state folder: both plays beside what was recorded, and what it cannot answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use jobtracker::engine::{EngineConfig, Fact, PolicyConfig, QueueConfig};
use jobtracker::mapreduce::{JobSpec, SplitTable};
use jobtracker::model::{FactNumber, Identifier, JobId, PerKind, RunState};
use jobtracker::scheduler::FifoOptions;
use jobtracker::sim::what_if::{Play, PlayOptions, RecordedJob, RecordedTimes, RecordedTracker, Recording, TaskTimes};
use jobtracker::store::{RecordedSize, RecordedSpan, Store, StoreOptions, database_in, recorded_size};

const START_MS: i64 = 1_795_000_000_000;

/// Two jobs of four maps of ten seconds on two slots.
fn recording() -> Recording {
    let identifier = Identifier::from_number(202_611_180_906);
    let job = |number: i32, user: &str| {
        let mut splits = SplitTable::builder();
        (0..4).for_each(|_| splits.push(0, 100, ["h"]));
        let times = TaskTimes { first_ms: 10_000, output_bytes: 7, ..TaskTimes::default() };
        RecordedJob {
            id: JobId { identifier, number },
            spec: Arc::new(JobSpec {
                speculative: PerKind::new(false, false),
                ..JobSpec::with_defaults(user, "default", 4, 0)
            }),
            splits: Arc::new(splits.build(|_| "/rack".to_owned())),
            deadline_changes: Vec::new(),
            submit_ms: START_MS + 1_000 * i64::from(number),
            ending_ms: None,
            finish_ms: START_MS,
            deadline_ms: None,
            state: RunState::Succeeded,
            times: RecordedTimes {
                tasks: PerKind::new(vec![Some(times); 4], Vec::new()),
                failures: BTreeMap::new(),
                cut: BTreeMap::new(),
                setup: TaskTimes::default(),
                cleanup: TaskTimes::default(),
            },
        }
    };
    let tracker = RecordedTracker {
        name: "tracker_h:localhost/127.0.0.1:1".into(),
        host: "h".into(),
        slots: PerKind::new(2, 1),
        from_ms: START_MS,
        until_ms: None,
    };
    let jobs = vec![job(1, "ann"), job(2, "bob")];
    Recording { jobs, trackers: vec![tracker], market: None, start_ms: START_MS, unfinished: 0 }
}

/// A state folder with what such a run records.
fn state(folder: &Path) {
    let policy = PolicyConfig::Fifo(FifoOptions::default());
    let mut config = EngineConfig::with_defaults(Identifier::from_number(202_611_180_906), policy);
    config.queues = vec![QueueConfig::open("default")];
    let mut facts: Vec<Fact> = Vec::new();
    let options = PlayOptions { config, with_orders: true, admits_all: false };
    let played = Play::run_with(&recording(), options, &mut |new| facts.extend_from_slice(new));
    assert!(played.jobs.iter().all(|job| job.end.is_some()), "{played:?}");
    let (store, _) = Store::open(StoreOptions::new(folder)).unwrap();
    store.fact_sender().append(FactNumber(1), facts);
    store.close().unwrap();
}

fn what_if(folder: &Path, options: &[&str]) -> Output {
    let program = std::env::var_os("JOBTRACKER_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_jobtracker").into());
    let place = format!("jobtracker.state.dir={}", folder.display());
    Command::new(program).args(["what-if", "-D", &place]).args(options).env_remove("HADOOP_CONF_DIR").output().unwrap()
}

fn answer(folder: &Path, options: &[&str]) -> String {
    let output = what_if(folder, options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(folder: &Path, options: &[&str]) -> (i32, String) {
    let output = what_if(folder, options);
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn both_plays_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    state(folder.path());
    let text = answer(folder.path(), &["--nodes", "2", "--jobs"]);
    let tables: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("QUEUE")).collect();
    insta::assert_snapshot!(tables.join("\n"), @"
    QUEUE    RUN         JOBS  ENDED WELL  WAITING     P95  RUNNING     P95  SLOT HOURS  KILLS  DEADLINES MET  COST
    default  configured     2           2    0.5 s  19.5 s   20.1 s  20.2 s        0.02      0              -   0.0
             asked          2           2    0.5 s   9.5 s   10.1 s  10.2 s        0.02      0              -   0.0
    (all)    configured     2           2    0.5 s  19.5 s   20.1 s  20.2 s        0.02      0              -   0.0
             asked          2           2    0.5 s   9.5 s   10.1 s  10.2 s        0.02      0              -   0.0

    JOB                    USER             SUBMITTED    TOOK  AS CONFIGURED  AS ASKED  DEADLINE  MET THEN  CONFIGURED  ASKED
    job_202611180906_0001  ann   2026-11-18T11:06:41Z  20.6 s         20.6 s    10.6 s         -         -           -      -
    job_202611180906_0002  bob   2026-11-18T11:06:42Z  39.7 s         39.7 s    19.7 s         -         -           -      -
    ");
    let json: serde_json::Value = serde_json::from_str(&answer(folder.path(), &["--json", "--jobs"])).unwrap();
    for job in json["jobs"].as_array().unwrap() {
        assert_eq!(job["recorded"]["endMs"], job["configured"]["endMs"], "{job}");
        assert_eq!(job["configured"], job["asked"], "nothing else was asked for");
    }
    let later = answer(folder.path(), &["--since", "2026-11-18T11:06:42", "--policy", "fair"]);
    assert!(later.starts_with("1 job from "), "{later}");
}

#[test]
fn a_play_ends_when_it_may_not_continue() {
    let policy = PolicyConfig::Fifo(FifoOptions::default());
    let mut config = EngineConfig::with_defaults(Identifier::from_number(202_611_180_906), policy);
    config.queues = vec![QueueConfig::open("default")];
    let options = PlayOptions { config, with_orders: true, admits_all: false };
    let mut questions = 0;
    let mut count = || {
        questions += 1;
        true
    };
    let whole = Play::run_while(&recording(), options.clone(), &mut count);
    assert_eq!(whole, Some(Play::run(&recording(), options.clone())));
    assert!(questions > 0);
    assert_eq!(Play::run_while(&recording(), options, &mut || false), None);
}

#[test]
fn what_there_is_to_play_is_counted_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    state(folder.path());
    let size = |since_ms, until_ms| recorded_size(&database_in(folder.path()), RecordedSpan { since_ms, until_ms });
    assert_eq!(size(i64::MIN, i64::MAX).unwrap(), RecordedSize { jobs: 2, tasks: 8 });
    assert_eq!(size(START_MS + 2_000, i64::MAX).unwrap(), RecordedSize { jobs: 1, tasks: 4 });
    assert_eq!(size(START_MS + 3_000, i64::MAX).unwrap(), RecordedSize::default());
}

#[test]
fn what_cannot_be_answered_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let (code, text) = refusal(folder.path(), &[]);
    assert_eq!(code, 1);
    assert!(text.contains(&format!("cannot read {place}/state.db")), "{text}");
    Store::open(StoreOptions::new(folder.path())).unwrap().0.close().unwrap();
    let (code, text) = refusal(folder.path(), &[]);
    assert_eq!(code, 2);
    assert!(text.contains("no finished job that was submitted in that time"), "{text}");

    let folder = tempfile::tempdir().unwrap();
    state(folder.path());
    for (options, expected) in [
        (&["--since", "2027-01-01"][..], "no finished job that was submitted in that time"),
        (&["--until", "tomorrow"], "--until \"tomorrow\" is not a date"),
        (&["--set", "mapred.queue.names"], "--set \"mapred.queue.names\": expected KEY=VALUE"),
        (&["--policy", "lottery"], "\"lottery\" is not a scheduler"),
        (&["--set", "mapred.acls.enabled=maybe"], "as asked: "),
        (&["--policy", "dynamic"], "as asked: "),
        (&["--policy", "fair", "--set", "mapred.fairscheduler.allocation.file=/none/fair.xml"], "as asked: "),
    ] {
        let (code, text) = refusal(folder.path(), options);
        assert_eq!(code, 2, "{options:?}: {text}");
        assert!(text.contains(expected), "{options:?}: {text}");
    }

    let database = rusqlite::Connection::open(folder.path().join("state.db")).unwrap();
    database.execute_batch("DELETE FROM tracker_presence").unwrap();
    assert!(refusal(folder.path(), &[]).1.contains("no record of TaskTrackers"));
    database.pragma_update(None, "user_version", 99).unwrap();
    let (code, text) = refusal(folder.path(), &[]);
    assert_eq!(code, 2);
    assert!(text.contains("has schema version 99, expected schema version "), "{text}");
}

//! Lines of history files, held against those that the Java JobTracker has written.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::mapreduce::{AcceptedJob, CounterInterner, JobEstimate, JobSpec, SplitTable, StoredEvent, StoredJob};
use crate::model::Priority;
use crate::wire::{Counter, CounterGroup, ReportedCounters};

use super::*;

/// Files that the Java JobTracker has written, recorded by `tests/hadoop/history.sh`.
const RECORDED: [&str; 3] =
    [include_str!("recorded/recovers.txt"), include_str!("recorded/fails.txt"), include_str!("recorded/killed.txt")];

/// A record: its type, and its keys with their values, in order.
type Read = (String, Vec<(String, String)>);

/// The text up to an unescaped `end`, unescaped once, and what follows it.
fn until(text: &str, end: char) -> (String, &str) {
    let (mut taken, mut is_escaped) = (String::new(), false);
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => {
                taken.push(character);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            _ if character == end => return (taken, &text[at + character.len_utf8()..]),
            _ => taken.push(character),
        }
    }
    panic!("{text} has no {end}");
}

/// Reads a file as its readers do: a record ends with a full stop that is not escaped.
fn read(file: &str) -> Vec<Read> {
    let (mut records, mut rest) = (Vec::new(), file);
    while let Some((kind, mut pairs)) = rest.split_once(' ') {
        let mut found = Vec::new();
        while !pairs.starts_with('.') {
            let (key, value) = pairs.split_once("=\"").unwrap();
            let (value, after) = until(value, '"');
            found.push((key.to_owned(), value));
            pairs = after.strip_prefix(' ').unwrap();
        }
        records.push((kind.to_owned(), found));
        rest = pairs.strip_prefix(".\n").unwrap();
    }
    assert_eq!(rest, "");
    records
}

/// Splits the `(a)(b)...` or `{..}{..}` that a text begins with into what stands between unescaped brackets, still escaped; and what follows.
fn blocks(mut text: &str, open: char, close: char) -> (Vec<String>, &str) {
    let mut found = Vec::new();
    while let Some(rest) = text.strip_prefix(open) {
        let mut is_escaped = false;
        let end = rest.char_indices().find(|(_, character)| {
            let is_end = *character == close && !is_escaped;
            is_escaped = *character == '\\' && !is_escaped;
            is_end
        });
        let (end, _) = end.unwrap();
        found.push(rest[..end].to_owned());
        text = &rest[end + 1..];
    }
    (found, text)
}

fn counters(text: &str) -> Counters {
    let name = |text: &String| until(&format!("{text})"), ')').0;
    let groups = blocks(text, '{', '}').0.into_iter().map(|group| {
        let (names, counters) = blocks(&group, '(', ')');
        let counters = blocks(counters, '[', ']').0.into_iter().map(|counter| {
            let (parts, _) = blocks(&counter, '(', ')');
            let (own, display) = (name(&parts[0]), name(&parts[1]));
            let display_name = (own != display).then(|| display.as_str().into());
            Counter { name: own.as_str().into(), display_name, value: parts[2].parse().unwrap() }
        });
        CounterGroup {
            name: name(&names[0]).as_str().into(),
            display_name: name(&names[1]).as_str().into(),
            counters: counters.collect(),
        }
    });
    Counters { groups: groups.collect() }
}

/// The facts that a recorded file states, as our store would have them.
struct Stated {
    stored: StoredHistory,
    values: JobValues,
    racks: BTreeMap<String, String>,
}

fn facts_of(records: &[Read]) -> Stated {
    let mut interner = CounterInterner::default();
    let mut value = BTreeMap::<&str, &str>::new();
    let of_job = records.iter().filter(|(kind, _)| kind == "Job").flat_map(|(_, pairs)| pairs);
    value.extend(of_job.map(|(key, found)| (key.as_str(), found.as_str())));
    let get = |key: &str| value.get(key).copied().unwrap_or_default();
    let number = |text: &str| text.parse::<i64>().unwrap_or_default();
    let maps = get("TOTAL_MAPS").parse().unwrap();
    let spec = JobSpec {
        name: get("JOBNAME").to_owned(),
        job_file: get("JOBCONF").to_owned(),
        ..JobSpec::with_defaults(get("USER"), get("JOB_QUEUE"), maps, get("TOTAL_REDUCES").parse().unwrap())
    };
    let mut splits = SplitTable::builder();
    let mut launches = BTreeMap::new();
    let mut racks_of_splits = BTreeMap::new();
    let mut racks = BTreeMap::new();
    let mut attempts: BTreeMap<AttemptId, StoredAttempt> = BTreeMap::new();
    let mut events = Vec::new();
    for (kind, pairs) in records {
        let get = |key: &str| pairs.iter().find(|(found, _)| found == key).map(|(_, value)| value.as_str());
        if kind == "Task"
            && let Some(begun) = get("START_TIME")
        {
            launches.insert(get("TASKID").unwrap().to_owned(), number(begun));
            let hosts = get("SPLITS").unwrap().split(',').filter_map(|node| node.rsplit_once('/'));
            let hosts: Vec<(String, String)> = hosts.map(|(rack, host)| (host.to_owned(), rack.to_owned())).collect();
            racks_of_splits.extend(hosts.iter().cloned());
            if get("TASK_TYPE") == Some("MAP") {
                splits.push(0, 1, hosts.iter().map(|(host, _)| host.as_str()));
            }
        }
        let Some(id) = get("TASK_ATTEMPT_ID").filter(|_| kind.ends_with("Attempt")) else { continue };
        let id: AttemptId = id.parse().unwrap();
        let attempt = attempts.entry(id).or_insert_with(|| StoredAttempt {
            id,
            role: match get("TASK_TYPE").unwrap() {
                "SETUP" => AttemptRole::JobSetup,
                "CLEANUP" => AttemptRole::JobCleanup,
                _ => AttemptRole::Work,
            },
            tracker: "".into(),
            launch_ms: 0,
            slots: 1,
            cleanup_tracker: None,
            state: AttemptState::Running,
            kill_request: None,
            commit_granted: false,
            start_ms: 0,
            finish_ms: 0,
            shuffle_finish_ms: 0,
            sort_finish_ms: 0,
            output_bytes: -1,
            diagnostics: String::new(),
            state_text: String::new(),
            counters: None,
        });
        if let Some(started) = get("START_TIME") {
            attempt.start_ms = number(started);
            attempt.launch_ms = if id.number == 0 { launches[&id.task.to_string()] } else { attempt.start_ms };
            attempt.tracker = get("TRACKER_NAME").unwrap().into();
            let http = format!("http://host:{}", get("HTTP_PORT").unwrap());
            events.push(StoredEvent {
                attempt: id,
                status: CompletionStatus::Succeeded,
                http: http.as_str().into(),
                run_time_ms: 0,
            });
        }
        if let Some(ended) = get("FINISH_TIME") {
            attempt.finish_ms = number(ended);
            attempt.state = match get("TASK_STATUS").unwrap() {
                "SUCCESS" => AttemptState::Succeeded,
                "FAILED" => AttemptState::Failed,
                _ => AttemptState::Killed,
            };
            attempt.shuffle_finish_ms = number(get("SHUFFLE_FINISHED").unwrap_or_default());
            attempt.sort_finish_ms = number(get("SORT_FINISHED").unwrap_or_default());
            // Texts are apart by a line break in the store.
            attempt.diagnostics = get("ERROR").unwrap_or_default().replace(",Task has been ", "\nTask has been ");
            attempt.state_text = get("STATE_STRING").unwrap_or_default().to_owned();
            attempt.counters = get("COUNTERS").map(|text| interner.intern(&ReportedCounters::from(&counters(text))));
            if let Some((rack, host)) = get("HOSTNAME").unwrap().rsplit_once('/') {
                racks.insert(host.to_owned(), rack.to_owned());
            }
        }
    }
    let accepted = AcceptedJob {
        id: get("JOBID").parse().unwrap(),
        spec: Arc::new(spec),
        splits: Arc::new(splits.build(|host| racks_of_splits[host].clone())),
        order: 1,
        submit_ms: number(get("SUBMIT_TIME")),
        token_file: Arc::default(),
        first_attempt: 0,
        estimate: JobEstimate::default(),
        plan: None,
        job_xml: Arc::default(),
    };
    let job = StoredJob {
        accepted,
        priority: Priority::Normal,
        pool: None,
        changed_deadline: None,
        is_running: true,
        ending: None,
        attempts: attempts.into_values().collect(),
        events,
    };
    let stored = StoredHistory {
        job,
        run_start_ms: None,
        running_ms: Some(1),
        finish_ms: number(get("FINISH_TIME")),
        outcome: match get("JOB_STATUS") {
            "SUCCESS" => JobOutcome::Succeeded,
            "FAILED" => JobOutcome::Failed,
            _ => JobOutcome::Killed,
        },
        failure_info: get("FAIL_REASON").to_owned(),
        counters: value.get("COUNTERS").map(|text| interner.intern(&ReportedCounters::from(&counters(text)))),
        job_xml: None,
    };
    let mut values = JobValues::default();
    values.workflow.id = get("WORKFLOW_ID").to_owned();
    if !get("WORKFLOW_ADJACENCIES").is_empty() {
        values.workflow.adjacency = vec![("a".to_owned(), "b".to_owned())];
    }
    Stated { stored, values, racks }
}

fn written(stated: &Stated) -> String {
    let facts = HistoryFacts {
        stored: &stated.stored,
        values: stated.values.clone(),
        racks: &stated.racks,
        are_acls_enabled: false,
    };
    let mut file = Vec::new();
    write_history(&facts, &mut file).unwrap();
    String::from_utf8(file).unwrap()
}

/// Records in an order that does not hang on time, counters sorted, without the two times that are another clock's here: that of the launch
/// of a job, which we have as its submission, and that of the end of a task, which is that of its attempt.
fn comparable(records: Vec<Read>) -> Vec<String> {
    let mut lines: Vec<String> = records
        .into_iter()
        .map(|(kind, pairs)| {
            let pairs = pairs.into_iter().map(|(key, value)| match key.as_str() {
                "LAUNCH_TIME" => format!("{key}=*"),
                "FINISH_TIME" if kind == "Task" => format!("{key}=*"),
                _ if key.ends_with("COUNTERS") => {
                    let mut names = Vec::new();
                    for group in counters(&value).groups {
                        for counter in group.counters {
                            let display = counter.display_name.as_ref().unwrap_or(&counter.name);
                            names.push(format!(
                                "{}/{}/{}/{}={}",
                                &*group.name, &*group.display_name, &*counter.name, &**display, counter.value
                            ));
                        }
                    }
                    names.sort();
                    format!("{key}={names:?}")
                }
                _ => format!("{key}={value}"),
            });
            format!("{kind} {}", pairs.collect::<Vec<_>>().join(" | "))
        })
        .collect();
    lines.sort();
    lines
}

/// All records, all keys in their order, all values.
#[test]
fn what_hadoop_wrote_of_a_job_is_written_of_the_same_facts() {
    for file in RECORDED {
        let records = read(file);
        let (ours, theirs) = (comparable(read(&written(&facts_of(&records)))), comparable(records));
        assert_eq!(ours.len(), theirs.len());
        ours.iter().zip(&theirs).for_each(|(ours, theirs)| assert_eq!(ours, theirs));
    }
}

/// The bytes, where neither the order of hash tables nor another clock decides.
#[test]
fn lines_are_hadoops_to_the_byte() {
    for file in RECORDED {
        let written = written(&facts_of(&read(file)));
        let ours: Vec<&str> = written.split_inclusive(" .\n").collect();
        let of_attempts = |line: &&str| line.contains("Attempt TASK_TYPE") && !line.contains("COUNTERS=");
        let theirs: Vec<&str> = file.split_inclusive(" .\n").filter(of_attempts).collect();
        assert!(theirs.len() >= 3);
        for line in theirs {
            assert!(ours.contains(&line), "{line}\nis not in\n{written}");
        }
        assert_eq!(ours[0], "Meta VERSION=\"1\" .\n");
        assert_eq!(ours[1], file.split_inclusive(" .\n").nth(1).unwrap());
    }
}

#[test]
fn a_job_that_never_ran_has_a_history_too() {
    let mut stated = facts_of(&read(RECORDED[2]));
    stated.stored.job.attempts.clear();
    stated.stored.job.events.clear();
    stated.stored.running_ms = None;
    let kinds: Vec<String> = read(&written(&stated)).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["Meta", "Job", "Job", "Job", "Job"]);
}

#[test]
fn a_second_attempt_beside_a_running_one_is_speculative() {
    let mut stated = facts_of(&read(RECORDED[0]));
    let attempts = &mut stated.stored.job.attempts;
    let second = attempts.iter().position(|attempt| attempt.id.number == 1).unwrap();
    attempts[second].launch_ms = attempts[second - 1].launch_ms + 1;
    assert_eq!(written(&stated).matches("AVATAAR=\"SPECULATIVE\"").count(), 1);
}

#[test]
fn a_lost_output_is_a_failure_of_its_task() {
    let mut stated = facts_of(&read(RECORDED[0]));
    let lost = stated.stored.job.attempts.iter().find(|attempt| attempt.state == AttemptState::Failed).unwrap().id;
    let event = stated.stored.job.events.iter_mut().find(|event| event.attempt == lost).unwrap();
    event.status = CompletionStatus::Obsolete;
    let text = format!("TASK_ATTEMPT_ID=\"{lost}\" .");
    let is_failure = |line: &&str| line.starts_with("Task ") && line.contains(&text);
    assert_eq!(written(&stated).split_inclusive(" .\n").filter(is_failure).count(), 1);
}

#[test]
fn running_attempts_of_a_job_that_has_ended_leave_no_trace() {
    let mut stated = facts_of(&read(RECORDED[2]));
    let id = stated.stored.job.attempts[1].id;
    stated.stored.job.attempts[1].state = AttemptState::Running;
    assert!(!written(&stated).contains(&format!("TASK_ATTEMPT_ID=\"{id}\"")));
}

/// Of a job that was accepted before such URLs were refused, or by another JobTracker.
#[test]
fn a_history_is_written_whatever_its_job_wanted_called_at_its_end() {
    let job = "<configuration><property><name>job.end.notification.url</name><value>https://h/</value></property>\
        <property><name>mapred.working.dir</name><value>/w</value></property></configuration>";
    let cluster = Configuration::new(std::collections::BTreeMap::new());
    let values = JobValues::read(job.as_bytes(), &cluster, "alice").unwrap();
    assert_eq!(values.working_dir.as_deref(), Some("/w"));
}

#[test]
fn a_relative_folder_is_below_the_working_directory_of_the_job() {
    let mut values = JobValues { working_dir: Some("hdfs://n:8020/user/alice".to_owned()), ..JobValues::default() };
    let folder = |values: &JobValues, output| values.user_folder(Some(output)).unwrap();
    assert_eq!(folder(&values, "out"), "hdfs://n:8020/user/alice/out");
    assert_eq!(folder(&values, "/out"), "/out");
    assert_eq!(folder(&values, "file:/out"), "file:/out");
    assert_eq!(values.user_folder(None), None);
    values.user_location = Some("logs/a:b".to_owned());
    assert_eq!(folder(&values, "/out"), "hdfs://n:8020/user/alice/logs/a:b");
    values.working_dir = None;
    assert_eq!(folder(&values, "/out"), "logs/a:b");
    values.user_location = Some("none".to_owned());
    assert_eq!(values.user_folder(Some("out")), None);
}

mod laws {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// No value ends a record or a pair, whatever it holds.
        #[test]
        fn each_value_is_read_as_it_was_written(values in proptest::collection::vec("(?s).{0,40}", 1..5)) {
            let mut record = Record::new("Job");
            for (number, value) in values.iter().enumerate() {
                record = record.with(&format!("KEY{number}"), value);
            }
            let read = read(&record.into_line());
            prop_assert_eq!(read.len(), 1);
            let found: Vec<&String> = read[0].1.iter().map(|(_, value)| value).collect();
            prop_assert_eq!(found, values.iter().collect::<Vec<_>>());
        }

        #[test]
        fn counters_are_read_as_they_were_written(names in proptest::collection::vec("(?s).{1,12}", 2..6), count in any::<i64>()) {
            let counter = |name: &String| Counter {
                name: name.as_str().into(),
                display_name: (*name != names[1]).then(|| names[1].as_str().into()),
                value: count,
            };
            let group = |name: &String| CounterGroup {
                name: name.as_str().into(),
                display_name: names[0].as_str().into(),
                counters: names.iter().map(counter).collect(),
            };
            let all = Counters { groups: names.iter().map(group).collect() };
            prop_assert_eq!(super::counters(&counter_text(&all)), all);
        }
    }
}

//! Each kind of fact becomes rows that hold all of it.

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::stage::{Scratch, accepted, incarnation, job_id, record, spec, splits, wait_until};

use jobtracker::engine::{Fact, JobCost};
use jobtracker::mapreduce::{AttemptRole, CounterInterner, CounterValues, EndedAttempt, JobFact, JobSpec, KillRequest};
use jobtracker::market::MarketFact;
use jobtracker::model::{AttemptId, AttemptState, FactNumber, Kind, PerKind, Priority, QueueName, RunState};
use jobtracker::store::decode_splits;
use jobtracker::wire::{CompletionStatus, Counter, CounterGroup, Counters, TaskCompletionEvent, WString};

/// A query's first row, its columns joined by `|` as the sqlite3 shell prints them.
fn row(database: &Connection, sql: &str) -> String {
    let mut statement = database.prepare(sql).unwrap();
    let columns = statement.column_count();
    let text = |value: Value| match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => format!("REAL {number}"),
        Value::Text(text) => text,
        Value::Blob(bytes) => format!("x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    };
    let joined = |row: &rusqlite::Row<'_>| {
        Ok((0..columns).map(|index| text(row.get(index).unwrap())).collect::<Vec<_>>().join("|"))
    };
    statement.query_row([], joined).unwrap_or_else(|error| error.to_string())
}

/// Records the facts from the first on and looks.
fn recorded(scratch: &Scratch, facts: Vec<Fact>) -> Connection {
    let (store, loaded) = scratch.open();
    record(&store.fact_sender(), loaded.last_fact, facts);
    store.close().unwrap();
    scratch.look()
}

fn attempt(number: i32) -> AttemptId {
    job_id(1).task(Kind::Map, 0).attempt(number)
}

fn launched(attempt: AttemptId, role: AttemptRole, tracker: &str, response_id: i16) -> Fact {
    Fact::Job(JobFact::AttemptLaunched { attempt, role, tracker: tracker.into(), response_id, slots: 1, at_ms: 5000 })
}

fn interned(counters: &Counters) -> CounterValues {
    CounterInterner::default().intern(&counters.into())
}

fn counters() -> Counters {
    let counter = |name: &str, display: Option<&str>, value| Counter {
        name: name.into(),
        display_name: display.map(Into::into),
        value,
    };
    Counters {
        groups: vec![
            CounterGroup {
                name: "org.apache.hadoop.mapred.Task$Counter".into(),
                display_name: "Map-Reduce Framework".into(),
                counters: vec![
                    counter("MAP_INPUT_RECORDS", Some("Map input records"), 12),
                    counter("SPILLED_RECORDS", Some("Spilled Records"), i64::MIN),
                ],
            },
            CounterGroup { name: "empty".into(), display_name: "Empty".into(), counters: vec![] },
            CounterGroup {
                name: "mine".into(),
                display_name: "mine".into(),
                counters: vec![counter("MAP_INPUT_RECORDS", None, -1)],
            },
        ],
    }
}

#[test]
fn a_run_of_the_daemon_is_recorded_and_loaded() {
    let scratch = Scratch::new();
    recorded(&scratch, vec![incarnation(202611210913), incarnation(7)]);
    let (_store, loaded) = scratch.open();
    let identifiers: Vec<String> = loaded.identifiers.iter().map(ToString::to_string).collect();
    assert_eq!(identifiers, ["7", "202611210913"]);
    assert_eq!(loaded.last_fact, FactNumber(2));
    assert!(loaded.first_start, "no money has come in");
}

#[test]
fn an_accepted_job_is_recorded_whole() {
    let scratch = Scratch::new();
    let database = recorded(&scratch, vec![accepted(1, 41)]);
    assert_eq!(
        row(&database, "SELECT job, accept_order, submit_ms, user, queue, name, priority, state, finish_ms FROM job"),
        "job_202611210913_0001|41|1795000000000|alice|alice|word \"count\" — ä|HIGH|PREP|"
    );
    let (stored_spec, stored_splits, token): (String, Vec<u8>, Vec<u8>) = database
        .query_row("SELECT spec, splits, token_file FROM job", [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    assert_eq!(serde_json::from_str::<JobSpec>(&stored_spec).unwrap(), spec());
    assert_eq!(decode_splits(&stored_splits).unwrap(), splits());
    assert_eq!(token, b"HDTS\0secret");
    drop(database);
    assert_eq!(scratch.open().1.max_order, 41);
}

#[test]
fn a_job_is_followed_to_its_end() {
    let scratch = Scratch::new();
    let job = job_id(1);
    let database = recorded(
        &scratch,
        vec![
            accepted(1, 1),
            Fact::Job(JobFact::Running { job, at_ms: 100 }),
            Fact::Job(JobFact::Priority { job, priority: Priority::VeryLow }),
            Fact::Job(JobFact::Ending { job, outcome: RunState::Killed, reason: "by alice".into(), at_ms: 5 }),
        ],
    );
    let sql = "SELECT state, running_ms, priority, outcome, reason, finish_ms, length(token_file) FROM job";
    assert_eq!(row(&database, sql), "RUNNING|100|VERY_LOW|KILLED|by alice||11");
    let database = {
        drop(database);
        let ended = JobFact::Ended {
            job,
            state: RunState::Killed,
            finish_ms: 900,
            failure_info: "killed".into(),
            counters: interned(&counters()),
        };
        recorded(&scratch, vec![Fact::Job(ended)])
    };
    let sql = "SELECT state, outcome, reason, finish_ms, failure_info, token_file IS NULL FROM job";
    assert_eq!(row(&database, sql), "KILLED|KILLED|by alice|900|killed|1");
    assert_eq!(row(&database, "SELECT name, value FROM job_counter WHERE group_name = 'mine'"), "MAP_INPUT_RECORDS|-1");
}

#[test]
fn a_history_is_due_from_the_end_of_its_job_until_it_is_written() {
    let scratch = Scratch::new();
    let (store, loaded) = scratch.open();
    let (sender, reader, job) = (store.fact_sender(), store.finished_jobs(), job_id(1));
    let last = record(&sender, loaded.last_fact, vec![accepted(1, 1)]);
    assert!(reader.due_histories().unwrap().is_empty() && reader.history(job, 1 << 20).unwrap().is_none());
    // An older build has accepted the second job.
    let last = record(&sender, last, vec![accepted(2, 2)]);
    scratch.look().execute("DELETE FROM job_history WHERE job = ?1", [job_id(2).to_string()]).unwrap();
    let ended = |number| {
        Fact::Job(JobFact::Ended {
            job: job_id(number),
            state: RunState::Failed,
            finish_ms: 900 + i64::from(number),
            failure_info: "why".into(),
            counters: interned(&counters()),
        })
    };
    let last = record(&sender, last, vec![ended(2), ended(1)]);
    assert_eq!(reader.due_histories().unwrap(), [job, job_id(2)]);
    let history = reader.history(job, 1 << 20).unwrap().unwrap();
    assert_eq!((history.finish_ms, &*history.failure_info, history.running_ms), (901, "why", None));
    // What is there is not deflated.
    assert_eq!(history.job_xml, None);
    assert_eq!(history.job.accepted.splits, splits().into());
    let path = "file:/done/job".to_owned();
    record(&sender, last, vec![Fact::HistoryWritten { job, path, at_ms: 1_000 }]);
    assert_eq!(reader.due_histories().unwrap(), [job_id(2)]);
    assert!(reader.history(job, 1 << 20).unwrap().is_none());
    let sql = "SELECT path, written_ms, job_xml FROM job_history WHERE written_ms IS NOT NULL";
    assert_eq!(row(&scratch.look(), sql), "file:/done/job|1000|");
}

#[test]
fn an_attempt_is_followed_to_its_end() {
    let scratch = Scratch::new();
    let facts = vec![
        launched(attempt(0), AttemptRole::Work, "tracker_a:1", -32_768),
        Fact::Job(JobFact::AttemptReported {
            attempt: attempt(0),
            diagnostics: "disk on fire".into(),
            failed_fetches: Vec::new(),
        }),
        Fact::Job(JobFact::AttemptKillRequested { attempt: attempt(0), request: KillRequest::Fail }),
        Fact::Job(JobFact::CommitGranted { attempt: attempt(0) }),
    ];
    let database = recorded(&scratch, facts);
    assert_eq!(
        row(
            &database,
            "SELECT attempt, job, role, tracker, response_id, launch_ms, state, kill_request, commit_granted, finish_ms
             FROM attempt"
        ),
        "attempt_202611210913_0001_m_000000_0|job_202611210913_0001|work|tracker_a:1|-32768|5000|RUNNING|FAILED|1|"
    );
    drop(database);
    let asked = Fact::Job(JobFact::AttemptKillRequested { attempt: attempt(0), request: KillRequest::Preempt });
    assert_eq!(row(&recorded(&scratch, vec![asked]), "SELECT kill_request FROM attempt"), "PREEMPTED");
    let ended = EndedAttempt {
        attempt: attempt(0),
        state: AttemptState::FailedUnclean,
        start_ms: 5100,
        finish_ms: 5900,
        shuffle_finish_ms: 1,
        sort_finish_ms: 2,
        output_bytes: -1,
        diagnostics: "java.lang.NullPointerException\n".into(),
        state_text: "map > 3".into(),
        counters: Some(interned(&counters())),
    };
    let facts = vec![
        Fact::Job(JobFact::AttemptEnded(Box::new(ended))),
        launched(attempt(0), AttemptRole::TaskCleanup, "tracker_b:1", 9),
    ];
    let database = recorded(&scratch, facts);
    assert_eq!(
        row(
            &database,
            "SELECT role, tracker, response_id, cleanup_tracker, cleanup_response_id, cleanup_launch_ms, state,
                 start_ms, finish_ms, shuffle_finish_ms, sort_finish_ms, output_bytes, diagnostics, state_text
             FROM attempt"
        ),
        "work|tracker_a:1|-32768|tracker_b:1|9|5000|FAILED_UNCLEAN|5100|5900|1|2|-1|java.lang.NullPointerException\n\
         |map > 3"
    );
    assert_eq!(row(&database, "SELECT kill_request FROM attempt"), "PREEMPTED", "who was preempted stays known");
}

#[test]
fn counters_keep_order_names_and_values() {
    let scratch = Scratch::new();
    let end = |number| {
        let ended = EndedAttempt {
            attempt: attempt(number),
            state: AttemptState::Succeeded,
            start_ms: 0,
            finish_ms: 0,
            shuffle_finish_ms: 0,
            sort_finish_ms: 0,
            output_bytes: 0,
            diagnostics: String::new(),
            state_text: String::new(),
            counters: Some(interned(&counters())),
        };
        [launched(attempt(number), AttemptRole::Work, "t", 1), Fact::Job(JobFact::AttemptEnded(Box::new(ended)))]
    };
    let database = recorded(&scratch, (0..3).flat_map(end).collect());
    // The names are stored once, for all jobs.
    assert_eq!(row(&database, "SELECT count(*) FROM counter_name"), "4");
    assert_eq!(
        row(&database, "SELECT counters FROM attempt LIMIT 1"),
        "[[1,12],[2,-9223372036854775808],[3,0],[4,-1]]"
    );
    assert_eq!(
        row(&database, "SELECT group_name, group_display, name, display_name FROM counter_name WHERE id = 2"),
        "org.apache.hadoop.mapred.Task$Counter|Map-Reduce Framework|SPILLED_RECORDS|Spilled Records"
    );
    assert_eq!(row(&database, "SELECT group_name, name, display_name FROM counter_name WHERE id = 3"), "empty||");
    assert_eq!(row(&database, "SELECT name, display_name FROM counter_name WHERE id = 4"), "MAP_INPUT_RECORDS|");
    drop(database);
    // Known to the database, not yet to the new writer.
    let database = recorded(&scratch, end(3).into_iter().collect());
    assert_eq!(row(&database, "SELECT count(*) FROM counter_name"), "4");
    assert_eq!(
        row(
            &database,
            "SELECT attempt, value FROM attempt_counter WHERE name = 'MAP_INPUT_RECORDS' AND group_name <> 'mine'
             ORDER BY attempt DESC"
        ),
        "attempt_202611210913_0001_m_000000_3|12"
    );
}

#[test]
fn a_completion_event_is_rewritten_in_place() {
    let scratch = Scratch::new();
    let event = |status, event_id| {
        let tracker_http = WString::from("http://node1:50060");
        let run_time_ms = 800;
        let event = TaskCompletionEvent {
            attempt: attempt(event_id),
            id_within_job: 0,
            is_map: true,
            status,
            tracker_http,
            run_time_ms,
            event_id,
        };
        Fact::Job(JobFact::CompletionEvent { job: job_id(1), event })
    };
    let facts = vec![
        event(CompletionStatus::Succeeded, 0),
        event(CompletionStatus::TipFailed, 1),
        event(CompletionStatus::Obsolete, 0),
    ];
    let database = recorded(&scratch, facts);
    assert_eq!(row(&database, "SELECT count(*) FROM completion_event"), "2");
    assert_eq!(
        row(&database, "SELECT * FROM completion_event WHERE event_id = 0"),
        "job_202611210913_0001|0|attempt_202611210913_0001_m_000000_0|0|1|OBSOLETE|http://node1:50060|800"
    );
    assert_eq!(row(&database, "SELECT status FROM completion_event WHERE event_id = 1"), "TIPFAILED");
}

#[test]
fn the_last_launch_answer_of_each_tracker_is_kept() {
    let scratch = Scratch::new();
    let answer = |tracker: &str, response_id, bytes: &[u8]| Fact::LaunchAnswer {
        tracker: tracker.into(),
        response_id,
        answer: bytes.into(),
    };
    let database =
        recorded(&scratch, vec![answer("a", 1, b"\x01"), answer("b", 5, b"\x02"), answer("a", 2, b"\0\xff")]);
    assert_eq!(row(&database, "SELECT * FROM launch_answer WHERE tracker = 'a'"), "a|2|x00ff");
    assert_eq!(row(&database, "SELECT * FROM launch_answer WHERE tracker = 'b'"), "b|5|x02");
}

#[test]
fn pending_kill_jobs_are_recorded_acknowledged_and_loaded() {
    let scratch = Scratch::new();
    let job = job_id(3);
    let facts = vec![
        Fact::KillJobPending { job, trackers: vec!["a".into(), "b".into()] },
        Fact::KillJobPending { job, trackers: vec!["b".into(), "c".into()] },
        Fact::KillJobAcknowledged { job, tracker: "b".into() },
    ];
    recorded(&scratch, facts);
    assert_eq!(scratch.open().1.pending_kill_jobs, [(job, "a".into()), (job, "c".into())]);
}

#[test]
fn what_jobs_have_cost_is_kept_up_to_the_last_tick() {
    let scratch = Scratch::new();
    let cost = |number, cost: &str, map, reduce| JobCost {
        job: job_id(number),
        cost: cost.parse().unwrap(),
        slot_ms: PerKind::new(map * 1_000, reduce * 1_000),
        sampled_slots: PerKind::new(map, reduce),
    };
    let facts = vec![
        Fact::JobsCharged { tick: 7, jobs: vec![cost(1, "0.5", 1, 0), cost(2, "12.5", 20, 5)] },
        Fact::JobsCharged { tick: 8, jobs: vec![cost(1, "0.500000000001", 1, 1)] },
    ];
    let database = recorded(&scratch, facts);
    let sql = |number| format!("SELECT * FROM job_cost WHERE job = '{}'", job_id(number));
    assert_eq!(row(&database, &sql(1)), "job_202611210913_0001|8|1|1|0.500000000001|500000000001|1000|1000");
    assert_eq!(row(&database, &sql(2)), "job_202611210913_0002|7|20|5|12.5|12500000000000|20000|5000");
}

/// The daemon goes on, but does not keep it to itself: what the fact says is gone with the next restart.
#[test]
fn a_fact_that_finds_no_row_stops_nothing_and_is_counted() {
    let scratch = Scratch::new();
    let (store, _) = scratch.open();
    let sink = store.fact_sender();
    let running = |number| Fact::Job(JobFact::Running { job: job_id(number), at_ms: 1 });
    let mut last = 0;
    let mut said = |facts: Vec<Fact>| {
        let first = last + 1;
        last += facts.len() as u64;
        sink.append(FactNumber(first), facts);
        wait_until(&sink, |durable| durable.number == FactNumber(last)).missed_updates
    };
    assert_eq!(said(vec![accepted(1, 1), running(1)]).complaint(), None);
    let missed_updates = said(vec![incarnation(1), running(9), incarnation(2)]);
    let told = "facts that found no row to change in state.db: 1, the first of them fact 4 about job_202611210913_0009";
    assert_eq!(missed_updates.complaint().as_deref(), Some(told));
    let alice: QueueName = "alice".parse().unwrap();
    let missed_updates = said(vec![
        Fact::Job(JobFact::CommitGranted { attempt: attempt(7) }),
        // No fact has opened the account.
        Fact::Market(MarketFact::AccountRemoved { queue: alice }),
        Fact::Job(JobFact::AttemptKillRequested { attempt: attempt(7), request: KillRequest::Kill }),
    ]);
    assert_eq!(
        (missed_updates.updates, missed_updates.first.as_deref()),
        (4, Some("fact 4 about job_202611210913_0009"))
    );
    store.close().unwrap();
    assert_eq!(scratch.open().1.last_fact, FactNumber(8), "what came with it is there");
}

/// What goes for another reason too may be gone already.
#[test]
fn a_deletion_that_finds_nothing_is_no_loss() {
    let scratch = Scratch::new();
    let job = job_id(1);
    let facts = vec![
        Fact::TrackerForgotten { tracker: "a".into() },
        Fact::KillJobAcknowledged { job, tracker: "a".into() },
        accepted(1, 1),
        Fact::Job(JobFact::Restarted { job, first_attempt: 0, token_file: [1].into() }),
    ];
    recorded(&scratch, facts);
}

//! A start finds jobs as the facts about them left them, and nothing of the tasks of those that are over.

use std::time::Instant;

use crate::stage::{Scratch, accepted, job_id, record, spec, splits};

use jobtracker::engine::{Engine, EngineConfig, Fact, PolicyConfig, Restored, RestoredJobs};
use jobtracker::mapreduce::{
    AttemptRole, CounterInterner, CounterValues, EndedAttempt, Ending, JobFact, JobOutcome, KillRequest, StoredEvent,
};
use jobtracker::model::{AttemptId, AttemptState, JobId, Kind, Now, Priority, RunState};
use jobtracker::store::{Store, StoreOptions};
use jobtracker::wire::{CompletionStatus, Counter, CounterGroup, Counters, TaskCompletionEvent};

fn map(job: JobId, number: i32, attempt: i32) -> AttemptId {
    job.task(Kind::Map, number).attempt(attempt)
}

fn launched(attempt: AttemptId, role: AttemptRole, tracker: &str) -> Fact {
    launched_in(1, attempt, role, tracker)
}

fn launched_in(slots: u32, attempt: AttemptId, role: AttemptRole, tracker: &str) -> Fact {
    Fact::Job(JobFact::AttemptLaunched { attempt, role, tracker: tracker.into(), response_id: 7, slots, at_ms: 5_000 })
}

fn ended(attempt: AttemptId, state: AttemptState, counters: Option<&CounterValues>) -> Fact {
    Fact::Job(JobFact::AttemptEnded(Box::new(EndedAttempt {
        attempt,
        state,
        start_ms: 5_100,
        finish_ms: 5_900,
        shuffle_finish_ms: 1,
        sort_finish_ms: 2,
        output_bytes: 77,
        diagnostics: "disk on fire".into(),
        state_text: "map > 3".into(),
        counters: counters.cloned(),
    })))
}

fn event(attempt: AttemptId, event_id: i32, status: CompletionStatus) -> Fact {
    let event = TaskCompletionEvent {
        attempt,
        id_within_job: attempt.task.number,
        is_map: true,
        status,
        tracker_http: "http://node1:50060".into(),
        run_time_ms: 800,
        event_id,
    };
    Fact::Job(JobFact::CompletionEvent { job: attempt.task.job, event })
}

fn over(job: JobId, finish_ms: i64, counters: &CounterValues) -> Fact {
    let (state, failure_info) = (RunState::Failed, "too bad".to_owned());
    Fact::Job(JobFact::Ended { job, state, finish_ms, failure_info, counters: counters.clone() })
}

/// The third counter differs from call to call, as values do.
fn counters(value: i64) -> Counters {
    let counter = |name: &str, display: Option<&str>, value| Counter {
        name: name.into(),
        display_name: display.map(Into::into),
        value,
    };
    let group = |name: &str, counters| CounterGroup { name: name.into(), display_name: "Shown".into(), counters };
    Counters {
        groups: vec![
            group("a", vec![counter("x", Some("X"), 12), counter("y", None, i64::MIN)]),
            group("empty", vec![]),
            group("also empty", vec![]),
            group("b", vec![counter("x", Some(""), value)]),
        ],
    }
}

fn recorded(scratch: &Scratch, facts: Vec<Fact>) {
    let (store, loaded) = scratch.open();
    record(&store.fact_sender(), loaded.last_fact, facts);
    store.close().unwrap();
}

#[test]
fn an_unfinished_job_is_found_whole() {
    let scratch = Scratch::new();
    let job = job_id(1);
    let mut interner = CounterInterner::default();
    let values = [1, 2].map(|value| interner.intern(&(&counters(value)).into()));
    let facts = vec![
        accepted(1, 41),
        Fact::Job(JobFact::Running { job, at_ms: 100 }),
        Fact::Job(JobFact::Priority { job, priority: Priority::VeryLow }),
        launched_in(3, map(job, 0, 10), AttemptRole::Work, "tracker_a:1"),
        launched_in(2, map(job, 0, 2), AttemptRole::Work, "tracker_b:1"),
        launched(map(job, 3, 0), AttemptRole::JobSetup, "tracker_b:1"),
        launched(job.task(Kind::Reduce, 0).attempt(0), AttemptRole::Work, "tracker_b:1"),
        Fact::Job(JobFact::CommitGranted { attempt: job.task(Kind::Reduce, 0).attempt(0) }),
        Fact::Job(JobFact::AttemptKillRequested { attempt: map(job, 0, 10), request: KillRequest::Preempt }),
        ended(map(job, 0, 2), AttemptState::FailedUnclean, Some(&values[0])),
        launched(map(job, 0, 2), AttemptRole::TaskCleanup, "tracker_c:1"),
        ended(map(job, 3, 0), AttemptState::Succeeded, Some(&values[1])),
        event(map(job, 3, 0), 0, CompletionStatus::Succeeded),
        event(map(job, 0, 2), 1, CompletionStatus::Failed),
        event(map(job, 3, 0), 0, CompletionStatus::Obsolete),
        Fact::Job(JobFact::Ending { job, outcome: RunState::Killed, reason: "by alice".into(), at_ms: 5 }),
        // Another one, whose id begins alike.
        accepted(10, 42),
        launched(map(job_id(10), 0, 0), AttemptRole::Work, "tracker_a:1"),
    ];
    recorded(&scratch, facts);
    let jobs = scratch.open().1.jobs;
    let ids: Vec<JobId> = jobs.unfinished.iter().map(|job| job.accepted.id).collect();
    assert_eq!((ids, jobs.finished.len()), (vec![job, job_id(10)], 0));
    assert_eq!(jobs.unfinished[1].attempts.len(), 1);
    let found = &jobs.unfinished[0];
    assert_eq!((&*found.accepted.spec, &*found.accepted.splits), (&spec(), &splits()));
    assert_eq!((found.accepted.order, found.accepted.submit_ms), (41, 1_795_000_000_000));
    assert_eq!((&*found.accepted.token_file, found.priority), (&b"HDTS\0secret"[..], Priority::VeryLow));
    assert!(found.is_running);
    assert_eq!(found.ending, Some(Ending { outcome: JobOutcome::Killed, reason: "by alice".into() }));

    let attempts: Vec<AttemptId> = found.attempts.iter().map(|attempt| attempt.id).collect();
    let reduce = job.task(Kind::Reduce, 0).attempt(0);
    assert_eq!(attempts, [map(job, 0, 2), map(job, 0, 10), map(job, 3, 0), reduce], "by task and number");
    let [unclean, running, setup, reduce] = &found.attempts[..] else { panic!("{attempts:?}") };
    assert_eq!(
        (unclean.state, &*unclean.tracker, unclean.launch_ms),
        (AttemptState::FailedUnclean, "tracker_b:1", 5_000)
    );
    assert_eq!(unclean.active_cleanup_tracker().map(|tracker| &**tracker), Some("tracker_c:1"));
    let slots = found.attempts.iter().map(|attempt| attempt.slots);
    assert_eq!(slots.collect::<Vec<_>>(), [2, 3, 1, 1], "a task-cleanup changes nothing");
    assert_eq!((unclean.start_ms, unclean.finish_ms), (5_100, 5_900));
    assert_eq!((unclean.shuffle_finish_ms, unclean.sort_finish_ms, unclean.output_bytes), (1, 2, 77));
    assert_eq!((&*unclean.diagnostics, &*unclean.state_text), ("disk on fire", "map > 3"));
    assert!(running.is_live() && running.counters.is_none() && running.output_bytes == -1);
    assert_eq!((running.kill_request, running.commit_granted), (Some(KillRequest::Preempt), false));
    assert_eq!((reduce.kill_request, reduce.commit_granted), (None, true));
    assert_eq!((setup.role, setup.state), (AttemptRole::JobSetup, AttemptState::Succeeded));
    let found_counters = [unclean, setup].map(|attempt| attempt.counters.clone().unwrap());
    assert_eq!(found_counters.each_ref().map(CounterValues::to_counters), [counters(1), counters(2)]);
    assert!(std::sync::Arc::ptr_eq(found_counters[0].schema(), found_counters[1].schema()), "names are kept once");
    let http: std::sync::Arc<str> = "http://node1:50060".into();
    let event = |attempt, status| StoredEvent { attempt, status, http: http.clone(), run_time_ms: 800 };
    assert_eq!(
        found.events,
        [event(map(job, 3, 0), CompletionStatus::Obsolete), event(map(job, 0, 2), CompletionStatus::Failed)]
    );
}

#[test]
fn of_finished_jobs_the_newest_are_found_and_those_owed_a_word() {
    let scratch = Scratch::new();
    let values = CounterInterner::default().intern(&(&counters(3)).into());
    let finished = |number: i32| {
        let job = job_id(number);
        let running = Fact::Job(JobFact::Running { job, at_ms: 100 });
        [accepted(number, number as u64), running, over(job, 1_000 + i64::from(number), &values)]
    };
    let mut facts: Vec<Fact> = (1..=5).flat_map(finished).collect();
    facts.push(Fact::KillJobPending { job: job_id(2), trackers: vec!["tracker_a:1".into()] });
    facts.push(Fact::KillJobPending { job: job_id(5), trackers: vec!["tracker_a:1".into()] });
    recorded(&scratch, facts);
    let (_store, loaded) = Store::open(StoreOptions { finished_jobs: 2, ..scratch.options() }).unwrap();
    let found = &loaded.jobs.finished;
    let ids: Vec<JobId> = found.iter().map(|job| job.id).collect();
    assert_eq!(ids, [2, 4, 5].map(job_id), "oldest first, none twice");
    let last = &found[2];
    assert_eq!((last.outcome, last.has_run, last.finish_ms), (JobOutcome::Failed, true, 1_005));
    assert_eq!((&*last.failure_info, &*last.spec), ("too bad", &spec()));
    assert_eq!(last.counters.as_ref().unwrap().to_counters(), counters(3));
    assert!(loaded.jobs.unfinished.is_empty());
}

#[test]
fn an_id_that_no_job_has_is_unused_if_it_is_like_ours() {
    let scratch = Scratch::new();
    let ours = job_id(1).identifier;
    recorded(&scratch, vec![Fact::RunStarted { identifier: ours, start_ms: 7 }, accepted(1, 1)]);
    let (store, _) = scratch.open();
    let is_unused = |id: JobId| store.finished_jobs().is_unused(id).unwrap();
    assert!(!is_unused(job_id(1)), "it is a job's");
    assert!(is_unused(job_id(2)));
    assert!(!is_unused("job_7_0001".parse().unwrap()), "made by another JobTracker");
}

#[test]
fn events_of_a_finished_job_are_read_in_parts() {
    let scratch = Scratch::new();
    let job = job_id(1);
    let values = CounterInterner::default().intern(&(&counters(3)).into());
    let mut facts = vec![accepted(1, 1)];
    facts.extend((0..5).map(|id| event(map(job, 0, id), id, CompletionStatus::Killed)));
    let last = event(map(job, 1, 0), 5, CompletionStatus::Succeeded);
    facts.extend([last.clone(), over(job, 9, &values)]);
    recorded(&scratch, facts);
    let (store, _) = scratch.open();
    let ids = |from, max| -> Vec<i32> {
        let events = store.finished_jobs().events(job, from, max).unwrap();
        events.iter().map(|event| event.event_id).collect()
    };
    assert_eq!((ids(0, 3), ids(3, 10), ids(6, 10)), (vec![0, 1, 2], vec![3, 4, 5], vec![]));
    let Fact::Job(JobFact::CompletionEvent { event, .. }) = last else { panic!("{last:?}") };
    assert_eq!(store.finished_jobs().events(job, 5, usize::MAX).unwrap(), [event]);
    assert!(store.finished_jobs().events(job_id(2), 0, 10).unwrap().is_empty());
}

#[test]
fn a_wrong_value_is_named_with_its_column() {
    let wrong = [
        ("UPDATE attempt SET state = 'LOST'", r#"attempt.state holds "LOST""#),
        ("UPDATE attempt SET attempt = 'attempt_202611210913_0001_m_000004_0'", "attempt.attempt holds"),
        ("UPDATE attempt SET role = 'task_cleanup'", "attempt.role holds"),
        ("UPDATE attempt SET kill_request = 'MAYBE'", "attempt.kill_request holds"),
        ("UPDATE attempt SET counters = '[[9,1]]'", "attempt.counters holds"),
        ("UPDATE completion_event SET event_id = 1", "completion_event.event_id holds"),
        ("UPDATE completion_event SET status = 'DONE'", "completion_event.status holds"),
        ("UPDATE job SET splits = x'02'", "job.splits holds"),
        ("UPDATE job SET spec = '{\"user\":\"alice\"}'", "job.spec holds"),
        ("UPDATE job SET state = 'SUCCEEDED'", "job.state holds"),
        ("UPDATE job SET outcome = 'RUNNING'", "job.outcome holds"),
        ("UPDATE job SET priority = 'URGENT'", "job.priority holds"),
    ];
    for (sql, told) in wrong {
        let scratch = Scratch::new();
        let job = job_id(1);
        let succeeded = event(map(job, 0, 0), 0, CompletionStatus::Succeeded);
        recorded(&scratch, vec![accepted(1, 1), launched(map(job, 0, 0), AttemptRole::Work, "t"), succeeded]);
        assert_eq!(scratch.look().execute(sql, []).unwrap(), 1);
        let error = Store::open(scratch.options()).unwrap_err().to_string();
        assert!(error.contains("state.db") && error.contains(told), "{sql}: {error}");
    }
}

/// 1,000 unfinished jobs with 50,000 unfinished tasks, 1,000,000 finished tasks of other jobs. Prints what a start
/// takes to be ready.
#[test]
#[ignore = "takes half a minute to fill the database"]
fn a_start_reads_nothing_of_tasks_long_done() {
    let scratch = Scratch::new();
    let values = CounterInterner::default().intern(&(&counters(3)).into());
    let (store, mut last) = scratch.open();
    let mut last_fact = std::mem::take(&mut last.last_fact);
    for number in 1..=2_000 {
        let job = job_id(number);
        let is_over = number <= 1_000;
        let tasks = if is_over { 1_000 } else { 50 };
        let mut builder = jobtracker::mapreduce::SplitTable::builder();
        (0..tasks).for_each(|split| builder.push(split, 100, ["node1", "node2", "node3"]));
        let spec = jobtracker::mapreduce::JobSpec { maps: tasks as u32, ..spec() };
        let accepted = jobtracker::mapreduce::AcceptedJob {
            first_attempt: 0,
            estimate: jobtracker::mapreduce::JobEstimate::default(),
            plan: None,
            id: job,
            spec: spec.into(),
            splits: builder.build(|_| "/rack".into()).into(),
            order: number as u64,
            submit_ms: 1,
            token_file: [0; 200].into(),
            job_xml: Default::default(),
        };
        let mut facts = vec![Fact::Job(JobFact::Accepted(Box::new(accepted)))];
        for task in 0..tasks as i32 {
            let attempt = map(job, task, 0);
            facts.push(launched(attempt, AttemptRole::Work, "tracker_node1:localhost/127.0.0.1:1"));
            if is_over {
                facts.push(ended(attempt, AttemptState::Succeeded, Some(&values)));
                facts.push(event(attempt, task, CompletionStatus::Succeeded));
            }
        }
        if is_over {
            facts.push(over(job, i64::from(number), &values));
        }
        last_fact = record(&store.fact_sender(), last_fact, facts);
    }
    store.close().unwrap();
    let before_kb = resident_kb();
    #[expect(clippy::disallowed_methods, reason = "the time it takes is what is shown")]
    let start = Instant::now();
    let (_store, loaded) = scratch.open();
    let read = start.elapsed();
    let tasks: usize = loaded.jobs.unfinished.iter().map(|job| job.attempts.len()).sum();
    assert_eq!((loaded.jobs.unfinished.len(), tasks, loaded.jobs.finished.len()), (1_000, 50_000, 1_000));
    let jobs =
        RestoredJobs { unfinished: loaded.jobs.unfinished, finished: loaded.jobs.finished, ..Default::default() };
    let restored = Restored { last_fact: loaded.last_fact, last_order: loaded.max_order, jobs, ..Default::default() };
    let now = Now { mono_ms: 1 << 40, wall_ms: 1_795_000_100_000 };
    let engine = Engine::new(engine_config(), restored, now);
    let took = start.elapsed();
    let more_kb = resident_kb().saturating_sub(before_kb);
    println!("read in {read:?}, ready after {took:?}, {} MB more in memory", more_kb / 1024);
    assert_eq!(engine.jobs_to_complete().value.len(), 1_000);
    assert!(took.as_secs() < 2, "{took:?}");
    assert!(more_kb < 512 << 10, "{more_kb} kB");
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn engine_config() -> EngineConfig {
    let config = EngineConfig::with_defaults("202611210914".parse().unwrap(), PolicyConfig::Fifo(Default::default()));
    EngineConfig { finished_jobs_kept: 1_000, ..config }
}

//! Finished jobs beyond the limit go from the disk while the store works, and stay gone after a restart.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::stage::{Scratch, accepted, job_id, record};

use jobtracker::engine::Fact;
use jobtracker::mapreduce::{CounterInterner, JobFact};
use jobtracker::model::{FactNumber, JobId, RunState};
use jobtracker::store::{Retention, Store, StoreOptions};
use jobtracker::wire::Counters;

fn limited(scratch: &Scratch, jobs: u64) -> StoreOptions {
    let look_for = BTreeSet::from([job_id(1), job_id(39), job_id(40), job_id(41)]);
    StoreOptions { retention: Retention { jobs, days: 0, always: 2 }, look_for, ..scratch.options() }
}

fn over(number: i32) -> Fact {
    let counters = CounterInterner::default().intern(&(&Counters::default()).into());
    let finish_ms = 1_795_000_000_000 + i64::from(number);
    Fact::Job(JobFact::Ended {
        job: job_id(number),
        state: RunState::Succeeded,
        finish_ms,
        failure_info: String::new(),
        counters,
    })
}

/// Jobs are accepted and end, one after the other.
fn run(store: &Store, last: FactNumber, jobs: std::ops::RangeInclusive<i32>) -> FactNumber {
    let facts = |number: i32| vec![accepted(number, number.cast_unsigned().into()), over(number)];
    jobs.fold(last, |last, number| record(&store.fact_sender(), last, facts(number)))
}

fn wait_for_jobs(scratch: &Scratch, expected: i64) {
    let deadline = Instant::now() + Duration::from_secs(20);
    let count = || scratch.look().query_row("SELECT count(*) FROM job", [], |row| row.get::<_, i64>(0));
    while count().ok() != Some(expected) {
        assert!(Instant::now() < deadline, "{:?} jobs instead of {expected}", count());
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn jobs_go_while_others_end_and_their_ids_stay_used() {
    let scratch = Scratch::new();
    let (store, loaded) = Store::open(limited(&scratch, 10)).unwrap();
    let ours = Fact::RunStarted { identifier: job_id(1).identifier, start_ms: 7 };
    let last = record(&store.fact_sender(), loaded.last_fact, vec![ours]);
    run(&store, last, 1..=40);
    wait_for_jobs(&scratch, 10);
    let reader = store.finished_jobs();
    assert!(reader.job(job_id(30)).unwrap().is_none(), "as of a job that never was");
    assert!(reader.events(job_id(30), 0, 10).unwrap().is_empty());
    assert!(reader.job(job_id(31)).unwrap().is_some());
    let is_unused = |id: JobId| reader.is_unused(id).unwrap();
    assert!(!is_unused(job_id(1)) && !is_unused(job_id(30)) && !is_unused(job_id(40)));
    assert!(is_unused(job_id(41)));
    store.close().unwrap();

    let (store, loaded) = Store::open(limited(&scratch, 10)).unwrap();
    assert_eq!(loaded.jobs.finished.len(), 10);
    assert_eq!(loaded.looked_for, BTreeSet::from([job_id(1), job_id(39), job_id(40)]), "nobody takes them in again");
    assert_eq!(loaded.max_order, 40);
    run(&store, loaded.last_fact, 41..=45);
    wait_for_jobs(&scratch, 10);
    assert!(store.finished_jobs().job(job_id(35)).unwrap().is_none());
    store.close().unwrap();

    // A lower limit holds from the start.
    let (store, _) = Store::open(limited(&scratch, 3)).unwrap();
    wait_for_jobs(&scratch, 3);
    store.close().unwrap();
}

/// Pages of what is gone are used again.
#[test]
fn the_file_does_not_grow_with_jobs_that_go() {
    let scratch = Scratch::new();
    let (store, loaded) = Store::open(limited(&scratch, 20)).unwrap();
    let pages = || scratch.look().query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0)).unwrap();
    let mut last = run(&store, loaded.last_fact, 1..=200);
    wait_for_jobs(&scratch, 20);
    let before = pages();
    last = run(&store, last, 201..=600);
    wait_for_jobs(&scratch, 20);
    assert!(pages() <= before + before / 5, "{before} pages, then {} after {last:?}", pages());
    store.close().unwrap();
}

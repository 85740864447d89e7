//! The views: what applying facts and publishing costs in a job of a million tasks.
//!
//! `cargo bench --bench views`. Aims: a publication after 1,000 changes in 2 ms; 20,000 facts a second with much to spare;
//! a million attempts in 250 MB.

#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

use jobtracker::engine::Fact;
use jobtracker::mapreduce::{AcceptedJob, AttemptRole, EndedAttempt, JobEstimate, JobFact, JobSpec, SplitTable};
use jobtracker::model::{AttemptId, AttemptState, FactNumber, JobId, Kind};
use jobtracker::store::{FactBatch, LoadedState};
use jobtracker::views::{ReadModel, Views};

const TASKS: u32 = 1_000_000;
const CHANGES: u32 = 1_000;

fn job() -> JobId {
    "job_202611270000_0001".parse().unwrap()
}

fn attempt(task: u32) -> AttemptId {
    job().task(Kind::Map, task as i32).attempt(0)
}

fn accepted() -> Fact {
    let accepted = AcceptedJob {
        id: job(),
        spec: Arc::new(JobSpec::with_defaults("alice", "default", TASKS, 0)),
        splits: Arc::new(SplitTable::default()),
        order: 1,
        submit_ms: 1,
        token_file: Arc::default(),
        first_attempt: 0,
        estimate: JobEstimate::default(),
        plan: None,
        job_xml: Arc::default(),
    };
    Fact::Job(JobFact::Accepted(Box::new(accepted)))
}

fn launched(task: u32, trackers: &[Arc<str>]) -> Fact {
    let tracker = trackers[task as usize % trackers.len()].clone();
    let (attempt, role) = (attempt(task), AttemptRole::Work);
    Fact::Job(JobFact::AttemptLaunched { attempt, role, tracker, response_id: 1, slots: 1, at_ms: 7 })
}

fn ended(task: u32) -> Fact {
    let ended = EndedAttempt {
        attempt: attempt(task),
        state: AttemptState::Succeeded,
        start_ms: 8,
        finish_ms: 9,
        shuffle_finish_ms: 0,
        sort_finish_ms: 0,
        output_bytes: 1_000,
        diagnostics: String::new(),
        state_text: String::new(),
        counters: None,
    };
    Fact::Job(JobFact::AttemptEnded(Box::new(ended)))
}

/// All tasks of the job run; the last publication, which shares all chunks, and what it costs in memory.
fn running() -> (ReadModel, Views, FactNumber) {
    let trackers: Vec<Arc<str>> =
        (0..4_000).map(|index| format!("tracker_h{index}:localhost/127.0.0.1:1").into()).collect();
    let mut model = ReadModel::load(&LoadedState::default(), 1_000);
    let facts = [accepted()].into_iter().chain((0..TASKS).map(|task| launched(task, &trackers)));
    let before = resident_kb();
    for (number, fact) in (1..).zip(facts) {
        model.apply(&FactBatch { first: FactNumber(number), facts: vec![fact] }).unwrap();
    }
    println!("views of {TASKS} attempts: {} MB", (resident_kb() - before) / 1_024);
    let (published, last) = (model.views().clone(), model.views().number());
    (model, published, last)
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Ends tasks so far apart: each publication after them shares nothing of what they changed.
fn publish(c: &mut Criterion) {
    let (mut model, mut published, mut last) = running();
    for (name, apart) in [("neighbours", 1), ("all over", TASKS / CHANGES)] {
        let mut from = 0;
        c.bench_function(&format!("views/apply and publish {CHANGES} ends, {name}"), |b| {
            b.iter_batched(
                || {
                    from += 1;
                    let facts: Vec<Fact> = (0..CHANGES).map(|index| ended((from + index * apart) % TASKS)).collect();
                    let first = FactNumber(last.0 + 1);
                    last = FactNumber(last.0 + facts.len() as u64);
                    FactBatch { first, facts }
                },
                |batch| {
                    model.apply(&batch).unwrap();
                    published = model.views().clone();
                    batch
                },
                BatchSize::PerIteration,
            );
        });
    }
    drop(published);
}

criterion_group!(benches, publish);
criterion_main!(benches);

//! How many facts a second become durable, synced, and what handing them in costs the owner.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set itself up has failed")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

use jobtracker::engine::Fact;
use jobtracker::mapreduce::{AttemptRole, CounterInterner, CounterValues, EndedAttempt, JobFact};
use jobtracker::market::{ContainerUse, Market, MarketConfig, QueueUse, SlotHolder, budget_file};
use jobtracker::model::{
    ApplicationId, AttemptId, AttemptState, FactNumber, JobId, Kind, Now, PerKind, PerPool, QueueName,
};
use jobtracker::store::{FactSender, Store, StoreOptions};
use jobtracker::wire::{Counter, CounterGroup, Counters};

/// An answer with one launch takes about this many bytes.
const ANSWER_BYTES: usize = 600;

struct Facts {
    next: u64,
    job: JobId,
    answer: Arc<[u8]>,
    tracker: Arc<str>,
    counters: CounterValues,
}

// === impl Facts ===

impl Facts {
    fn new() -> Self {
        let counter = |index: i64| Counter {
            name: format!("COUNTER_{index}").as_str().into(),
            display_name: Some(format!("Counter {index}").as_str().into()),
            value: index * 12_345,
        };
        let group = CounterGroup {
            name: "org.apache.hadoop.mapred.Task$Counter".into(),
            display_name: "Map-Reduce Framework".into(),
            counters: (0..25).map(counter).collect(),
        };
        Self {
            next: 1,
            job: JobId::new("202611210913".parse().unwrap(), 1),
            answer: vec![7; ANSWER_BYTES].into(),
            tracker: "tracker_node1:localhost/127.0.0.1:40001".into(),
            counters: CounterInterner::default().intern(&(&Counters { groups: vec![group] }).into()),
        }
    }

    fn attempt(&self, number: u64) -> AttemptId {
        self.job.task(Kind::Map, number as i32).attempt(0)
    }

    /// What a busy heartbeat leaves: an attempt ended, another launched, the answer; and so on.
    fn take(&mut self, count: u64) -> (FactNumber, Vec<Fact>) {
        let first = self.next;
        self.next += count;
        let fact = |number: u64| match number % 3 {
            1 => Fact::Job(JobFact::AttemptLaunched {
                attempt: self.attempt(number),
                role: AttemptRole::Work,
                tracker: Arc::clone(&self.tracker),
                response_id: number as i16,
                slots: 1,
                at_ms: 1_795_000_000_000,
            }),
            2 => Fact::LaunchAnswer {
                tracker: Arc::clone(&self.tracker),
                response_id: number as i16,
                answer: Arc::clone(&self.answer),
            },
            _ => Fact::Job(JobFact::AttemptEnded(Box::new(EndedAttempt {
                attempt: self.attempt(number - 2),
                state: AttemptState::Succeeded,
                start_ms: 1_795_000_000_000,
                finish_ms: 1_795_000_001_000,
                shuffle_finish_ms: 0,
                sort_finish_ms: 0,
                output_bytes: 1 << 20,
                diagnostics: String::new(),
                state_text: "hdfs://node1/input/part-00000:0+67108864".into(),
                counters: Some(self.counters.clone()),
            }))),
        };
        (FactNumber(first), (first..first + count).map(fact).collect())
    }
}

fn open() -> (tempfile::TempDir, Store, FactSender) {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (store, _) = Store::open(StoreOptions::new(scratch.path().join("state"))).unwrap();
    let sink = store.fact_sender();
    (scratch, store, sink)
}

fn durable(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut group = criterion.benchmark_group("durable");
    for count in [1, 10, 100] {
        let (_scratch, _store, sink) = open();
        let mut watcher = sink.durable();
        let mut facts = Facts::new();
        group.throughput(Throughput::Elements(count));
        group.bench_function(format!("{count} facts at once"), |bencher| {
            bencher.iter(|| {
                let (first, facts) = facts.take(count);
                sink.append(first, facts);
                let last = FactNumber(first.0 + count - 1);
                runtime.block_on(async { watcher.wait_for(|durable| durable.number >= last).await.unwrap().number })
            });
        });
    }
    group.finish();
}

/// Time between two ticks, ms.
const INTERVAL_MS: u64 = 1_000;

/// A tick that charges all its queues, until it is durable.
fn ticks(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut group = criterion.benchmark_group("tick");
    group.sample_size(10);
    for queues in [100, 1_000, 10_000] {
        let (_scratch, _store, sink) = open();
        let mut watcher = sink.durable();
        let lines: String = (0..queues).map(|queue| format!("queue{queue} 1000000 0.5\n")).collect();
        let mut market = Market::new(MarketConfig::default(), 0);
        let mut now = Now { mono_ms: 0, wall_ms: 1_795_000_000_000 };
        let endowed = market.seed_budgets(budget_file::parse(&lines, "budget").unwrap(), now);
        let mut last = endowed.len() as u64;
        sink.append(FactNumber(1), endowed.into_iter().map(Fact::Market).collect());
        let use_of = |queue: &QueueName| QueueUse {
            queue: queue.clone(),
            running: PerKind::new(10, 0),
            pending: 30,
            containers: ContainerUse::default(),
            want: PerPool::new(40, 0, 0),
            later: PerKind::default(),
        };
        let usage: Vec<QueueUse> = market.queues().map(use_of).collect();
        market.start_meter(Vec::new(), INTERVAL_MS, now);
        let names: Vec<QueueName> = market.queues().cloned().collect();
        let holder = |place: usize| SlotHolder::Application(ApplicationId::new(1, place as u32 + 1));
        let held: Vec<_> = (0..names.len()).map(|place| (holder(place), PerPool::new(10, 0, 0))).collect();
        let payer = |of: SlotHolder| {
            let SlotHolder::Application(id) = of else { return None };
            Some((names.get(id.number as usize - 1)?.clone(), u64::from(id.number)))
        };
        let held = market.hold(&held, &[], &[], now.mono_ms, payer);
        last += held.iter().len() as u64;
        sink.append(FactNumber(last), held.into_iter().map(Fact::Market).collect());
        group.bench_function(format!("{queues} queues"), |bencher| {
            bencher.iter(|| {
                now.wall_ms += INTERVAL_MS.cast_signed();
                now.mono_ms += INTERVAL_MS;
                let tick = market.tick(&usage, PerPool::new(10 * queues, 0, 0), INTERVAL_MS, now);
                sink.append(FactNumber(last + 1), vec![Fact::Market(tick.into_fact())]);
                last += 1;
                runtime.block_on(async { watcher.wait_for(|durable| durable.number.0 >= last).await.unwrap().number })
            });
        });
    }
    group.finish();
}

fn append(criterion: &mut Criterion) {
    let (_scratch, _store, sink) = open();
    let mut facts = Facts::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut watcher = sink.durable();
    criterion.bench_function("hand in 3 facts to a writer at rest", |bencher| {
        bencher.iter_batched(
            || {
                let last = FactNumber(facts.next - 1);
                runtime.block_on(async { watcher.wait_for(|durable| durable.number >= last).await.unwrap().number });
                facts.take(3)
            },
            |(first, facts)| black_box(sink.append(first, facts)),
            BatchSize::PerIteration,
        );
    });
    criterion.bench_function("hand in 3 facts to a writer at work", |bencher| {
        bencher.iter_batched(
            || facts.take(3),
            |(first, facts)| black_box(sink.append(first, facts)),
            BatchSize::PerIteration,
        );
    });
}

criterion_group!(benches, durable, ticks, append);
criterion_main!(benches);

//! What the tests of the store share.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::Connection;
use tempfile::TempDir;

use jobtracker::engine::Fact;
use jobtracker::mapreduce::{AcceptedJob, JobFact, JobSpec, SplitTable};
use jobtracker::market::{Market, MarketFact, QueueUse, SlotHolder};
use jobtracker::model::{FactNumber, JobId, Now, PerPool, Priority};
use jobtracker::store::{Durable, FactSender, LoadedState, Store, StoreOptions};

/// A scratch folder for a store.
pub struct Scratch {
    pub dir: TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn options(&self) -> StoreOptions {
        StoreOptions::new(self.dir.path().join("state"))
    }

    pub fn open(&self) -> (Store, LoadedState) {
        Store::open(self.options()).unwrap()
    }

    /// An admin's look into the database.
    pub fn look(&self) -> Connection {
        Connection::open(self.dir.path().join("state/state.db")).unwrap()
    }
}

/// The facts of a tick at `now`, `interval_ms` after the one before: the queues have held this for all of that time.
pub fn tick(
    market: &mut Market,
    usage: &[QueueUse],
    slots: PerPool<u32>,
    interval_ms: u64,
    now: Now,
) -> Vec<MarketFact> {
    if !market.meter().has_started() {
        let opened = Now { mono_ms: now.mono_ms - interval_ms, ..now };
        market.start_meter(Vec::new(), interval_ms, opened);
    }
    let mut by: BTreeMap<SlotHolder, PerPool<i64>> = BTreeMap::new();
    for (holder, held) in market.meter().held() {
        let slots = |slots: u32| -i64::from(slots);
        by.insert(holder, PerPool::new(slots(held.map), slots(held.reduce), slots(held.container)));
    }
    let mut queues = BTreeMap::new();
    for (number, QueueUse { queue, running, containers, .. }) in (1..).zip(usage) {
        let number = queue.as_str().bytes().fold(number * 1_000, |number, byte| number + i32::from(byte));
        let holder = SlotHolder::Job(job_id(number));
        queues.insert(holder, queue.clone());
        let sum = by.entry(holder).or_default();
        sum.map += i64::from(running.map);
        sum.reduce += i64::from(running.reduce);
        sum.container += i64::from(containers.held);
    }
    let changes: Vec<_> = by.into_iter().collect();
    // Before any time of the interval has passed.
    let held = market.hold(&changes, &[], &[], 0, |holder| Some((queues.get(&holder)?.clone(), 1)));
    held.into_iter().chain([market.tick(usage, slots, interval_ms, now).into_fact()]).collect()
}

/// Waits until the store says what is asked for.
pub fn wait_until(sink: &FactSender, says: impl FnMut(&Durable) -> bool) -> Durable {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut durable = sink.durable();
    runtime.block_on(async { durable.wait_for(says).await.unwrap().clone() })
}

/// Appends facts after those up to `last`, waits until they are durable, each in its row, gives the new last number.
pub fn record(sink: &FactSender, last: FactNumber, facts: Vec<Fact>) -> FactNumber {
    let end = FactNumber(last.0 + facts.len() as u64);
    sink.append(FactNumber(last.0 + 1), facts);
    let durable = wait_until(sink, |durable| durable.number >= end);
    assert_eq!(durable.missed_updates.complaint(), None);
    end
}

pub fn job_id(number: i32) -> JobId {
    JobId::new("202611210913".parse().unwrap(), number)
}

/// A fact of the cheapest kind, to be told apart by `start_ms`.
pub fn incarnation(number: u64) -> Fact {
    Fact::RunStarted { identifier: jobtracker::model::Identifier::from_number(number), start_ms: number as i64 }
}

pub fn incarnations(numbers: std::ops::RangeInclusive<u64>) -> Vec<Fact> {
    numbers.map(incarnation).collect()
}

pub fn spec() -> JobSpec {
    JobSpec {
        submit_dir: "file:/tmp/staging/alice/.staging/job_202611210913_0001".into(),
        job_file: "file:/tmp/staging/alice/.staging/job_202611210913_0001/job.xml".into(),
        split_file: "file:/tmp/staging/alice/.staging/job_202611210913_0001/job.split".into(),
        name: "word \"count\" — ä".into(),
        priority: Priority::High,
        view_acl: Some("*".into()),
        ..JobSpec::with_defaults("alice", "alice", 2, 1)
    }
}

pub fn splits() -> SplitTable {
    let mut builder = SplitTable::builder();
    builder.push(7, 100, ["node1", "node2"]);
    builder.push(57, 40, ["node2"]);
    builder.build(|host| format!("/rack-of-{host}"))
}

pub fn accepted(number: i32, order: u64) -> Fact {
    Fact::Job(JobFact::Accepted(Box::new(AcceptedJob {
        first_attempt: 0,
        estimate: jobtracker::mapreduce::JobEstimate::default(),
        plan: None,
        id: job_id(number),
        spec: Arc::new(spec()),
        splits: Arc::new(splits()),
        order,
        submit_ms: 1_795_000_000_000,
        token_file: Arc::from(&b"HDTS\0secret"[..]),
        job_xml: Arc::from(&b"deflated"[..]),
    })))
}

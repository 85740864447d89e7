//! Laws: the views after a feed are those after a load, over runs of the simulator with crashes and switches of the
//! scheduler, and at each of their facts.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use crate::clock::Clock;
use crate::engine::{ClusterSnapshot, Fact, QueueSnapshot, Restored, VolatileDelta, Watched, WatchedState};
use crate::mapreduce::{AcceptedJob, CounterInterner, JobEstimate, JobFact, JobSpec, SplitTable};
use crate::market::{ContainerUse, Market, MarketConfig, QueueUse, SlotHolder, Tick, budget_file};
use crate::model::{Credits, FactNumber, Identifier, JobId, Now, PerKind, PerPool, QueueName, RunState};
use crate::sim::{Cuts, Journal, PolicyChoice, RunOptions, SimulatedRun};
use crate::store::{FactBatch, FactFeed, InMemoryStore, LoadedState};
use crate::wire::{Counters, ReportedCounters};

use super::{LookAt, ReadModel, follow};

/// More than any run ends.
const FINISHED_KEPT: usize = 1_000;

/// A store whose facts are followed; each crash compares the views with what a load makes of the rows.
struct FollowedStore {
    store: InMemoryStore,
    model: ReadModel,
    compared: usize,
    /// Where they differ first.
    difference: Option<String>,
}

impl FollowedStore {
    fn new() -> Self {
        let model = ReadModel::load(&LoadedState::default(), FINISHED_KEPT);
        Self { store: InMemoryStore::default(), model, compared: 0, difference: None }
    }

    fn compare(&mut self) {
        let loaded = ReadModel::load(&self.store.load().unwrap(), FINISHED_KEPT);
        self.compared += 1;
        let (fed, loaded) = (self.model.views().as_loaded(), loaded.views().as_loaded());
        if fed != loaded && self.difference.is_none() {
            self.difference = Some(difference(&format!("{fed:#?}"), &format!("{loaded:#?}")));
        }
    }
}

impl Journal for FollowedStore {
    fn record(&mut self, first: FactNumber, facts: &[Fact]) -> Result<(), String> {
        self.store.record(first, facts)?;
        let batch = FactBatch { first, facts: facts.to_vec() };
        self.model.apply(&batch).map_err(|missed| missed.to_string())
    }

    fn reopen(&mut self) -> Result<Restored, String> {
        self.compare();
        self.store.reopen()
    }
}

fn difference(fed: &str, loaded: &str) -> String {
    let differ = fed.lines().zip(loaded.lines()).enumerate().find(|(_, (fed, loaded))| fed != loaded);
    let Some((line, (fed_line, loaded_line))) = differ else { return "one is longer".to_owned() };
    let context: Vec<&str> = fed.lines().take(line).skip(line.saturating_sub(12)).collect();
    format!("{}\nfed:    {fed_line}\nloaded: {loaded_line}", context.join("\n"))
}

/// Plays a run; returns how often the views were compared, and how many applications they have at the end.
fn play(policy: PolicyChoice, seed: u64, events: u64, has_containers: bool) -> (usize, usize) {
    let options = RunOptions { seed, events, policy, has_containers, has_adversaries: false, cuts: Cuts::default() };
    let mut store = FollowedStore::new();
    // What the run itself is checked for is the simulator's own matter.
    SimulatedRun::play(&options, &mut store);
    store.compare();
    assert!(store.difference.is_none(), "{policy:?} {seed}: {}", store.difference.unwrap());
    (store.compared, store.model.views().applications().count())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, ..ProptestConfig::default() })]

    #[test]
    fn views_after_a_feed_are_those_after_a_load(seed in 0..100_000_u64) {
        for policy in [PolicyChoice::Fifo, PolicyChoice::Dynamic, PolicyChoice::Mixed] {
            play(policy, seed, 600, seed % 2 == 0);
        }
    }
}

#[test]
fn runs_that_crash_are_compared_at_each_crash() {
    assert!((0..20).any(|seed| play(PolicyChoice::Mixed, seed, 1_500, false).0 > 1));
    assert!((0..20).any(|seed| matches!(play(PolicyChoice::Dynamic, seed, 1_500, true), (2.., 1..))));
}

fn started(first: u64, count: u64) -> FactBatch {
    let fact = |number| Fact::RunStarted { identifier: Identifier::from_number(number), start_ms: 0 };
    FactBatch { first: FactNumber(first), facts: (first..first + count).map(fact).collect() }
}

fn accepted(id: JobId, spec: JobSpec) -> AcceptedJob {
    AcceptedJob {
        id,
        spec: Arc::new(spec),
        splits: Arc::new(SplitTable::default()),
        order: 1,
        submit_ms: 1,
        token_file: Arc::default(),
        first_attempt: 0,
        estimate: JobEstimate::default(),
        plan: None,
        job_xml: Arc::default(),
    }
}

fn loaded_at(number: u64) -> ReadModel {
    ReadModel::load(&LoadedState { last_fact: FactNumber(number), ..LoadedState::default() }, 1)
}

#[test]
fn facts_that_are_known_are_passed_over_and_a_gap_is_refused() {
    let mut model = loaded_at(4);
    model.apply(&started(3, 4)).unwrap();
    assert_eq!(model.views().number(), FactNumber(6));
    let missed = model.apply(&started(8, 1)).unwrap_err();
    assert_eq!(
        (missed.to_string(), model.views().number()),
        ("fact 8 came where fact 7 is next".into(), FactNumber(6))
    );
}

#[test]
fn the_oldest_of_the_jobs_that_are_over_leave_and_an_end_is_shown_once_it_is_reported() {
    let id = |number| JobId::new(Identifier::from_number(1), number);
    let mut model = loaded_at(0);
    let mut number = 1;
    let mut apply = |model: &mut ReadModel, fact| {
        model.apply(&FactBatch { first: FactNumber(number), facts: vec![Fact::Job(fact)] }).unwrap();
        number += 1;
    };
    let counters = CounterInterner::default().intern(&ReportedCounters::from(&Counters::default()));
    for job in 1..=2 {
        let spec = JobSpec::with_defaults("alice", "default", 3, 0);
        apply(&mut model, JobFact::Accepted(Box::new(accepted(id(job), spec))));
    }
    // The note of the owner may be quicker than the fact.
    model.report_end(id(2));
    for job in 1..=2 {
        apply(
            &mut model,
            JobFact::Ended {
                job: id(job),
                state: RunState::Succeeded,
                finish_ms: i64::from(job),
                failure_info: String::new(),
                counters: counters.clone(),
            },
        );
        let views = model.views();
        assert_eq!(views.jobs().filter(|job| job.finish_ms().is_some()).count(), 1, "one is kept");
        assert_eq!(views.is_end_withheld(id(job)), job == 1);
        model.report_end(id(job));
        assert!(!model.views().is_end_withheld(id(job)));
    }
    assert!(model.views().job(id(1)).is_none() && model.views().job(id(2)).unwrap().counts().map.finished == 3);
}

#[tokio::test]
async fn a_reader_sees_what_was_durable_when_it_called_and_the_first_one_this_moment() {
    let (feed, follower) = FactFeed::new();
    follower.begin();
    let clock = Clock::start();
    let (reader, owner) = follow(loaded_at(0), follower, || Ok(loaded_at(11)), clock).unwrap();
    // Facts 1 to 8 are missed; what is durable then is loaded.
    feed.forward([started(9, 1)].into());
    feed.forward([started(10, 1)].into());
    feed.forward([started(11, 1)].into());
    let delta = |scheduler: &str, wait_for| VolatileDelta {
        at: clock.now(),
        head: ClusterSnapshot { scheduler: scheduler.into(), ..ClusterSnapshot::default() },
        wait_for: FactNumber(wait_for),
        ..VolatileDelta::default()
    };
    // Of another moment, and not durable yet.
    owner.send(VolatileDelta { at: Now { mono_ms: 1, wall_ms: 1 }, ..delta("early", 12) });
    let long = Duration::from_secs(20);
    let answers = async {
        owner.wanted().await;
        assert!(owner.is_delta_waiting(), "its facts are not durable");
        feed.forward([started(12, 1)].into());
        while owner.is_delta_waiting() {
            tokio::task::yield_now().await;
        }
        owner.send(delta("now", 12));
    };
    let (shown, ()) = tokio::join!(reader.look(LookAt::Cluster, FactNumber(11), long), answers);
    assert_eq!((&*shown.unwrap().overview.scheduler, reader.views().number()), ("now", FactNumber(12)));
    // Somebody looks now: what is no fact may be a second old.
    let again = reader.look(LookAt::Cluster, FactNumber(12), long).await.unwrap();
    assert_eq!(again.overview.scheduler, "now");
    assert!(owner.is_looked_at(clock.mono_ms()) && !owner.are_jobs_looked_at(clock.mono_ms()));
    reader.require(FactNumber(13));
    let (changed, ()) = tokio::join!(reader.look(LookAt::Cluster, FactNumber(12), long), async {
        owner.wanted().await;
        feed.forward([started(13, 1)].into());
        owner.send(delta("changed", 13));
    });
    let changed = changed.unwrap();
    assert_eq!((&*changed.overview.scheduler, changed.generation > again.generation), ("changed", true));
}

/// The first reader of a job's explanation waits for one of its own moment; the next are shown the last.
#[tokio::test]
async fn a_job_is_explained_in_a_delta_once_somebody_reads_why_it_waits() {
    let (feed, follower) = FactFeed::new();
    follower.begin();
    let clock = Clock::start();
    let (reader, owner) = follow(loaded_at(11), follower, || Ok(loaded_at(11)), clock).unwrap();
    let job = JobId::new(Identifier::from_number(1), 7);
    let delta = || VolatileDelta {
        at: clock.now(),
        explained: owner.jobs_to_explain(clock.mono_ms()).into_iter().map(|job| (job, None)).collect(),
        ..VolatileDelta::default()
    };
    let mut early = delta();
    assert_eq!(early.explained.len(), 0);
    early.explained.push((job, None));
    (early.at.mono_ms, early.at.wall_ms) = (1, 1);
    owner.send(early);
    let long = Duration::from_secs(20);
    let (read, asked) = tokio::join!(reader.explanation(job, long), async {
        owner.wanted().await;
        // The clock has gone on since the reader came.
        let made = delta();
        let asked = made.explained.len();
        owner.send(made);
        asked
    });
    let made_ms = read.unwrap().made_mono_ms;
    assert_eq!((asked, made_ms > 1), (1, true));
    let again = reader.explanation(job, Duration::ZERO).await.unwrap();
    assert_eq!(again.made_mono_ms, made_ms);
    let other = JobId::new(Identifier::from_number(1), 8);
    assert!(reader.explanation(other, Duration::ZERO).await.is_none(), "the owner has not said anything of it");
    // A change that was made here is in what is read next.
    reader.require(FactNumber(13));
    let (changed, ()) = tokio::join!(reader.explanation(job, long), async {
        owner.wanted().await;
        feed.forward([started(12, 1)].into());
        feed.forward([started(13, 1)].into());
        owner.send(VolatileDelta { explained: vec![(job, None)], wait_for: FactNumber(13), ..delta() });
    });
    assert_eq!(changed.unwrap().number, FactNumber(13));
}

/// A job is shown with what the owner says of it; nothing more is said of one that is over.
#[tokio::test]
async fn a_job_that_is_looked_at_is_shown_with_what_is_said_of_it() {
    let (feed, follower) = FactFeed::new();
    follower.begin();
    let clock = Clock::start();
    let (reader, owner) = follow(loaded_at(0), follower, || Ok(loaded_at(0)), clock).unwrap();
    let job = JobId::new(Identifier::from_number(1), 7);
    let spec = JobSpec::with_defaults("alice", "default", 3, 0);
    let fact = |number, fact| FactBatch { first: FactNumber(number), facts: vec![Fact::Job(fact)] };
    feed.forward([fact(1, JobFact::Accepted(Box::new(accepted(job, spec))))].into());
    let (long, wanted) = (Duration::from_secs(20), Watched::Job(job));
    let (shown, ()) = tokio::join!(reader.watched_job(job, Some(wanted), FactNumber(1), long), async {
        owner.wanted().await;
        let state = |watched| (watched, Some(WatchedState { has_begun: true, ..WatchedState::default() }));
        let watched: Vec<_> = owner.to_watch(clock.mono_ms()).into_iter().map(state).collect();
        assert_eq!(watched.len(), 1);
        owner.send(VolatileDelta { at: clock.now(), wait_for: FactNumber(1), watched, ..VolatileDelta::default() });
    });
    let shown = shown.unwrap();
    assert_eq!((shown.job.id(), shown.state.unwrap().has_begun), (job, true));
    let counters = CounterInterner::default().intern(&ReportedCounters::from(&Counters::default()));
    let (state, failure_info) = (RunState::Succeeded, String::new());
    feed.forward([fact(2, JobFact::Ended { job, state, finish_ms: 9, failure_info, counters })].into());
    let over = reader.watched_job(job, Some(wanted), FactNumber(2), long).await.unwrap();
    assert_eq!((over.job.finish_ms(), over.shown_end.1, over.state.is_some()), (Some(9), None, false));
    assert!(reader.watched_job(JobId::new(Identifier::from_number(1), 8), None, FactNumber(2), long).await.is_none());
}

/// The views quote what the market itself would, whose slots are held since the last tick.
#[test]
fn what_a_rate_would_buy_is_what_the_market_itself_says() {
    const INTERVAL_MS: u64 = 20_000;
    let at = |mono_ms| Now { mono_ms, wall_ms: 1_700_000_000_000 + i64::try_from(mono_ms).unwrap() };
    let name = |text: &str| text.parse::<QueueName>().unwrap();
    let lines = budget_file::parse("alice 100 1\nbob 100 3\ncarol 100 5\n", "budget").unwrap();
    let mut market = Market::new(MarketConfig::default(), at(0).wall_ms);
    let mut facts = market.seed_budgets(lines, at(0));
    let slots = PerPool::new(8, 4, 0);
    let of = |queue: &str, (map, reduce): (u32, u32), (maps, reduces): (u32, u32)| {
        let later = PerKind::new(map + maps, reduce + reduces);
        QueueUse {
            queue: name(queue),
            running: PerKind::new(map, reduce),
            pending: u64::from(maps + reduces),
            containers: ContainerUse::default(),
            want: PerPool::new(later.map, later.reduce, 0),
            later,
        }
    };
    assert!(market.start_meter(Vec::new(), INTERVAL_MS, at(0)).is_none());
    facts.push(Tick::into_fact(market.tick(
        &[of("alice", (0, 0), (9, 2)), of("bob", (0, 0), (3, 9))],
        slots,
        INTERVAL_MS,
        at(0),
    )));
    let usage = [of("alice", (5, 1), (4, 1)), of("bob", (3, 3), (0, 6))];
    let held = usage.iter().zip(1..).map(|(queue_use, number)| {
        let holder = SlotHolder::Job(JobId::new(Identifier::from_number(1), number));
        let running = queue_use.running;
        ((holder, PerPool::new(i64::from(running.map), i64::from(running.reduce), 0)), queue_use.queue.clone())
    });
    let held: Vec<_> = held.collect();
    let changes: Vec<_> = held.iter().map(|(change, _)| *change).collect();
    let payer = |holder| held.iter().find(|((held_by, _), _)| *held_by == holder).map(|(_, queue)| (queue.clone(), 1));
    facts.extend(market.hold(&changes, &[], &[], 0, payer));
    let mut model = loaded_at(0);
    let facts = facts.into_iter().map(Fact::Market).collect();
    model.apply(&FactBatch { first: FactNumber(1), facts }).unwrap();
    let snapshot = |queue_use: &QueueUse| QueueSnapshot {
        name: queue_use.queue.to_string(),
        running: queue_use.running,
        waiting: PerKind::new(
            u64::from(queue_use.want.map - queue_use.running.map),
            u64::from(queue_use.want.reduce - queue_use.running.reduce),
        ),
        ..QueueSnapshot::default()
    };
    let overview = ClusterSnapshot {
        slots: PerKind::new(8, 4),
        queues: usage.iter().map(snapshot).collect(),
        ..ClusterSnapshot::default()
    };
    let views = model.views().market();
    for queue in ["alice", "bob", "carol"] {
        let expected = market.bidding(&name(queue), &usage, slots, INTERVAL_MS).unwrap();
        let found = views.bidding(&name(queue), &overview, 0).unwrap();
        for rate in ["0", "0.5", "2.25", "7", "40"] {
            let rate: Credits = rate.parse().unwrap();
            assert_eq!(found.quote(rate), expected.quote(rate), "{queue} at {rate}");
        }
    }
    assert!(views.bidding(&name("zed"), &overview, 0).is_none());
    assert_eq!(views.bid("bob"), Some("3".parse().unwrap()));
}

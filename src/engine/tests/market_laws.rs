//! Laws of the market over random clusters, jobs, bids and faults: credits are conserved, each queue pays rate times the time
//! of its slots within the quota by books of the test's own, idle queues pay nothing; with and without preemption.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::engine::{Caller, Event, Fact, JobCost};
use crate::fake_tracker::Role;
use crate::mapreduce::JobFact;
use crate::market::{Interval, LedgerAccount, LedgerEntry, MarketFact, Reason, Tick};
use crate::model::{Credits, JobId, PerKind, PerPool, RunState};

use super::cluster::{Cluster, FakeTask, Fate, spec};
use super::market::{credits, market_under};
use super::preemption::preempting;
use super::preemption_laws;

const USERS: [&str; 3] = ["alice", "bob", "carol"];
const HOSTS: [&str; 3] = ["h0", "h1", "h2"];
const INTERVAL_MS: u64 = 1_000;

#[derive(Clone, Debug)]
enum Operation {
    Submit {
        user: usize,
        maps: u32,
        reduces: u32,
    },
    Beat(usize),
    Restart(usize),
    Kill(usize),
    /// Time passes; the timer rings, be it early, in time or late.
    Pass(u64),
    SetSpending {
        user: usize,
        rate: u32,
    },
    AddBudget {
        user: usize,
        amount: i32,
    },
    Remove(usize),
    /// The daemon is cut off and is back after a while.
    Crash(u64),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let user = 0..USERS.len();
    let operation = prop_oneof![
        3 => (user.clone(), 0..9_u32, 0..4_u32).prop_map(|(user, maps, reduces)| Operation::Submit { user, maps, reduces }),
        16 => (0..HOSTS.len()).prop_map(Operation::Beat),
        1 => (0..HOSTS.len()).prop_map(Operation::Restart),
        1 => (0..20_usize).prop_map(Operation::Kill),
        6 => (1..2_500_u64).prop_map(Operation::Pass),
        2 => (user.clone(), 0..40_u32).prop_map(|(user, rate)| Operation::SetSpending { user, rate }),
        2 => (user.clone(), -300..300_i32).prop_map(|(user, amount)| Operation::AddBudget { user, amount }),
        1 => user.prop_map(Operation::Remove),
        1 => (0..5_000_u64).prop_map(Operation::Crash),
    ];
    prop::collection::vec(operation, 0..150)
}

/// Some tasks hang for a while, some fail once, most succeed.
fn fate(task: &FakeTask) -> Fate {
    let salt = task.id.task.number * 5 + task.id.task.job.number * 3 + task.id.number;
    match salt % 7 {
        0 if task.id.number == 0 => Fate::Fail,
        1 if task.id.number == 0 => Fate::FailUnclean,
        2 if task.role != Role::Housekeeping => Fate::Hang,
        _ => Fate::Succeed,
    }
}

/// The market's intervals as its facts tell them, checked as they come.
#[derive(Default)]
struct Auditor {
    seen: usize,
    open: BTreeMap<String, Interval>,
    /// Slot-milliseconds within the quotas since the last tick, of time that is surely charged.
    used_ms: BTreeMap<String, u64>,
    /// How much of the open interval has passed, ms.
    passed_ms: u64,
    charged: BTreeMap<String, Credits>,
    /// What the last tick has charged, until jobs are charged with it.
    due_job_costs: BTreeMap<String, Credits>,
    /// Queue and cost of each job.
    jobs: BTreeMap<JobId, (String, Credits)>,
    balances: BTreeMap<String, Credits>,
}

impl Auditor {
    /// So much time passes while queues hold this.
    fn pass(&mut self, ms: u64, running: &BTreeMap<String, PerKind<u32>>) {
        let counted_ms = ms.min(INTERVAL_MS.saturating_sub(self.passed_ms));
        self.passed_ms += counted_ms;
        for (queue, interval) in &self.open {
            let slots = used(interval, running.get(queue));
            *self.used_ms.entry(queue.clone()).or_default() += u64::from(slots.map + slots.reduce) * counted_ms;
        }
    }

    /// Only what facts prove of the time before is surely charged.
    fn crash(&mut self) {
        self.used_ms.clear();
        self.passed_ms = INTERVAL_MS;
    }

    /// Reads the facts that have come; `running` is what each queue held when they came.
    fn read(&mut self, cluster: &Cluster, running: &BTreeMap<String, PerKind<u32>>) {
        for fact in &cluster.facts[self.seen..] {
            let fact = match fact {
                Fact::Market(fact) => fact,
                Fact::Job(JobFact::Accepted(job)) => {
                    self.jobs.insert(job.id, (job.spec.queue.clone(), Credits::ZERO));
                    continue;
                }
                Fact::JobsCharged { jobs, .. } => {
                    self.check_job_costs(jobs);
                    continue;
                }
                _ => continue,
            };
            match fact {
                MarketFact::Ledger(entry) => self.check_entry(entry),
                MarketFact::Account { queue, balance, .. } => {
                    assert!(*balance >= Credits::ZERO);
                    assert_eq!(self.balances.get(queue.as_str()).copied().unwrap_or(Credits::ZERO), *balance);
                }
                MarketFact::Tick(tick) => {
                    tick.charges().for_each(|entry| self.check_entry(&entry));
                    for queue_tick in &tick.queue_ticks {
                        assert_eq!(
                            self.balances.get(queue_tick.queue.as_str()).copied().unwrap_or_default(),
                            queue_tick.balance
                        );
                    }
                    self.due_job_costs = self.charged.clone();
                    self.check_tick(tick);
                }
                MarketFact::AccountRemoved { queue } => {
                    assert!(!running.contains_key(queue.as_str()), "slots it has to pay for");
                    self.open.remove(queue.as_str());
                }
                MarketFact::Stamp(_)
                | MarketFact::StampsForgotten(_)
                | MarketFact::OrderSet { .. }
                | MarketFact::OrderEnded { .. }
                | MarketFact::AllowanceSet { .. }
                | MarketFact::AllowanceEnded { .. }
                | MarketFact::TopUpTaken(_)
                | MarketFact::Metered(_) => {}
            }
        }
        assert!(self.due_job_costs.is_empty(), "every charge is a cost of jobs");
        for job in cluster.engine.jobs.iter() {
            let cost = cluster.engine.market.as_ref().unwrap().costs.of(job).unwrap().cost;
            assert_eq!(self.jobs[&job.id].1, cost, "what is shown is what is stored");
        }
        self.seen = cluster.facts.len();
        let market = cluster.engine.market().unwrap();
        assert_eq!(market.total(), market.ledger().expected_balance(), "credits are conserved");
    }

    fn check_entry(&mut self, entry: &LedgerEntry) {
        let zero = Credits::ZERO;
        if let LedgerAccount::Queue(queue) = &entry.debit {
            let balance = self.balances.entry(queue.as_str().to_owned()).or_insert(zero);
            *balance = balance.checked_sub(entry.amount).unwrap();
        }
        if let LedgerAccount::Queue(queue) = &entry.credit {
            let balance = self.balances.entry(queue.as_str().to_owned()).or_insert(zero);
            *balance = balance.checked_add(entry.amount).unwrap();
        }
        if let (LedgerAccount::Queue(queue), Reason::Charge { rate, interval_ms, slot_ms }) =
            (&entry.debit, &entry.reason)
        {
            let queue = queue.as_str();
            let interval = self.open.get(queue).expect("only an open interval is charged");
            assert_eq!(
                (*rate, *interval_ms),
                (interval.share.rate(), INTERVAL_MS),
                "the rate that opened the interval"
            );
            let slot_ms = slot_ms.map + slot_ms.reduce + slot_ms.container;
            assert_eq!(entry.amount, cost_of_ms(interval, slot_ms));
            assert!(entry.amount <= cost(interval, interval.quota), "{queue} pays for more than it bought");
            assert!(self.charged.insert(queue.to_owned(), entry.amount).is_none(), "once");
        }
    }

    /// The jobs of each queue pay together what the queue pays, to the last unit.
    fn check_job_costs(&mut self, jobs: &[JobCost]) {
        let mut job_costs: BTreeMap<String, Credits> = BTreeMap::new();
        for job in jobs {
            let (queue, cost) = self.jobs.get_mut(&job.job).unwrap();
            let more = job.cost.checked_sub(*cost).unwrap();
            assert!(more >= Credits::ZERO);
            *cost = job.cost;
            let sum = job_costs.entry(queue.clone()).or_default();
            *sum = sum.checked_add(more).unwrap();
        }
        assert_eq!(job_costs, std::mem::take(&mut self.due_job_costs));
    }

    /// The open intervals are over: the time of slots that were bought has been paid.
    fn check_tick(&mut self, tick: &Tick) {
        for (queue, interval) in &self.open {
            let least = cost_of_ms(interval, self.used_ms.get(queue).copied().unwrap_or(0));
            let charged = self.charged.get(queue).copied().unwrap_or(Credits::ZERO);
            // A setup or cleanup that lasts pays as a map.
            assert!(charged >= least, "{queue} owes {least} for its interval and pays {charged}");
        }
        (self.used_ms, self.passed_ms) = (BTreeMap::new(), 0);
        assert!(self.charged.keys().all(|queue| self.open.contains_key(queue)));
        self.charged.clear();
        self.open = tick.intervals().map(|(queue, interval)| (queue.to_string(), *interval)).collect();
        for (queue, interval) in &self.open {
            let balance = self.balances.get(queue).copied().unwrap_or(Credits::ZERO);
            assert!(cost(interval, interval.quota) <= balance, "{queue} was sold more than it can pay");
        }
    }
}

fn used(interval: &Interval, running: Option<&PerKind<u32>>) -> PerPool<u32> {
    let running = running.copied().unwrap_or_default();
    PerPool::new(running.map.min(interval.quota.map), running.reduce.min(interval.quota.reduce), 0)
}

fn cost_of_ms(interval: &Interval, slot_ms: u64) -> Credits {
    Credits::from_units(interval.share.rate().units() * i128::from(slot_ms) / i128::from(INTERVAL_MS))
}

fn cost(interval: &Interval, slots: PerPool<u32>) -> Credits {
    let slots = [slots.map, slots.reduce, slots.container].map(u64::from).iter().sum();
    interval.share.rate().checked_mul(slots).unwrap()
}

fn running(cluster: &Cluster) -> BTreeMap<String, PerKind<u32>> {
    let queues = cluster.engine.build_snapshot(cluster.now).value.queues.into_iter();
    queues.filter(|queue| queue.running != PerKind::default()).map(|queue| (queue.name, queue.running)).collect()
}

fn take(cluster: &mut Cluster, operation: &Operation, jobs: &mut Vec<JobId>) {
    match operation {
        Operation::Submit { user, maps, reduces } => {
            cluster.pass_ms(1);
            let signature = cluster.signature(USERS[*user]);
            let submitted = cluster.submit_signed(spec(USERS[*user], USERS[*user], *maps, *reduces), signature);
            jobs.extend(submitted.ok());
        }
        Operation::Beat(index) => preemption_laws::beat(cluster, *index, fate),
        Operation::Restart(index) => cluster.restart(*index),
        Operation::Kill(index) => {
            if let Some(id) = jobs.get(*index) {
                cluster.step(Event::KillJob { id: *id, caller: Caller::named("root") });
            }
        }
        Operation::Pass(ms) => {
            cluster.pass_ms(*ms);
            preemption_laws::ring(cluster);
        }
        Operation::SetSpending { user, rate } => {
            cluster.pass_ms(1);
            let rate = f64::from(*rate) / 8.0;
            drop(cluster.admin_asks(&format!("setSpending={rate}&queue={}", USERS[*user])));
        }
        Operation::AddBudget { user, amount } => {
            cluster.pass_ms(1);
            drop(cluster.admin_asks(&format!("addBudget={amount}.5&queue={}", USERS[*user])));
        }
        Operation::Remove(user) => {
            cluster.pass_ms(1);
            drop(cluster.admin_asks(&format!("removeQueue={}", USERS[*user])));
        }
        Operation::Crash(outage_ms) => cluster.crash(*outage_ms, fate),
    }
}

/// An explanation names no other queue, and accounts for every slot.
fn explanations_leak_nothing(cluster: &Cluster) {
    for job in cluster.engine.jobs.iter() {
        let explanation = cluster.engine.explain(job.id, false, cluster.now).value.unwrap().finish();
        let text = serde_json::to_string(&explanation).unwrap();
        let others = USERS.iter().filter(|user| **user != job.spec.queue);
        assert!(!others.into_iter().any(|user| text.contains(user)), "{text}");
        assert!(!explanation.why.is_empty());
        for holders in [&explanation.slots.map, &explanation.slots.reduce] {
            let others = holders.others_within_quota + holders.others_above_quota + holders.others_unpaid;
            assert_eq!(others, holders.other_queues);
            let all = holders.this_job + holders.own_queue + others + holders.setup_and_cleanup + holders.free;
            assert!(all >= holders.total, "{text}");
        }
    }
}

fn play(operations: &[Operation], kill_interval_ms: Option<u64>) -> String {
    let lines = [("alice", "100", "0.5"), ("bob", "40", "1.25"), ("carol", "0", "2")];
    let mut cluster = market_under(preempting(kill_interval_ms), &lines);
    for host in HOSTS {
        cluster.add_tracker(host, 3, 2);
    }
    let mut auditor = Auditor::default();
    auditor.read(&cluster, &running(&cluster));
    let mut jobs = Vec::new();
    for operation in operations {
        // Time passes before the step whose facts are checked against what ran then.
        let (before, mono_ms) = (running(&cluster), cluster.now.mono_ms);
        take(&mut cluster, operation, &mut jobs);
        match operation {
            Operation::Crash(_) => auditor.crash(),
            _ => auditor.pass(cluster.now.mono_ms - mono_ms, &before),
        }
        auditor.read(&cluster, &before);
        explanations_leak_nothing(&cluster);
    }
    for id in &jobs {
        let end = cluster.run(*id, |_| Fate::Succeed);
        assert!(matches!(end, RunState::Succeeded | RunState::Failed | RunState::Killed));
    }
    (0..HOSTS.len()).for_each(|index| drop(cluster.beat(index, |_| Fate::Succeed)));
    (0..HOSTS.len()).for_each(|index| drop(cluster.beat(index, |_| Fate::Succeed)));
    auditor.seen = cluster.facts.len();
    assert!(running(&cluster).is_empty(), "a slot leaked");
    // An idle queue pays nothing: the first tick closes the open interval, the next charges no queue.
    cluster.pass_ms(1_000);
    cluster.timer();
    let idle_from = cluster.facts.len();
    cluster.pass_ms(1_000);
    cluster.timer();
    let is_charge = |fact: &Fact| {
        matches!(fact, Fact::Market(MarketFact::Ledger(LedgerEntry { reason: Reason::Charge { .. }, .. })))
    };
    assert!(!cluster.facts[idle_from..].iter().any(is_charge));
    assert_eq!(cluster.engine.market().unwrap().price(), credits("0"));
    format!("{:?}", cluster.facts)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn credits_are_conserved_and_every_bought_interval_is_paid(operations in operations()) {
        for kill_interval_ms in [None, Some(1_500)] {
            let once = play(&operations, kill_interval_ms);
            prop_assert_eq!(once, play(&operations, kill_interval_ms), "same events, same decisions");
        }
    }
}

//! Law of money over random asks, launches, releases, ends, ticks, bids and crashes: each tick charges rate times the time of
//! slots, by books of the test's own, and jobs and applications cost together what queues were charged.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::api::applications::{AllocateCall, AskRow};
use crate::engine::tests::cluster::{FakeTask, Fate, spec};
use crate::engine::tests::market::market;
use crate::engine::{ApplicationQuestion, Fact};
use crate::fake_tracker::Role;
use crate::market::{Interval, LedgerAccount, MarketFact, Reason, Tick};
use crate::model::{ApplicationId, Capability, ContainerId, Credits, Kind, PerKind};

use super::bench::{Bench, Program, asking, launching, row, submission, submit_question};

const USERS: [&str; 2] = ["alice", "bob"];
const INTERVAL_MS: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
enum Op {
    Ask { user: usize, priority: u32, size: usize, count: u32 },
    Launch { user: usize, most: usize },
    Release { user: usize, most: usize },
    End(usize),
    Job { user: usize, maps: u32 },
    Beat,
    Tick,
    Rate { user: usize, eighths: u32 },
    Money { user: usize, amount: i32 },
    Crash,
    Restart(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let user = 0..USERS.len();
    prop_oneof![
        4 => (user.clone(), 1..4_u32, 0..4_usize, 0..6_u32)
            .prop_map(|(user, priority, size, count)| Op::Ask { user, priority, size, count }),
        4 => (user.clone(), 1..9_usize).prop_map(|(user, most)| Op::Launch { user, most }),
        2 => (user.clone(), 1..4_usize).prop_map(|(user, most)| Op::Release { user, most }),
        2 => (0..9_usize).prop_map(Op::End),
        1 => (user.clone(), 1..9_u32).prop_map(|(user, maps)| Op::Job { user, maps }),
        3 => Just(Op::Beat),
        6 => Just(Op::Tick),
        1 => (user.clone(), 0..20_u32).prop_map(|(user, eighths)| Op::Rate { user, eighths }),
        1 => (user, -30..60_i32).prop_map(|(user, amount)| Op::Money { user, amount }),
        1 => Just(Op::Crash),
        1 => (0..2_usize).prop_map(Op::Restart),
    ]
}

fn hang(task: &FakeTask) -> Fate {
    match task.role {
        Role::Housekeeping => Fate::Succeed,
        _ if task.id.task.number % 3 == 0 => Fate::Succeed,
        _ => Fate::Hang,
    }
}

/// What the test knows of the market.
struct Auditor {
    bench: Bench,
    /// The tracker of maps and reduces.
    stock: usize,
    programs: Vec<Program>,
    ticks: u64,
    open: BTreeMap<String, Interval>,
    /// Slot-milliseconds within the quotas since the last tick, of time that is surely charged.
    used_ms: BTreeMap<String, u64>,
    /// How much of the open interval has passed, ms.
    passed_ms: u64,
    /// How much of it in this operation by these books, ms.
    watched_ms: u64,
    /// What each queue was charged, units.
    charged: BTreeMap<String, i128>,
    read: usize,
}

impl Auditor {
    fn new() -> Self {
        let cluster = market(&[("alice", "90", "0.375"), ("bob", "40.000000000001", "1")]);
        let sizes = [Capability::new(8_192, 8), Capability::new(4_096, 3)];
        let mut bench = Bench::under(cluster, &sizes);
        let stock = bench.cluster.add_tracker("m0", 4, 2);
        bench.cluster.pass_ms(1_000);
        bench.cluster.beat(stock, hang);
        let programs = USERS.map(|user| {
            let submission = submission(bench.new_id(user));
            let application = submission.application_id;
            bench.ask_as(user, submit_question(submission)).unwrap();
            let mut program = Program { application, attempt: 0, response_id: 0 };
            program.register(&mut bench);
            program
        });
        Self {
            bench,
            stock,
            programs: programs.to_vec(),
            ticks: 0,
            open: BTreeMap::new(),
            used_ms: BTreeMap::new(),
            passed_ms: 0,
            watched_ms: 0,
            charged: BTreeMap::new(),
            read: 0,
        }
    }

    fn call(&mut self, user: usize, call: AllocateCall) {
        let mut program = self.programs[user];
        program.call(&mut self.bench, call);
        self.programs[user] = program;
    }

    fn live(&self, user: usize) -> Vec<(ContainerId, bool, Capability)> {
        let application = self.bench.application(self.programs[user].application);
        application.live().map(|one| (one.id, one.is_launched(), one.request.capability)).collect()
    }

    /// The time of heartbeats passes too: it is charged for what is held meanwhile, which these books leave out.
    fn run_and_watch_the_clock(&mut self, op: Op) {
        let (mono_ms, is_tick) = (self.bench.cluster.now.mono_ms, matches!(op, Op::Tick));
        self.watched_ms = 0;
        self.run(op);
        if !is_tick {
            let unwatched_ms = self.bench.cluster.now.mono_ms.saturating_sub(mono_ms) - self.watched_ms;
            self.passed_ms = INTERVAL_MS.min(self.passed_ms + unwatched_ms);
        }
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Ask { user, priority, size, count } => {
                let capability = [(1_024, 1), (2_048, 1), (512, 1), (1_024, 3)][size];
                let capability = Capability::new(capability.0, capability.1);
                self.call(user, asking(vec![AskRow { capability, ..row(priority, count) }]));
            }
            Op::Launch { user, most } => {
                let waiting = self.live(user).into_iter().filter(|(_, is_launched, _)| !is_launched);
                let ids: Vec<ContainerId> = waiting.map(|(id, ..)| id).take(most).collect();
                self.call(user, launching(&ids, "true"));
            }
            Op::Release { user, most } => {
                let release = self.live(user).into_iter().map(|(id, ..)| id).take(most).collect();
                self.call(user, AllocateCall { release, ..AllocateCall::default() });
            }
            Op::End(place) => {
                self.bench.settle();
                if let Some(id) = self.bench.on_workers().get(place).copied() {
                    self.bench.end(id, 0);
                }
            }
            Op::Job { user, maps } => {
                self.pass(1);
                let signature = self.bench.cluster.signature(USERS[user]);
                drop(self.bench.cluster.submit_signed(spec(USERS[user], USERS[user], maps, 1), signature));
            }
            Op::Beat => {
                self.bench.cluster.beat(self.stock, hang);
                self.bench.settle();
                (0..2).for_each(|index| self.bench.heartbeat(index));
            }
            Op::Tick => {
                self.pass(INTERVAL_MS);
                self.bench.cluster.timer();
                self.ticks += 1;
                self.check_tick();
            }
            Op::Rate { user, eighths } => {
                self.pass(1);
                let query = format!("setSpending={}&queue={}", f64::from(eighths) / 8.0, USERS[user]);
                self.bench.cluster.admin_asks(&query).unwrap();
            }
            Op::Money { user, amount } => {
                self.pass(1);
                drop(self.bench.cluster.admin_asks(&format!("addBudget={amount}&queue={}", USERS[user])));
            }
            Op::Crash => {
                self.bench.crash();
                // Only what facts prove of the time before is surely charged.
                (self.used_ms, self.passed_ms) = (BTreeMap::new(), INTERVAL_MS);
            }
            Op::Restart(worker) => {
                // Its containers are lost with it.
                self.bench.workers[worker].incarnation += 10;
                self.bench.workers[worker].containers.clear();
                self.bench.connect(worker);
            }
        }
    }

    /// Slots within the quotas, of each queue that has bought any: nothing changes while time passes.
    fn used(&self) -> BTreeMap<String, u64> {
        let snapshot = self.bench.cluster.engine.build_snapshot(self.bench.cluster.now).value;
        let mut all = BTreeMap::new();
        for (user, queue) in USERS.iter().enumerate() {
            let Some(interval) = self.open.get(*queue) else { continue };
            let running = snapshot.queues.iter().find(|one| one.name == **queue).map(|one| one.running);
            let running: PerKind<u32> = running.unwrap_or_default();
            let tasks = Kind::ALL.map(|kind| u64::from(running[kind].min(interval.quota[kind])));
            let bought = u64::from(interval.quota.map) + u64::from(interval.quota.reduce);
            let left = u64::from(interval.quota.container) + bought - tasks[0] - tasks[1];
            let slots = self.live(user).into_iter().map(|(.., size)| size.memory_mb.div_ceil(1_024).max(size.vcores));
            let containers = slots.map(u64::from).sum::<u64>().min(left);
            all.insert((*queue).to_owned(), tasks[0] + tasks[1] + containers);
        }
        all
    }

    fn pass(&mut self, ms: u64) {
        let counted_ms = ms.min(INTERVAL_MS.saturating_sub(self.passed_ms));
        self.passed_ms += counted_ms;
        for (queue, slots) in self.used() {
            *self.used_ms.entry(queue).or_default() += slots * counted_ms;
        }
        self.watched_ms += ms;
        self.bench.cluster.pass_ms(ms);
    }

    fn check_tick(&mut self) {
        let facts = &self.bench.cluster.facts;
        let ticks = facts[self.read..].iter().filter_map(|fact| match fact {
            Fact::Market(MarketFact::Tick(tick)) => Some(&**tick),
            _ => None,
        });
        let ticks: Vec<&Tick> = ticks.collect();
        assert_eq!(ticks.iter().map(|tick| tick.number).collect::<Vec<_>>(), [self.ticks]);
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for entry in ticks[0].charges() {
            let (LedgerAccount::Queue(queue), Reason::Charge { rate, interval_ms, slot_ms }) =
                (entry.debit, entry.reason)
            else {
                panic!("no charge")
            };
            let slot_ms = slot_ms.map + slot_ms.reduce + slot_ms.container;
            let units = rate.units() * i128::from(slot_ms) / i128::from(interval_ms);
            assert_eq!((entry.amount.units(), interval_ms), (units, INTERVAL_MS));
            *self.charged.entry(queue.to_string()).or_default() += entry.amount.units();
            found.insert(queue.to_string(), slot_ms);
        }
        let mut given_back_ms: BTreeMap<&str, u64> = BTreeMap::new();
        for fact in &facts[self.read..] {
            let Fact::Market(MarketFact::Metered(metered)) = fact else { continue };
            for change in &metered.changes {
                *given_back_ms.entry(change.queue.as_str()).or_default() += change.given_back_ms;
            }
        }
        for (queue, interval) in &self.open {
            let free_ms = given_back_ms.get(queue.as_str()).copied().unwrap_or(0);
            let held_ms = self.used_ms.get(queue).copied().unwrap_or(0);
            let (least, paid) = (held_ms.saturating_sub(free_ms), found.remove(queue).unwrap_or(0));
            let most = u64::from(interval.most_paid.unwrap_or(0)) * INTERVAL_MS;
            let is_funded = interval.share.rate() > Credits::ZERO;
            // What others were sold and do not hold counts for containers beyond the quota.
            assert!(!is_funded || (least..=most).contains(&paid), "{queue} pays for {paid}, not {least} to {most}");
        }
        assert!(found.is_empty(), "{found:?} of what was not sold");
        (self.used_ms, self.passed_ms) = (BTreeMap::new(), 0);
        self.open = ticks[0].intervals().map(|(queue, interval)| (queue.to_string(), *interval)).collect();
        self.read = facts.len();
    }

    fn check(&mut self) {
        self.bench.cluster.engine.check_whole_state();
        let engine = &self.bench.cluster.engine;
        let costs = &engine.market.as_ref().unwrap().costs;
        for (user, queue) in USERS.iter().enumerate() {
            let own = engine.jobs.iter().filter(|job| job.spec.user == **queue);
            let jobs: i128 = own.filter_map(|job| costs.of(job)).map(|cost| cost.cost.units()).sum();
            let application = self.cost_of(self.programs[user].application);
            let charged = self.charged.get(*queue).copied().unwrap_or_default();
            assert_eq!(jobs + application.units(), charged, "{queue}");
        }
    }

    fn cost_of(&self, application: ApplicationId) -> Credits {
        self.bench.application(application).cost.cost
    }
}

fn play(ops: &[Op]) -> u64 {
    let mut auditor = Auditor::new();
    for op in ops {
        auditor.run_and_watch_the_clock(*op);
        auditor.check();
    }
    for (user, name) in USERS.iter().enumerate() {
        let kill = ApplicationQuestion::Kill(auditor.programs[user].application);
        auditor.bench.ask_as(name, kill).unwrap();
    }
    auditor.bench.settle();
    auditor.run(Op::Tick);
    auditor.check();
    let slots = |user: usize| auditor.bench.application(auditor.programs[user].application).cost.slot_ms;
    slots(0) + slots(1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ticks_charge_what_containers_use_of_what_was_bought(ops in prop::collection::vec(op(), 1..70)) {
        play(&ops);
    }
}

/// The law is about something: containers are charged.
#[test]
fn containers_are_charged_in_such_a_run() {
    let ask = |user, priority| Op::Ask { user, priority, size: 1, count: 3 };
    let ops =
        [ask(0, 1), ask(1, 1), Op::Tick, Op::Launch { user: 0, most: 2 }, Op::Tick, ask(0, 2), Op::Tick, Op::Tick];
    assert!(play(&ops) >= 20_000);
}

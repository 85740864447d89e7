//! Laws over random calls, ends, losses and restarts: each container is named once, each end is said once, nothing is
//! launched twice, and what is over leaves its room.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::api::BeatContainerState;
use crate::api::applications::{AllocateAnswer, AllocateCall, Placement};
use crate::engine::ApplicationAnswer;
use crate::model::{Capability, ContainerExit, ContainerId};

use super::bench::{Bench, Program, asking, ended, ids, items_row, launching, read, row};

#[derive(Clone, Debug)]
enum Op {
    Ask {
        priority: u32,
        count: u32,
        host: Option<usize>,
    },
    Launch,
    Release,
    Start(usize),
    End {
        which: usize,
        exit: i32,
    },
    /// The same, not said before the next beat.
    EndUnsaid {
        which: usize,
        exit: i32,
    },
    /// A worker connects again, and lists all that it has.
    Reconnect(usize),
    /// The answer of the next call is lost once.
    LoseAnswer,
    Crash,
    RestartWorker(usize),
    Kill(usize),
    Pass(u64),
    Unattended {
        items: u32,
        max_fails: Option<u32>,
    },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1_u32..3, 0_u32..5, prop::option::of(0_usize..2))
            .prop_map(|(priority, count, host)| Op::Ask { priority, count, host }),
        4 => Just(Op::Launch),
        1 => Just(Op::Release),
        3 => (0_usize..8).prop_map(Op::Start),
        4 => (0_usize..8, -1_i32..3).prop_map(|(which, exit)| Op::End { which, exit }),
        4 => (0_usize..8, 0_i32..3).prop_map(|(which, exit)| Op::EndUnsaid { which, exit }),
        2 => (0_usize..2).prop_map(Op::Reconnect),
        2 => Just(Op::LoseAnswer),
        2 => Just(Op::Crash),
        1 => (0_usize..2).prop_map(Op::RestartWorker),
        1 => (0_usize..8).prop_map(Op::Kill),
        1 => (1_u64..70_000).prop_map(Op::Pass),
        2 => (1_u32..6, prop::option::of(0_u32..2))
            .prop_map(|(items, max_fails)| Op::Unattended { items, max_fails }),
    ]
}

/// A program, and what it was answered.
struct Watched {
    program: Program,
    named: BTreeMap<ContainerId, bool>,
    ended: BTreeSet<ContainerId>,
    loses_answer: bool,
}

impl Watched {
    fn call(&mut self, bench: &mut Bench, call: AllocateCall) {
        if std::mem::take(&mut self.loses_answer) {
            let first = bench.ask(self.program.question(call.clone())).unwrap();
            bench.crash();
            let again = bench.ask(self.program.question(call)).unwrap();
            assert_eq!(first, again, "the same bytes");
            self.hear(read(again));
            return;
        }
        let ApplicationAnswer::Allocated(answer) = bench.ask(self.program.question(call)).unwrap() else {
            panic!("answered at once");
        };
        self.hear(serde_json::from_slice(&answer).unwrap());
    }

    fn hear(&mut self, answer: AllocateAnswer) {
        self.program.response_id = answer.response_id;
        for id in ids(&answer) {
            assert!(self.named.insert(id, false).is_none(), "{id} is named twice");
        }
        for status in &answer.completed_container_statuses {
            assert!(self.ended.insert(status.container_id), "{} ends twice", status.container_id);
            assert!(self.named.contains_key(&status.container_id), "{} was never named", status.container_id);
        }
    }

    fn live(&self) -> Vec<ContainerId> {
        self.named.keys().filter(|id| !self.ended.contains(id)).copied().collect()
    }
}

/// Containers on workers that have not ended there.
fn running(bench: &Bench) -> Vec<ContainerId> {
    let all = bench.workers.iter().flat_map(|worker| &worker.containers);
    all.filter(|(_, state)| !matches!(state, BeatContainerState::Ended(_))).map(|(id, _)| *id).collect()
}

fn run(ops: Vec<Op>) {
    let mut bench = Bench::new(&[Capability::new(3_072, 3), Capability::new(2_048, 2)]);
    let program = bench.register();
    let mut watched = Watched { program, named: BTreeMap::new(), ended: BTreeSet::new(), loses_answer: false };
    for op in ops {
        match op {
            Op::Ask { priority, count, host } => {
                let mut rows = vec![row(priority, count)];
                if let Some(host) = host {
                    let mut near = row(priority, count);
                    near.resource_name = Placement::Host(format!("h{host}"));
                    rows.push(near);
                }
                watched.call(&mut bench, asking(rows));
            }
            Op::Launch => {
                let call = launching(&watched.live(), "true");
                watched.call(&mut bench, call);
                bench.settle();
            }
            Op::Release => {
                let release = watched.live().into_iter().take(1).collect();
                watched.call(&mut bench, AllocateCall { release, ..AllocateCall::default() });
                bench.settle();
            }
            Op::Start(which) => {
                if let Some(id) = running(&bench).get(which).copied() {
                    bench.start(id);
                    bench.settle();
                }
            }
            Op::End { which, exit } => {
                if let Some(id) = running(&bench).get(which).copied() {
                    bench.end(id, if exit < 0 { -100 } else { exit });
                }
            }
            Op::EndUnsaid { which, exit } => {
                if let Some(id) = running(&bench).get(which).copied() {
                    let worker = bench.workers.iter_mut().find(|worker| worker.containers.contains_key(&id)).unwrap();
                    worker.containers.insert(id, ended(ContainerExit(exit), ""));
                }
            }
            Op::Reconnect(worker) => drop(bench.connect(worker)),
            Op::LoseAnswer => watched.loses_answer = true,
            Op::Crash => bench.crash(),
            Op::RestartWorker(worker) => {
                bench.workers[worker].incarnation += 100;
                bench.workers[worker].containers.clear();
                bench.connect(worker);
            }
            Op::Kill(which) => {
                if let Some(id) = watched.live().get(which).copied() {
                    let signal = crate::engine::ContainerSignal::Graceful;
                    let question = crate::engine::ApplicationQuestion::Signal { container: id, signal };
                    bench.ask(question).unwrap();
                    bench.settle();
                }
            }
            Op::Pass(ms) => {
                bench.cluster.pass_ms(ms);
                (0..2).for_each(|worker| bench.heartbeat(worker));
                bench.cluster.timer();
            }
            Op::Unattended { items, max_fails } => {
                let text = format!("1-{items}");
                let row = items_row(&text, |launch| {
                    (launch.rules.max_attempts, launch.rules.max_fails) = (Some(2), max_fails);
                });
                bench.unattended(vec![row]);
            }
        }
        let on_workers = bench.on_workers();
        assert_eq!(on_workers.iter().collect::<BTreeSet<_>>().len(), on_workers.len(), "one place for each");
        for id in running(&bench) {
            let container = bench.cluster.engine.applications.container(id);
            assert!(container.is_some_and(|one| one.is_live()), "{id} is over, and still on its worker");
        }
    }
    // All comes to its end: the program wants nothing more, and gives back what it has.
    for _ in 0..200 {
        let release = watched.live();
        let call = AllocateCall { release, ask: vec![row(1, 0), row(2, 0)], ..AllocateCall::default() };
        watched.call(&mut bench, call);
        bench.settle();
        match bench.on_workers().first().copied() {
            Some(id) => bench.end(id, 0),
            None if watched.live().is_empty() && are_unattended_over(&bench) => break,
            None => {
                // A worker rests after what it could not run.
                bench.cluster.pass_ms(200);
                (0..2).for_each(|worker| bench.heartbeat(worker));
                bench.cluster.timer();
                bench.settle();
            }
        }
    }
    watched.call(&mut bench, AllocateCall::default());
    watched.call(&mut bench, AllocateCall::default());
    assert!(watched.live().is_empty(), "each end is said: {:?}", watched.live());
    assert!(bench.on_workers().is_empty());
    let scheduler = &bench.cluster.engine.cluster.scheduler;
    let free = bench.cluster.engine.trackers.iter().filter_map(|tracker| scheduler.room_on(tracker.id));
    assert_eq!(free.map(|room| room.memory_mb).sum::<u32>(), 5_120, "all room is free");
    assert!(are_unattended_over(&bench), "unattended ones end by themselves");
}

fn are_unattended_over(bench: &Bench) -> bool {
    let mut applications = bench.cluster.engine.applications.iter();
    applications.all(|application| application.is_over() || !application.submitted.is_unattended)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn containers_are_named_once_and_end_once(ops in prop::collection::vec(op(), 1..30)) {
        run(ops);
    }
}

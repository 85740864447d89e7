//! Preemption of containers under the market: what dies for a job or an application of a queue that is short, how, and
//! what it is said to be.

use crate::api::applications::{AllocateCall, AskRow, ContainerStart, ContainerState, LaunchSource};
use crate::engine::Fact;
use crate::engine::state::ApplicationChange;
use crate::engine::tests::cluster::{Cluster, Fate, spec};
use crate::engine::tests::market::{credits, market_under};
use crate::engine::tests::preemption::{KILL_INTERVAL_MS, preempting};
use crate::fake_tracker::Role;
use crate::mapreduce::JobSpec;
use crate::market::MarketFact;
use crate::model::{Capability, ContainerExit, ContainerId, JobId, LaunchContext, PerKind};

use super::bench::{
    Bench, Program, asking, context, ids, items_row, launching, row, statuses, submission, submit_question,
};

/// One worker of so many slots in all, two of them for maps; alice bids nothing.
fn stage(slots: u32) -> Bench {
    let mut cluster = market_under(preempting(Some(KILL_INTERVAL_MS)), &[("alice", "100", "0"), ("bob", "100", "1")]);
    cluster.pass_ms(10);
    Bench::of(cluster, &[(Capability::new(1_024, 1).times(slots), PerKind::new(2, 0))])
}

/// Alice's application holds all of the worker.
fn full(slots: u32) -> (Bench, Program, Vec<ContainerId>) {
    let mut bench = stage(slots);
    let mut program = bench.register();
    let granted = ids(&program.call(&mut bench, asking(vec![row(1, slots + 3)])));
    assert_eq!(granted.len(), slots as usize);
    (bench, program, granted)
}

fn start_all(bench: &mut Bench, program: &mut Program, containers: &[ContainerId]) {
    program.call(bench, launching(containers, "sleep"));
    bench.settle();
    containers.iter().for_each(|id| bench.start(*id));
    bench.settle();
}

fn submit(cluster: &mut Cluster, maps: u32) -> JobId {
    let signature = cluster.signature("bob");
    cluster.submit_signed(JobSpec { slowstart_millionths: 0, ..spec("bob", "bob", maps, 0) }, signature).unwrap()
}

/// Time passes in steps in which the worker calls and beats, after the timer has rung where it is due.
fn live(bench: &mut Bench, ms: u64) {
    for _ in 0..ms / 100 {
        bench.cluster.pass_ms(90);
        if bench.cluster.engine.next_timer_ms().is_some_and(|due| due <= bench.cluster.now.mono_ms) {
            bench.cluster.timer();
        }
        bench.advance(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang });
        bench.heartbeat(0);
        bench.settle();
    }
}

fn maps_of(bench: &Bench, queue: &str) -> u32 {
    let scheduler = &bench.cluster.engine.cluster.scheduler;
    scheduler.group(queue).map_or(0, |group| scheduler.usage(group).map)
}

fn ends(bench: &Bench) -> Vec<(u64, ContainerExit, String)> {
    let mut ends = Vec::new();
    for fact in &bench.cluster.facts {
        let Fact::Applications(changes) = fact else { continue };
        for change in changes {
            if let ApplicationChange::Container(container) = change
                && let Some(end) = &container.end
            {
                ends.push((container.id.number, end.exit, end.diagnostics.clone()));
            }
        }
    }
    ends
}

#[test]
fn the_newest_containers_of_who_has_bought_nothing_die_for_the_maps_of_who_has() {
    let (mut bench, mut program, containers) = full(4);
    start_all(&mut bench, &mut program, &containers);
    submit(&mut bench.cluster, 2);
    live(&mut bench, 5 * KILL_INTERVAL_MS);
    assert_eq!(maps_of(&bench, "bob"), 2, "its setup was let in, then its maps");
    let ends = ends(&bench);
    assert_eq!(ends.iter().map(|(number, exit, _)| (*number, exit.0)).collect::<Vec<_>>(), [(4, -102), (3, -102)]);
    let text = "Preempted: queue alice is over its quota of slots for containers, and others are below theirs";
    assert_eq!(ends[0].2, text);
    let answer = program.call(&mut bench, asking(vec![]));
    assert_eq!(statuses(&answer), [(3, -102), (4, -102)], "by number");
    assert_eq!(ids(&answer), [], "what comes free goes to who is short");
    live(&mut bench, 5 * KILL_INTERVAL_MS);
    assert_eq!(self::ends(&bench).len(), 2, "all have what they have bought");
}

#[test]
fn what_was_never_launched_goes_at_once_and_before_what_runs() {
    let (mut bench, mut program, containers) = full(4);
    start_all(&mut bench, &mut program, &containers[1..]);
    submit(&mut bench.cluster, 2);
    live(&mut bench, 5 * KILL_INTERVAL_MS);
    assert_eq!(maps_of(&bench, "bob"), 2);
    let numbers: Vec<u64> = ends(&bench).iter().map(|(number, ..)| *number).collect();
    assert_eq!(numbers, [1, 4]);
    let first = bench.application(program.application).containers.values().find(|one| one.id.number == 1);
    assert!(first.is_none_or(|one| one.state == ContainerState::Complete && one.kill.is_none()));
}

/// Time passes in which the worker learns of the kills and does not end anything. Returns whose ends are ordered.
fn hold_out(bench: &mut Bench, program: Program) -> Vec<u64> {
    for _ in 0..(5 * KILL_INTERVAL_MS / 100) {
        bench.cluster.pass_ms(90);
        bench.cluster.timer();
        bench.advance(0, |_| Fate::Hang);
        bench.heartbeat(0);
    }
    assert_eq!(ends(bench), []);
    let live = bench.application(program.application).live();
    live.filter(|one| one.kill.is_some()).map(|one| one.id.number).collect()
}

#[test]
fn a_victim_is_not_chosen_twice_while_it_takes_its_grace() {
    let (mut bench, mut program, containers) = full(4);
    start_all(&mut bench, &mut program, &containers);
    submit(&mut bench.cluster, 2);
    assert_eq!(hold_out(&mut bench, program), [4], "for the setup, which is all that waits");
    submit(&mut bench.cluster, 2);
    assert_eq!(hold_out(&mut bench, program), [3, 4], "the room of the first is for the first setup");
}

/// An application of bob's that wants nine containers.
fn submit_application(bench: &mut Bench, capability: Capability) {
    let mut submission = submission(bench.new_id("bob"));
    submission.specs.insert("s".to_owned(), context("true"));
    submission.unattended = Some(vec![AskRow { capability, ..items_row("1-9", |_| {}) }]);
    bench.ask_as("bob", submit_question(submission)).unwrap();
}

#[test]
fn an_application_that_no_node_serves_keeps_no_room_from_later_ones_of_its_queue() {
    let (mut bench, mut program, containers) = full(4);
    start_all(&mut bench, &mut program, &containers);
    submit_application(&mut bench, Capability::new(8_192, 8));
    submit_application(&mut bench, Capability::new(1_024, 1));
    live(&mut bench, 5 * KILL_INTERVAL_MS);
    let ends = ends(&bench);
    assert_eq!(ends.iter().map(|(_, exit, _)| exit.0).collect::<Vec<_>>(), [-102; 4], "all is bought by bob");
}

/// Alice's four containers run and ask for ten minutes between TERM and KILL.
fn clinging() -> (Bench, Program, Vec<ContainerId>) {
    let (mut bench, mut program, containers) = full(4);
    let patient = LaunchContext { kill_grace_ms: 600_000, ..context("sleep") };
    let launch = containers.iter().map(|id| ContainerStart {
        container_id: *id,
        source: LaunchSource::Context(Box::new(patient.clone())),
        item: None,
    });
    program.call(&mut bench, AllocateCall { launch: launch.collect(), wait_ms: 0, ..AllocateCall::default() });
    bench.settle();
    containers.iter().for_each(|id| bench.start(*id));
    bench.settle();
    (bench, program, containers)
}

fn graces(bench: &Bench, program: Program) -> Vec<(u64, i32, u64)> {
    let live = bench.application(program.application).live();
    let killed = live.filter_map(|one| Some((one.id.number, one.kill.as_ref()?)));
    killed.map(|(number, kill)| (number, kill.exit.0, kill.grace_ms)).collect()
}

#[test]
fn a_preempted_container_has_an_interval_at_most() {
    let (mut bench, program, _) = clinging();
    submit(&mut bench.cluster, 2);
    hold_out(&mut bench, program);
    assert_eq!(graces(&bench, program), [(4, -102, 1_000)]);
}

/// Its owner's release with ten minutes' grace must not keep the room from who has bought it.
#[test]
fn what_its_owner_ends_slowly_is_preempted_like_all_else() {
    let (mut bench, mut program, containers) = clinging();
    program.call(&mut bench, AllocateCall { release: containers, ..AllocateCall::default() });
    assert_eq!(graces(&bench, program).iter().map(|(.., grace_ms)| *grace_ms).collect::<Vec<_>>(), [600_000; 4]);
    submit(&mut bench.cluster, 2);
    hold_out(&mut bench, program);
    let shortened = graces(&bench, program).into_iter().filter(|(.., grace_ms)| *grace_ms == 1_000);
    assert_eq!(shortened.collect::<Vec<_>>(), [(4, -100, 1_000)], "the first reason stays");
}

/// Alice bids 1 while her containers are granted, and less when they are preempted: the grace of those that cling costs 1 for
/// each slot over an interval, on top of what she has bought, and no more than an interval of it, however late they end.
#[test]
fn the_grace_of_preempted_containers_is_charged_at_the_rate_of_their_grant() {
    for crashes in [false, true] {
        let bids = [("alice", "100", "1"), ("bob", "100", "0.5")];
        let mut cluster = market_under(preempting(Some(KILL_INTERVAL_MS)), &bids);
        cluster.pass_ms(10);
        let mut bench = Bench::of(cluster, &[(Capability::new(1_024, 1).times(4), PerKind::new(2, 0))]);
        let mut program = bench.register();
        let mut containers = ids(&program.call(&mut bench, asking(vec![row(1, 1)])));
        start_all(&mut bench, &mut program, &containers);
        live(&mut bench, 2_000);
        containers = ids(&program.call(&mut bench, asking(vec![row(1, 3)])));
        assert_eq!(containers.len(), 3);
        start_all(&mut bench, &mut program, &containers);
        bench.cluster.admin_asks("setSpending=0.25&queue=alice").unwrap();
        submit(&mut bench.cluster, 2);
        let clinging = hold_out(&mut bench, program);
        assert_ne!(clinging, [0_u64; 0]);
        if crashes {
            bench.crash();
            bench.heartbeat(0);
        }
        assert_eq!(hold_out(&mut bench, program), clinging);
        let (mut graces_ms, mut paid) = (0, 0);
        for fact in &bench.cluster.facts {
            let Fact::Market(MarketFact::Tick(tick)) = fact else { continue };
            for one in tick.queue_ticks.iter().filter(|one| one.queue.as_str() == "alice") {
                assert!(one.graces.iter().all(|grace| grace.rate == credits("1")), "{one:?}");
                graces_ms += one.graces.iter().map(|grace| grace.slot_ms.container).sum::<u64>();
                paid += one.charges().map(|charge| charge.amount().units()).sum::<i128>();
            }
        }
        let most_ms = 1_000 * clinging.len() as u64;
        assert!(if crashes { (1..=most_ms).contains(&graces_ms) } else { graces_ms == most_ms }, "{graces_ms}");
        let application = bench.application(program.application);
        assert_eq!(application.cost.cost.units(), paid, "and all of it is laid on her application");
        assert_eq!(
            bench.cluster.engine.market().unwrap().account("alice").unwrap().balance().units(),
            credits("100").units() - paid
        );
    }
}

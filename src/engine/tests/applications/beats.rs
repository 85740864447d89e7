//! Beats: who is believed, what a worker is owed, and what becomes of containers when workers come and go.

use core::net::{IpAddr, Ipv4Addr};

use crate::api::applications::{AllocateCall, AskRow, NodeState, Placement};
use crate::api::{BeatContainerState, WorkerBeat};
use crate::engine::tests::cluster::{Cluster, FakeTask, Fate, fifo, spec};
use crate::engine::{ApplicationAnswer, ApplicationQuestion, BeatRefusal, BeatReply, Caller, Effect, Event};
use crate::fake_tracker::Role;
use crate::model::{Capability, ContainerExit, ContainerId, PerKind};

use super::bench::{ADDRESS, Bench, ONE, asking, ended, ids, items_row, launches, launching, refused, row, statuses};

fn beat_of(bench: &Bench, index: usize) -> WorkerBeat {
    WorkerBeat {
        tracker: bench.cluster.trackers[index].name.to_string(),
        incarnation: bench.workers[index].incarnation,
        secret: Bench::secret(index),
        number: 2,
        declared: None,
        is_full: false,
        containers: Vec::new(),
        ..WorkerBeat::default()
    }
}

/// A program with one container that runs on worker 0.
fn running(bench: &mut Bench) -> (super::bench::Program, ContainerId) {
    let mut program = bench.register();
    let answer = program.call(bench, asking(vec![row(1, 1)]));
    let id = ids(&answer)[0];
    program.call(bench, launching(&[id], "true"));
    bench.settle();
    bench.start(id);
    bench.settle();
    (program, id)
}

#[test]
fn only_the_workers_own_process_is_believed() {
    let mut bench = Bench::new(&[ONE]);
    let own = beat_of(&bench, 0);
    assert_eq!(bench.send_beat(own.clone(), ADDRESS), BeatReply::Waits);
    let elsewhere = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    assert_eq!(refused(bench.send_beat(own.clone(), elsewhere)), BeatRefusal::WrongAddress);
    let guessed = WorkerBeat { secret: Bench::secret(5), ..own.clone() };
    assert_eq!(refused(bench.send_beat(guessed, ADDRESS)), BeatRefusal::WrongSecret);
    let unknown = WorkerBeat { tracker: "tracker_x:streaming_only/127.0.0.1:1".to_owned(), ..own.clone() };
    assert_eq!(refused(bench.send_beat(unknown, ADDRESS)), BeatRefusal::NotRegistered);
    let stock = bench.cluster.add_tracker("h9", 0, 0);
    bench.cluster.beat(stock, |_| Fate::Hang);
    let stock = WorkerBeat { tracker: bench.cluster.trackers[stock].name.to_string(), ..own.clone() };
    assert_eq!(refused(bench.send_beat(stock, ADDRESS)), BeatRefusal::NotBuiltIn);
    let other_process = WorkerBeat { incarnation: 99, ..own };
    assert_eq!(refused(bench.send_beat(other_process, ADDRESS)), BeatRefusal::NoFirstBeat);
}

#[test]
fn a_launch_is_repeated_until_the_worker_has_it_and_ends_a_wait_once() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    bench.cluster.effects.clear();
    program.call(&mut bench, launching(&ids(&answer), "true"));
    let news = |effect: &Effect| matches!(effect, Effect::WorkerHasNews { .. });
    assert!(bench.cluster.effects.iter().any(news));
    // An answer that the worker never gets.
    let beat = beat_of(&bench, 0);
    assert_eq!(launches(bench.send_beat(beat.clone(), ADDRESS)).len(), 1);
    assert_eq!(bench.send_beat(beat, ADDRESS), BeatReply::Waits, "nothing new on this connection");
    // It connects again, and has nothing.
    let launch = launches(bench.connect(0)).remove(0);
    assert_eq!((launch.id, launch.user.as_str(), launch.capability), (ids(&answer)[0], "alice", ONE));
    assert_eq!(launch.secret, None);
    assert_eq!(bench.beat(0), BeatReply::Waits, "it has it");
}

#[test]
fn an_end_is_noted_each_time_it_is_said_and_counts_once() {
    let mut bench = Bench::new(&[ONE]);
    let (mut program, id) = running(&mut bench);
    bench.workers[0].containers.insert(id, ended(ContainerExit(3), "exit code 3"));
    for _ in 0..2 {
        let beat = WorkerBeat {
            containers: vec![crate::api::BeatContainer { id, state: ended(ContainerExit(3), "exit code 3") }],
            ..beat_of(&bench, 0)
        };
        let BeatReply::Answer(answer) = bench.send_beat(beat, ADDRESS) else { panic!("answered") };
        assert_eq!(answer.noted, [id]);
    }
    let answer = program.call(&mut bench, AllocateCall::default());
    assert_eq!(statuses(&answer), [(1, 3)]);
    assert_eq!(statuses(&program.call(&mut bench, AllocateCall::default())), []);
}

#[test]
fn a_container_that_is_not_known_is_killed() {
    let mut bench = Bench::new(&[ONE]);
    let id = crate::model::ApplicationId::new(1, 1).container(1, 1);
    bench.workers[0].containers.insert(id, BeatContainerState::Running { pid: 4, started_ms: 1 });
    let BeatReply::Answer(answer) = bench.beat(0) else { panic!("answered") };
    assert_eq!(answer.kills[0].id, id);
    bench.settle();
    assert!(bench.on_workers().is_empty());
}

#[test]
fn what_a_whole_list_lacks_is_over() {
    let mut bench = Bench::new(&[ONE]);
    let (mut program, id) = running(&mut bench);
    bench.workers[0].containers.remove(&id);
    bench.connect(0);
    let answer = program.call(&mut bench, AllocateCall::default());
    assert_eq!(statuses(&answer), [(1, -100)]);
}

#[test]
fn what_is_killed_for_an_end_in_a_whole_list_is_on_its_worker() {
    let mut bench = Bench::new(&[ONE.times(3)]);
    let application = bench.unattended(vec![items_row("1-3", |launch| launch.rules.max_fails = Some(0))]);
    bench.settle();
    let [first, second, third] = bench.on_workers()[..] else { panic!("three run") };
    bench.start(second);
    bench.settle();
    // While the connection is lost the first fails, and the third ends well.
    bench.workers[0].containers.insert(first, ended(ContainerExit(1), ""));
    bench.workers[0].containers.insert(third, ended(ContainerExit(0), ""));
    let BeatReply::Answer(answer) = bench.connect(0) else { panic!("answered") };
    assert_eq!(answer.kills.iter().map(|kill| kill.id).collect::<Vec<_>>(), [second]);
    let live: Vec<ContainerId> = bench.application(application).live().map(|container| container.id).collect();
    assert_eq!(live, [second], "it holds its room until its worker has ended it");
    bench.settle();
    let exits = bench.application(application).containers.values().map(|container| container.exit().0);
    assert_eq!(exits.collect::<Vec<_>>(), [1, -107, 0], "one that ended by itself keeps its own status");
    assert!(bench.on_workers().is_empty());
}

#[test]
fn another_process_of_a_worker_has_none_of_its_containers() {
    let mut bench = Bench::new(&[ONE]);
    let (mut program, _) = running(&mut bench);
    bench.workers[0].incarnation = 77;
    bench.workers[0].containers.clear();
    bench.connect(0);
    let answer = program.call(&mut bench, AllocateCall::default());
    assert_eq!(statuses(&answer), [(1, -100)]);
    assert_eq!(answer.completed_container_statuses[0].diagnostics, "node h0:50060 was lost");
}

#[test]
fn a_lost_node_takes_its_containers_along() {
    let mut bench = Bench::new(&[ONE]);
    let (mut program, _) = running(&mut bench);
    bench.cluster.pass_ms(700_000);
    program.call(&mut bench, AllocateCall::default());
    bench.cluster.timer();
    let answer = program.call(&mut bench, AllocateCall::default());
    assert_eq!((statuses(&answer), answer.num_cluster_nodes), (vec![(1, -100)], 0));
}

#[test]
fn an_ill_worker_keeps_its_containers_and_gets_no_more() {
    let mut bench = Bench::new(&[Capability::new(4_096, 4)]);
    let (mut program, _) = running(&mut bench);
    bench.workers[0].unhealthy = Some("no room on its disk".to_owned());
    bench.beat(0);
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    assert!(ids(&answer).is_empty() && statuses(&answer).is_empty());
    bench.workers[0].unhealthy = None;
    bench.beat(0);
    assert_eq!(ids(&program.call(&mut bench, AllocateCall::default())).len(), 1);
}

#[test]
fn a_released_container_is_killed_and_its_room_is_taken_until_nothing_of_it_is_left() {
    let mut bench = Bench::new(&[ONE]);
    let (mut program, id) = running(&mut bench);
    let call = AllocateCall { release: vec![id], ..asking(vec![row(1, 1)]) };
    let answer = program.call(&mut bench, call);
    assert!(ids(&answer).is_empty() && statuses(&answer).is_empty());
    bench.settle();
    let answer = program.call(&mut bench, AllocateCall::default());
    assert_eq!((statuses(&answer), ids(&answer).len()), (vec![(1, -100)], 1));
    assert_eq!(answer.completed_container_statuses[0].diagnostics, "released by the application");
}

/// An end on a whole list may be one too many for its application: the others on that list run, and are killed.
#[test]
fn an_end_on_a_whole_list_ends_no_other_container_that_runs() {
    let mut bench = Bench::new(&[Capability::new(2_048, 2)]);
    let application = bench.unattended(vec![items_row("1-2", |launch| launch.rules.max_fails = Some(0))]);
    bench.settle();
    let [fails, runs] = bench.on_workers()[..] else { panic!("two") };
    bench.start(runs);
    bench.settle();
    bench.workers[0].containers.insert(fails, ended(ContainerExit(1), ""));
    bench.connect(0);
    let live: Vec<_> = bench.application(application).live().map(|container| container.id).collect();
    assert_eq!(live, [runs], "its worker still has to kill it");
    bench.settle();
    assert!(bench.application(application).live().next().is_none());
}

#[test]
fn a_container_is_in_the_rack_that_its_node_is_in_now() {
    let mut bench = Bench::new(&[ONE]);
    bench.cluster.step(Event::RackResolved { host: "h0".into(), rack: "/r".to_owned() });
    let mut program = bench.register();
    let near = AskRow { resource_name: Placement::Rack("/r".to_owned()), relax_locality: true, ..row(1, 1) };
    program.call(&mut bench, asking(vec![near, row(1, 1)]));
    let container = bench.application(program.application).live().next().unwrap();
    assert_eq!((&*container.node.rack, container.lowered.rack), ("/r", true));
    let left = bench.application(program.application).tables.values().flat_map(|table| table.rows.values());
    assert_eq!(left.map(|row| row.count).sum::<u32>(), 0, "both rows are lowered");
}

/// An answer with a launch is lost, and the connection is not: a kill alone would find nothing to end.
#[test]
fn a_launch_that_its_worker_lacks_is_repeated_even_with_its_kill() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let granted = ids(&program.call(&mut bench, asking(vec![row(1, 1)])));
    bench.beat(0);
    program.call(&mut bench, launching(&granted, "sleep"));
    let lost = bench.lose_answer(0);
    assert_eq!(launches(lost).len(), 1);
    bench.ask(ApplicationQuestion::Kill(program.application)).unwrap();
    let BeatReply::Answer(answer) = bench.beat(0) else { panic!("an answer") };
    let ordered: Vec<_> = answer.launches.iter().map(|launch| launch.id).collect();
    assert_eq!((ordered, answer.kills.len()), (granted, 1));
    bench.settle();
    assert!(bench.application(program.application).live().next().is_none(), "it has ended");
}

/// What a worker has is not gone through for each of its beats.
#[test]
fn a_worker_is_owed_what_it_lacks_and_what_it_is_to_end() {
    let mut bench = Bench::new(&[Capability::new(3_072, 3)]);
    let mut program = bench.register();
    let granted = ids(&program.call(&mut bench, asking(vec![row(1, 3)])));
    let owed = |bench: &Bench| -> Vec<ContainerId> {
        let name = bench.cluster.trackers[0].name.to_string();
        bench.cluster.engine.applications.worker(&name).unwrap().owed.iter().copied().collect()
    };
    assert_eq!(owed(&bench), [], "nothing is launched");
    program.call(&mut bench, launching(&granted, "sleep"));
    assert_eq!(owed(&bench), granted);
    bench.beat(0);
    assert_eq!(owed(&bench), granted, "it has not said that it has them");
    bench.settle();
    assert_eq!(owed(&bench), []);
    program.call(&mut bench, AllocateCall { release: vec![granted[1]], ..AllocateCall::default() });
    assert_eq!(owed(&bench), granted[1..2]);
    bench.crash();
    assert_eq!(owed(&bench), granted[1..2], "also after a start");
    bench.settle();
    assert_eq!(owed(&bench), []);
}

/// Its rows would count for no rack, and a rack that is closed would be passed by.
#[test]
fn no_container_comes_to_a_node_before_its_rack_is_known() {
    let mut bench = Bench { cluster: Cluster::new(fifo()), workers: Vec::new() };
    let index = bench.add_worker("h0", ONE);
    let mut program = bench.register();
    let near = AskRow { resource_name: Placement::Rack("/r".to_owned()), ..row(1, 1) };
    assert_eq!(ids(&program.call(&mut bench, asking(vec![near, row(1, 1)]))), []);
    for _ in 0..2 {
        bench.heartbeat_without_rack(index);
        bench.connect(index);
    }
    assert_eq!(ids(&program.call(&mut bench, AllocateCall::default())), []);
    bench.cluster.step(Event::RackResolved { host: "h0".into(), rack: "/r".to_owned() });
    let answer = program.call(&mut bench, AllocateCall::default());
    assert_eq!(answer.allocated_containers.len(), 1, "at once");
    assert_eq!(&*answer.allocated_containers[0].rack, "/r");
    let left = bench.application(program.application).tables.values().flat_map(|table| table.rows.values());
    assert_eq!(left.map(|row| row.count).sum::<u32>(), 0, "both rows are lowered");
}

#[test]
fn a_node_whose_worker_takes_no_container_is_listed_as_unhealthy() {
    let mut bench = Bench::new(&[ONE]);
    let node = |bench: &mut Bench| match bench.ask(ApplicationQuestion::Nodes).unwrap() {
        ApplicationAnswer::Nodes(nodes) => (nodes[0].state, nodes[0].health_report.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(node(&mut bench), (NodeState::Running, String::new()));
    bench.workers[0].unhealthy = Some("its disks are full".to_owned());
    bench.beat(0);
    assert_eq!(node(&mut bench), (NodeState::Unhealthy, "its disks are full".to_owned()));
    bench.workers[0].unhealthy = None;
    bench.beat(0);
    assert_eq!(node(&mut bench), (NodeState::Running, String::new()));
}

/// An attempt whose job has ended holds no slot by the books, and runs until its tracker has killed it.
#[test]
fn no_container_takes_the_room_of_a_task_that_still_runs() {
    let size = Capability::new(2_048, 2);
    let mut bench = Bench::of(Cluster::new(fifo()), &[(size, PerKind::new(1, 0))]);
    let job = bench.cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let run = |task: &FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang };
    for _ in 0..6 {
        bench.heartbeat(0);
        bench.advance(0, run);
    }
    let name = bench.cluster.trackers[0].name.to_string();
    let busy = |bench: &Bench| {
        let id = bench.cluster.engine.trackers.id_of(&name).unwrap();
        bench.cluster.engine.trackers.get(id).unwrap().busy.map
    };
    assert_eq!(busy(&bench), 1, "its map runs");
    let mut program = bench.register();
    assert_eq!(ids(&program.call(&mut bench, asking(vec![row(1, 2)]))).len(), 1, "beside the map");
    bench.cluster.step(Event::KillJob { id: job, caller: Caller::named("alice") });
    assert_eq!(ids(&program.call(&mut bench, AllocateCall::default())), [], "the node has not ended it");
    for _ in 0..6 {
        bench.heartbeat(0);
        bench.advance(0, run);
    }
    assert_eq!(ids(&program.call(&mut bench, AllocateCall::default())).len(), 1);
}

//! Containers beside setups and cleanups, which are launched at heartbeats before all other tasks.

use crate::api::applications::AllocateCall;
use crate::engine::tests::cluster::{Cluster, Fate, fifo, spec};
use crate::fake_tracker::Role;
use crate::model::{Capability, ContainerId, JobId, PerKind};

use super::bench::{Bench, Program, asking, ids, row};

/// One worker of so many slots, one of them for maps; all are held by an application that wants more.
fn full(slots: u32) -> (Bench, Program, Vec<ContainerId>) {
    let room = Capability::new(1_024, 1).times(slots);
    let mut bench = Bench::of(Cluster::new(fifo()), &[(room, PerKind::new(1, 0))]);
    let mut program = bench.register();
    let held = ids(&program.call(&mut bench, asking(vec![row(1, 100)])));
    assert_eq!(held.len(), slots as usize);
    (bench, program, held)
}

/// The program gives one back; what it is granted at once.
fn give_back(bench: &mut Bench, program: &mut Program, id: ContainerId) -> Vec<ContainerId> {
    let mut granted = ids(&program.call(bench, AllocateCall { release: vec![id], ..asking(vec![]) }));
    granted.extend(ids(&program.call(bench, asking(vec![]))));
    granted
}

fn is_over(bench: &Bench, job: JobId) -> bool {
    bench.cluster.engine.jobs.get(job).is_none_or(|job| job.is_over())
}

#[test]
fn room_that_comes_free_goes_to_a_setup_that_waits_and_then_to_the_tasks_and_the_cleanup() {
    let (mut bench, mut program, mut held) = full(3);
    let job = bench.cluster.submit(spec("bob", "default", 1, 0)).unwrap();
    bench.heartbeat(0);
    assert_eq!(bench.cluster.trackers[0].attempts.len(), 0, "nothing is free");
    let granted = give_back(&mut bench, &mut program, held.pop().unwrap());
    assert_eq!(granted, [], "it is kept for the setup");
    bench.heartbeat(0);
    let roles: Vec<Role> = bench.cluster.trackers[0].attempts.iter().map(|task| task.role).collect();
    assert_eq!(roles, [Role::Housekeeping]);
    for _ in 0..10 {
        bench.advance(0, |_| Fate::Succeed);
        bench.heartbeat(0);
    }
    assert!(is_over(&bench, job), "its map and its cleanup had the room after it");
    let granted = ids(&program.call(&mut bench, asking(vec![])));
    assert_eq!(granted.len(), 1, "no task waits any more");
}

#[test]
fn no_more_is_kept_than_setups_wait_and_none_once_they_have_had_their_turn() {
    let (mut bench, mut program, mut held) = full(3);
    bench.cluster.submit(spec("bob", "default", 1, 0)).unwrap();
    assert_eq!(give_back(&mut bench, &mut program, held.pop().unwrap()), []);
    let granted = give_back(&mut bench, &mut program, held.pop().unwrap());
    assert_eq!(granted.len(), 1, "one setup takes one slot");
    bench.heartbeat(0);
    assert_eq!(give_back(&mut bench, &mut program, held.pop().unwrap()).len(), 1, "it runs");
}

//! Tasks that take more than one slot: what trackers are sent, what is counted, charged and preempted, before and after
//! a restart.

use std::num::NonZeroU32;

use crate::engine::{Caller, Event, Fact};
use crate::fake_tracker::Role;
use crate::mapreduce::JobFact;
use crate::model::{JobId, Kind, PerKind};
use crate::wire::Action;

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};
use super::market::market;
use super::preemption::{KILL_INTERVAL_MS, attempts, hang, is_preempted, live, preempting};

fn slots(maps: u32, reduces: u32) -> PerKind<NonZeroU32> {
    PerKind::new(NonZeroU32::new(maps).unwrap(), NonZeroU32::new(reduces).unwrap())
}

/// A job of `maps` maps that take `slots_per_map` each, in a queue of the user.
fn submit(cluster: &mut Cluster, user: &str, maps: u32, slots_per_map: u32) -> JobId {
    cluster.pass_ms(1);
    let signature = cluster.signature(user);
    let id = cluster.submit_signed(spec(user, user, maps, 0), signature).unwrap();
    cluster.set_slots_per_task(id, slots(slots_per_map, 1));
    id
}

fn usage(cluster: &Cluster, queue: &str) -> u32 {
    let scheduler = &cluster.engine.cluster.scheduler;
    scheduler.usage(scheduler.group(queue).unwrap()).map
}

fn tick(cluster: &mut Cluster) {
    cluster.now.mono_ms = cluster.engine.rounds.update.due_mono_ms();
    cluster.timer();
}

#[test]
fn a_launch_names_its_slots_and_setups_take_one() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 6, 3);
    let id = cluster.submit(spec("alice", "default", 2, 1)).unwrap();
    cluster.set_slots_per_task(id, slots(2, 3));
    let mut launched = Vec::new();
    for _ in 0..20 {
        for action in cluster.beat(0, |_| Fate::Succeed).0.actions {
            if let Action::LaunchTask(task) = action {
                assert_eq!(task.num_slots, task.status.num_slots);
                launched.push((task.job_setup || task.job_cleanup.is_some(), task.body.kind(), task.num_slots));
            }
        }
    }
    launched.sort_unstable();
    let (map, reduce) = ((false, Kind::Map, 2), (false, Kind::Reduce, 3));
    assert_eq!(launched, [map, map, reduce, (true, Kind::Map, 1), (true, Kind::Map, 1)]);
    let recorded = cluster.facts.iter().filter_map(|fact| match fact {
        Fact::Job(JobFact::AttemptLaunched { slots, .. }) => Some(*slots),
        _ => None,
    });
    assert_eq!(recorded.sum::<u32>(), 2 + 2 + 3 + 1 + 1);
}

#[test]
fn a_tracker_gets_no_task_of_more_slots_than_it_has_left() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 5, 1);
    let id = cluster.submit(spec("alice", "default", 9, 0)).unwrap();
    cluster.set_slots_per_task(id, slots(2, 1));
    (0..6).for_each(|_| drop(cluster.beat(0, hang)));
    let job = cluster.engine.jobs.get(id).unwrap();
    let scheduler = &cluster.engine.cluster.scheduler;
    assert_eq!((job.running().map, scheduler.app_usage(job.app).map), (2, 4));
    let totals = scheduler.totals();
    assert_eq!((totals.running.map, totals.held.map), (2, 4));
    let shown = cluster.engine.build_snapshot(cluster.now).value;
    assert_eq!((shown.running.map, shown.jobs[0].running.map), (4, 2), "slots of the cluster, attempts of the job");
    let holders = cluster.engine.explain(id, true, cluster.now).value.unwrap().finish().slots.map;
    assert_eq!((holders.this_job, holders.free), (4, 1));
}

#[test]
fn each_slot_is_charged_before_and_after_a_restart() {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.add_tracker("h0", 7, 1);
    let id = submit(&mut cluster, "alice", 9, 3);
    live(&mut cluster, 900, hang);
    assert_eq!(usage(&cluster, "alice"), 6);
    tick(&mut cluster);
    tick(&mut cluster);
    let charged = |cluster: &Cluster| {
        let job = cluster.engine.jobs.get(id).unwrap();
        cluster.engine.market.as_ref().unwrap().costs.of(job).unwrap().slot_ms.map
    };
    assert_eq!(charged(&cluster), 6_000);
    cluster.crash(500, hang);
    assert_eq!(usage(&cluster, "alice"), 6);
    (0..3).for_each(|_| drop(cluster.beat(0, hang)));
    assert_eq!(usage(&cluster, "alice"), 7, "under the market a new attempt takes one slot");
    tick(&mut cluster);
    assert_eq!(charged(&cluster), 13_000);
    cluster.step(Event::KillJob { id, caller: Caller::named("alice") });
    (0..8).for_each(|_| drop(cluster.beat(0, |_| Fate::Succeed)));
    assert_eq!(usage(&cluster, "alice"), 0);
}

#[test]
fn what_was_held_up_to_a_stop_is_charged_after_it() {
    let left_ms = |stops: bool| {
        let mut cluster = market(&[("alice", "100", "1")]);
        cluster.add_tracker("h0", 7, 1);
        submit(&mut cluster, "alice", 9, 3);
        live(&mut cluster, 900, hang);
        tick(&mut cluster);
        let opened_mono_ms = cluster.now.mono_ms;
        cluster.pass_ms(600);
        if stops {
            cluster.step(Event::RunEnds);
        }
        cluster.crash(500, hang);
        let end_mono_ms = cluster.engine.rounds.resumed_end_mono_ms.unwrap();
        (end_mono_ms - cluster.now.mono_ms, cluster.now.mono_ms - opened_mono_ms)
    };
    assert_eq!(left_ms(false), (1_000, 1_100), "no fact proves what was held before a crash");
    assert_eq!(left_ms(true), (400, 1_100));
}

#[test]
fn the_counters_of_a_job_sum_up_the_time_of_its_slots() {
    let slot_ms = |slots_per_map| {
        let mut cluster = Cluster::new(fifo());
        cluster.add_tracker("h0", 6, 1);
        let id = cluster.submit(spec("alice", "default", 4, 0)).unwrap();
        cluster.set_slots_per_task(id, slots(slots_per_map, 1));
        cluster.run(id, |_| Fate::Succeed);
        let counters = cluster.engine.job_counters(id).value.unwrap().unwrap();
        let all = counters.groups.iter().flat_map(|group| &group.counters);
        all.clone().find(|counter| &*counter.name == "SLOTS_MILLIS_MAPS").unwrap().value
    };
    // Each attempt runs for a second, setup and cleanup in one slot.
    assert_eq!((slot_ms(1), slot_ms(3)), (6_000, 14_000));
}

#[test]
fn a_victim_of_several_slots_never_takes_its_queue_below_the_quota() {
    let lines = [("alice", "1000", "1"), ("bob", "1000", "1")];
    let mut cluster = super::market::market_under(preempting(Some(KILL_INTERVAL_MS)), &lines);
    cluster.pass_ms(10);
    cluster.add_tracker("h0", 8, 2);
    let is_alice = |task: &FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang };
    submit(&mut cluster, "alice", 9, 3);
    live(&mut cluster, 3_000, is_alice);
    assert_eq!(usage(&cluster, "alice"), 6);
    submit(&mut cluster, "bob", 9, 1);
    live(&mut cluster, 4 * KILL_INTERVAL_MS, is_alice);
    // Four slots each; without an attempt of three slots alice would hold three.
    assert_eq!((usage(&cluster, "alice"), usage(&cluster, "bob")), (6, 2));
    assert!(attempts(&cluster).iter().all(|(.., attempt)| !is_preempted(attempt)));
    // With seven slots for two queues a quota of three leaves an excess of three.
    cluster.trackers[0].slots.map = 7;
    live(&mut cluster, 4 * KILL_INTERVAL_MS, is_alice);
    assert!(usage(&cluster, "alice") >= 3);
}

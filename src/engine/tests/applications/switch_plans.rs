//! `scheduler show` and `scheduler plan` count applications and their containers, as the schedulers do.

use crate::api::GroupStatus;
use crate::engine::tests::cluster::{Cluster, dynamic, fifo, spec};
use crate::engine::tests::market::{market, seeded};
use crate::engine::tests::policies::capacity;
use crate::engine::tests::scheduler_report::{fair, report};
use crate::engine::tests::scheduler_switch::{done, wish};
use crate::model::{Capability, PerKind, PerPool};

use super::bench::{Bench, items_row, run_as};

/// A worker of sixteen slots, three of them for maps and reduces.
const WORKER: (Capability, PerKind<u32>) = (Capability::new(16_384, 16), PerKind::new(2, 1));

fn run(bench: &mut Bench, user: &str, items: &str) {
    run_as(bench, user, vec![items_row(items, |_| {})]);
    bench.settle();
}

fn status(bench: &Bench, name: &str) -> GroupStatus {
    let status = bench.cluster.engine.scheduler_status(bench.cluster.now);
    assert_eq!(status.slots, PerPool::new(2, 1, 13));
    status.groups.into_iter().find(|group| group.name == name).unwrap()
}

fn containers(group: &GroupStatus) -> (u32, u32, Option<u32>) {
    (group.applications, group.container_slots, group.due_container_slots)
}

#[test]
fn under_the_market_what_is_due_to_containers_is_what_the_next_tick_sells() {
    let cluster = market(&[("alice", "100", "1"), ("bob", "100", "3")]);
    let mut bench = Bench::of(cluster, &[WORKER]);
    run(&mut bench, "alice", "1-20");
    run(&mut bench, "alice", "1-2");
    run(&mut bench, "bob", "1-20");
    // alice was first, and has all. Of the maps both get one, the reduce is bob's; of thirteen slots bob gets ten.
    let expected = [("alice", (2, 16, Some(4))), ("bob", (1, 0, Some(12)))];
    for (user, expected) in expected {
        assert_eq!(containers(&status(&bench, user)), expected, "{user}");
    }
    bench.cluster.pass_ms(1_000);
    let planned = ["alice", "bob"].map(|user| status(&bench, user));
    bench.cluster.timer();
    for (planned, sold) in planned.iter().zip(report(&bench.cluster).groups) {
        let quota = sold.bought.unwrap().quota;
        assert_eq!(planned.due, Some(quota.slots()), "{}", sold.name);
        assert_eq!(planned.due_container_slots, Some(quota.left_for_containers(PerKind::default())), "{}", sold.name);
    }
}

#[test]
fn a_plan_places_applications_where_the_switch_does() {
    let mut bench = Bench::of(seeded(Cluster::with_market(fifo()), &[("alice", "100", "1")]), &[WORKER]);
    run(&mut bench, "alice", "1-5");
    let shown = status(&bench, "default");
    assert_eq!((containers(&shown), shown.due), ((1, 5, None), None), "FIFO promises nothing");
    let plans = [(capacity(), "default", Some(16)), (fair(""), "default", None), (dynamic(), "(no account)", Some(0))];
    for (policy, group, due) in plans {
        let wish = wish(policy);
        let plan = bench.cluster.engine.plan_switch(&wish, bench.cluster.now);
        let planned = plan.groups.iter().find(|one| one.name == group).unwrap();
        assert_eq!((plan.slots, containers(planned)), (PerPool::new(2, 1, 13), (1, 5, due)), "{}", plan.to);
        bench.cluster.pass_ms(100);
        done(&mut bench.cluster, wish);
        assert_eq!(containers(&status(&bench, group)), (1, 5, due), "{}", plan.to);
    }
}

#[test]
fn an_application_counts_among_the_running_jobs_of_a_pool() {
    let limited = |most| fair(&format!("<pool name='alice'><maxRunningJobs>{most}</maxRunningJobs></pool>"));
    let mut bench = Bench::of(Cluster::new(limited(1)), &[WORKER]);
    run(&mut bench, "alice", "1-5");
    bench.cluster.pass_ms(100);
    let job = bench.cluster.submit(spec("alice", "default", 2, 0)).unwrap();
    for (most, expected) in [(1, (vec![], vec![job])), (2, (vec![job], vec![]))] {
        let wish = wish(limited(most));
        let plan = bench.cluster.engine.plan_switch(&wish, bench.cluster.now);
        assert_eq!((plan.begins, plan.waits), expected, "at most {most}");
        bench.cluster.pass_ms(1_000);
        done(&mut bench.cluster, wish);
        bench.cluster.pass_ms(1_000);
        bench.cluster.timer();
        assert_eq!(bench.cluster.engine.jobs.get(job).unwrap().has_begun(), !expected.0.is_empty(), "at most {most}");
    }
}

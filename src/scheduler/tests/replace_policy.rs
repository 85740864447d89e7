//! Another policy takes over in the middle of anything: laws over random clusters.

use proptest::prelude::*;

use crate::model::{Kind, TrackerId, Violations};
use crate::scheduler::*;

use super::kit::State;
use super::laws::{GROUPS, Step, step, sums_equal_a_recount, take_step};
use super::world::{Order, World};

const SPREADING: PolicyOptions = PolicyOptions::Fifo(FifoOptions { compatible: false, pad_millionths: 200_000 });
const COMPATIBLE: PolicyOptions = PolicyOptions::Fifo(FifoOptions { compatible: true, pad_millionths: 200_000 });

fn order_of(policy: &PolicyOptions) -> Order {
    if *policy == PolicyOptions::Dynamic { Order::Market } else { Order::Fifo }
}

fn under(policy: &PolicyOptions) -> Scheduler {
    Scheduler::new(policy.clone())
}

/// What is bought outlives the policy that orders by it.
fn replace(world: &mut World, policy: &PolicyOptions) {
    world.cluster.scheduler.replace_policy(policy.clone());
    world.rule.order = order_of(policy);
    world.cluster.scheduler.set_allocations(&world.bought());
}

/// A scheduler that has had this policy alone, with the same groups, apps, demand and usage.
pub(super) fn built_afresh(world: &World, policy: &PolicyOptions) -> Scheduler {
    let mut scheduler = under(policy);
    for group in 0..world.cluster.groups.len() {
        scheduler.open_group(&format!("q{group}"));
    }
    for job in world.cluster.jobs.jobs.values() {
        scheduler.add_app(job.spec.clone()).unwrap();
    }
    for task in &world.cluster.jobs.tasks {
        match task.state {
            State::Waiting => scheduler.request_slots(task.app, task.kind, &[], 1),
            State::Running(node) => scheduler.add_running(task.app, task.kind, node, task.slots),
            State::Ahead | State::Done => {}
        }
    }
    scheduler.set_allocations(&world.bought());
    scheduler
}

/// The order of a scheduler that was built with the same apps, and sums that equal a recount.
pub(super) fn assert_as_built_afresh(world: &World, policy: &PolicyOptions) {
    let fresh = built_afresh(world, policy);
    for kind in Kind::ALL {
        let [kept, built] = [&world.cluster.scheduler, &fresh].map(|scheduler| &scheduler.orders[kind]);
        assert_eq!(kept, built, "{kind:?} under {policy:?}");
    }
    let mut violations = Violations::counting();
    world.cluster.scheduler.check_sums(&mut violations);
    assert_eq!(violations.take().len(), 0);
    sums_equal_a_recount(world);
}

/// Every grant of a run, with the same policy taking over after each `every` steps.
fn grants(policy: &PolicyOptions, steps: &[Step], every: Option<usize>) -> Vec<(u32, Kind, TrackerId, Level)> {
    let mut world = World::new(under(policy), order_of(policy), GROUPS);
    for (number, step) in steps.iter().enumerate() {
        take_step(&mut world, step);
        if every.is_some_and(|every| number % every == 0) {
            replace(&mut world, policy);
        }
    }
    world.log
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_same_policy_taking_over_changes_no_grant(
        steps in prop::collection::vec(step(), 1..120), every in 1usize..9,
        policy in prop_oneof![Just(SPREADING), Just(PolicyOptions::Dynamic)],
    ) {
        prop_assert_eq!(grants(&policy, &steps, Some(every)), grants(&policy, &steps, None));
    }

    #[test]
    fn each_policy_orders_what_another_left_as_if_it_had_always_ruled(
        runs in prop::collection::vec(prop::collection::vec(step(), 1..30), 3..6), is_compatible in any::<bool>(),
    ) {
        let fifo = if is_compatible { COMPATIBLE } else { SPREADING };
        let mut world = World::new(under(&fifo), Order::Fifo, GROUPS);
        for (steps, policy) in runs.iter().zip([PolicyOptions::Dynamic, fifo.clone()].into_iter().cycle()) {
            let is_strict = world.rule.order == Order::Market || !is_compatible;
            for step in steps {
                // The reference model knows no only app of the original's padding.
                if is_strict || !matches!(step, Step::NodeOffer(_)) {
                    take_step(&mut world, step);
                }
            }
            replace(&mut world, &policy);
            assert_as_built_afresh(&world, &policy);
        }
    }
}

/// With more apps than a heartbeat may skip, the walk of all of them is not begun again by a new policy.
#[test]
fn a_node_resumes_at_the_app_where_it_stopped() {
    let mut world = World::new(under(&SPREADING), Order::Fifo, 1);
    let host = world.host(0, 1);
    let node = world.node(host, 1, 0);
    let refusing = [host].into_iter().collect();
    for number in 1..=SKIP_BUDGET + 1 {
        let job = world.job(number, 0, 2, 0);
        world.tasks_that_failed_on(job, Kind::Map, &[], 1, &refusing);
    }
    let willing = world.job(SKIP_BUDGET + 2, 0, 2, 0);
    world.tasks(willing, Kind::Map, &[], 1);
    world.beat(node);
    assert_eq!(world.log.len(), 0);
    // The walk begins at the front and stops at the last but one.
    world.beat(node);
    replace(&mut world, &PolicyOptions::Dynamic);
    world.beat(node);
    assert_eq!(world.log.len(), 1, "its place was kept");
}

//! Types of one application: strictly in their order, and no more at a time than they say; applications in theirs.

use super::stage::{Stage, at_a_time, fixed, request, row, rows};
use crate::model::{Capability, Decimal, PerPool};
use crate::scheduler::capacity::{CapacityConfig, WrittenConfig, WrittenQueue};
use crate::scheduler::constraint::ConstraintConfig;
use crate::scheduler::container::{ContainerReason, RequestType};
use crate::scheduler::fair::allocations::Allocations;
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::{Allocation, AppId, FifoOptions, PolicyOptions, Scheduler};

const FIRST: RequestType = request(1, 2_048);
const SECOND: RequestType = request(2, 512);

fn stage(memory_mb: u32) -> Stage {
    Stage::with_bags(&[("a", "/r1", Capability::new(memory_mb, 8))])
}

fn granted(stage: &Stage) -> Vec<(u32, u32)> {
    stage.source.grants.iter().map(|grant| (grant.app.get(), grant.request.priority)).collect()
}

#[test]
fn types_are_served_by_priority_then_request_id_then_capability() {
    let mut stage = stage(8_192);
    let app = stage.add_app(1);
    let types = [(2, 0, 512), (1, 5, 512), (1, 0, 1_024), (1, 0, 512)]
        .map(|(priority, request_id, memory_mb)| RequestType { request_id, ..request(priority, memory_mb) });
    types.iter().for_each(|request| stage.set(app, &rows(*request, &[("*", 1)])));
    stage.beat("a");
    let mut sorted = types;
    sorted.sort_unstable();
    assert_eq!(stage.source.grants.iter().map(|grant| grant.request).collect::<Vec<_>>(), sorted);
}

#[test]
fn a_type_without_room_keeps_lower_ones_from_the_node() {
    let mut stage = stage(3_072);
    let app = stage.add_app(1);
    stage.set(app, &rows(FIRST, &[("*", 2)]));
    stage.set(app, &rows(SECOND, &[("*", 1)]));
    stage.beat("a");
    assert_eq!(granted(&stage), [(1, 1)]);
    stage.set(app, &rows(FIRST, &[("*", 0)]));
    stage.grant();
    assert_eq!(granted(&stage), [(1, 1), (1, 2)]);
}

#[test]
fn a_type_that_waits_for_a_nearer_node_keeps_lower_ones_from_this_one() {
    let mut stage = stage(8_192);
    // Where it wants to be is a node, though a small one.
    stage.add_node("elsewhere", "/there", Capability::new(256, 1));
    let app = stage.add_app(1);
    let rows_of_first = rows(FIRST, &[("elsewhere", 50), ("*", 100)]);
    stage.set(app, &rows_of_first);
    stage.set(app, &rows(SECOND, &[("*", 1)]));
    stage.beat("a");
    assert_eq!(granted(&stage), []);
    assert_eq!(stage.scheduler.waiting_containers(app)[0].reason, ContainerReason::LocalityDelay);
}

#[test]
fn at_most_so_many_of_a_type_run_at_a_time() {
    let mut stage = stage(8_192);
    let app = stage.add_app(1);
    stage.set(app, &[at_a_time(row(SECOND, "*", 5), 2)]);
    assert_eq!(stage.scheduler.app_containers(app).waiting, 2);
    assert_eq!((stage.grant().len(), stage.beat("a").len()), (2, 0));
    assert_eq!(stage.scheduler.waiting_containers(app)[0].reason, ContainerReason::MaxRunning);
    // Lower types are served meanwhile.
    stage.set(app, &rows(request(3, 512), &[("*", 1)]));
    assert_eq!(stage.grant().len(), 1);
    stage.end(&stage.source.grants[0].clone());
    assert_eq!(stage.grant().len(), 1);
    assert_eq!(stage.table(app, SECOND), [("*".to_owned(), 2)]);
}

#[test]
fn applications_are_served_in_submission_order_and_one_that_refuses_is_passed_over() {
    let mut stage = stage(2_048);
    let apps = [1, 2].map(|number| stage.add_app(number));
    apps.iter().for_each(|app| stage.set(*app, &rows(request(1, 1_024), &[("*", 2)])));
    stage.source.refuses = Some(apps[0]);
    stage.beat("a");
    assert_eq!(granted(&stage), [(2, 1), (2, 1)]);
    stage.source.refuses = None;
    stage.end(&stage.source.grants[0].clone());
    stage.grant();
    assert_eq!(granted(&stage)[2..], [(1, 1)]);
}

/// The numbers of applications in the order of their grants: each of three queues has one that wants two containers, and
/// a node has room for all. The first was submitted first, and not added first.
fn order_of_grants(scheduler: Scheduler) -> Vec<u32> {
    let mut stage = Stage::under(scheduler, &[("a", "/r1", Capability::new(3_072, 8))]);
    for number in [3, 1, 2] {
        let app = stage.add_app_in(&format!("q{number}"), number);
        stage.set(app, &rows(SECOND, &[("*", 2)]));
    }
    stage.beat("a");
    granted(&stage).into_iter().map(|(number, _)| number).collect()
}

#[test]
fn policies_without_shares_serve_applications_in_the_order_of_submission() {
    let policies = [
        Scheduler::fifo(FifoOptions::default()),
        Scheduler::dynamic(),
        Scheduler::constraint(ConstraintConfig::default()),
    ];
    for scheduler in policies {
        assert_eq!(order_of_grants(scheduler), [1, 1, 2, 2, 3, 3]);
    }
}

#[test]
fn capacity_and_fair_serve_applications_by_what_queues_and_pools_hold() {
    // Of the six slots the queues have 1, 1 and 3.
    let queues = [("q1", 20), ("q2", 30), ("q3", 50)].map(|(name, capacity)| WrittenQueue {
        user_limit_factor: Decimal::whole(9),
        ..WrittenQueue::with_defaults(name, Some(Decimal::whole(capacity)))
    });
    let capacity = CapacityConfig::new(&WrittenConfig { queues: queues.to_vec(), ..WrittenConfig::default() }).unwrap();
    // The first two are full after one each, and equal ones keep the order in which they were sorted before.
    assert_eq!(order_of_grants(Scheduler::capacity(capacity, false)), [1, 2, 3, 3, 2, 1]);
    let fair = Scheduler::fair(FairOptions::default(), Allocations::default());
    assert_eq!(order_of_grants(fair), [1, 2, 3, 1, 2, 3]);
}

#[test]
fn the_market_serves_the_higher_bid_first() {
    let mut stage = Stage::under(Scheduler::dynamic(), &[("a", "/r1", Capability::new(1_024, 8))]);
    for number in [1, 2, 3] {
        let app = stage.add_app_in(&format!("q{number}"), number);
        stage.set(app, &rows(SECOND, &[("*", 1)]));
    }
    let bid = |stage: &Stage, queue: &str, rate_units| {
        (stage.scheduler.group(queue).unwrap(), Allocation { rate_units, ..Allocation::default() })
    };
    let bids = [bid(&stage, "q2", 5), bid(&stage, "q3", 7)];
    stage.scheduler.set_allocations(&bids);
    stage.beat("a");
    assert_eq!(granted(&stage), [(3, 2), (2, 2)]);
}

#[test]
fn a_type_that_has_all_it_wants_opens_the_nodes_that_it_kept_from_others() {
    let mut stage =
        Stage::with_bags(&[("a", "/r1", Capability::new(1_024, 8)), ("b", "/r1", Capability::new(2_048, 8))]);
    let (app, other) = (stage.add_app(1), stage.add_app(2));
    stage.scheduler.blacklist(other, &["a".into()], &[]);
    stage.set(other, &rows(request(1, 2_048), &[("*", 1)]));
    stage.grant();
    stage.set(app, &rows(FIRST, &[("*", 1)]));
    stage.set(app, &rows(SECOND, &[("*", 2)]));
    // The first type waits for room on b, and keeps the second from a.
    assert_eq!(stage.grant(), []);
    stage.end(&stage.last());
    assert_eq!(stage.grant().len(), 3);
    assert_eq!(granted(&stage)[1..], [(1, 1), (1, 2), (1, 2)]);
}

#[test]
fn another_policy_takes_over_what_is_asked_and_held() {
    let mut stage = stage(2_048);
    let app = stage.add_app(1);
    stage.set(app, &rows(request(1, 1_024), &[("*", 3)]));
    stage.grant();
    stage.scheduler.replace_policy(PolicyOptions::Dynamic);
    stage.check();
    assert_eq!(stage.scheduler.app_containers(app).running, 2);
    stage.end(&stage.source.grants[0].clone());
    assert_eq!(stage.grant().len(), 1);
    let group = stage.scheduler.group_of(app).unwrap();
    assert_eq!(stage.scheduler.group_containers(group).held, 2);
}

#[test]
fn usage_counts_the_dominant_part_in_whole_slots() {
    let mut stage = stage(65_536);
    let app: AppId = stage.add_app(1);
    for (request_id, (memory_mb, vcores)) in (0..).zip([(2_048, 1), (1_024, 3), (1_025, 1)]) {
        let request = RequestType { priority: 1, request_id, capability: Capability::new(memory_mb, vcores) };
        stage.set(app, &rows(request, &[("*", 1)]));
    }
    assert_eq!(stage.grant().len(), 3);
    assert_eq!(stage.source.grants.iter().map(|grant| grant.slots).collect::<Vec<_>>(), [2, 3, 2]);
    assert_eq!(stage.scheduler.app_containers(app).held, 7);
}

#[test]
fn why_an_application_waits() {
    let mut stage = stage(2_048);
    let app = stage.add_app(1);
    let reason = |stage: &Stage| stage.scheduler.waiting_containers(app).first().map(|waiting| waiting.reason);
    stage.set(app, &rows(request(1, 4_096), &[("*", 1)]));
    assert_eq!(reason(&stage), Some(ContainerReason::NoNodeFits));
    stage.set(app, &rows(request(0, 2_048), &[("*", 2)]));
    assert_eq!(reason(&stage), Some(ContainerReason::Others));
    stage.grant();
    assert_eq!(reason(&stage), Some(ContainerReason::NoneFree));
    stage.scheduler.blacklist(app, &["a".into()], &[]);
    assert_eq!(reason(&stage), Some(ContainerReason::Gates));
}

#[test]
fn a_queue_is_within_its_quota_by_what_the_node_would_give_it() {
    let ways: [fn(&mut Stage); 2] = [|stage| drop(stage.beat("a")), |stage| drop(stage.grant())];
    for grant in ways {
        let mut stage = Stage::under(Scheduler::dynamic(), &[("a", "/r1", Capability::new(3_072, 8))]);
        let (small, large) = (stage.add_app_in("small", 1), stage.add_app_in("large", 2));
        let bought = |stage: &Stage, queue: &str, slots| {
            let quota = PerPool::new(0, 0, slots);
            (stage.scheduler.group(queue).unwrap(), Allocation { quota, rate_units: 1 })
        };
        let allocations = [bought(&stage, "small", 1), bought(&stage, "large", 3)];
        stage.scheduler.set_allocations(&allocations);
        // The first type of the one that was submitted first is of one slot, and of no use here.
        stage.set(small, &[row(SECOND, "elsewhere", 1), fixed(row(SECOND, "*", 1))]);
        [small, large].into_iter().for_each(|app| stage.set(app, &rows(request(3, 3_072), &[("*", 1)])));
        grant(&mut stage);
        assert_eq!(granted(&stage), [(2, 3)]);
    }
}

//! Room that is kept for a large container which would starve behind small ones.

use super::stage::{Stage, request, rows};
use crate::model::Capability;
use crate::scheduler::AppId;
use crate::scheduler::container::{ContainerGrant, RequestType};

const BIG: RequestType = request(1, 4_096);
const SMALL: RequestType = request(1, 1_024);

/// A node of 4 GB with two small containers of application 2; application 1 wants a big one.
fn stage() -> (Stage, AppId, AppId, Vec<ContainerGrant>) {
    let mut stage =
        Stage::with_bags(&[("a", "/r1", Capability::new(4_096, 8)), ("tiny", "/r1", Capability::new(512, 1))]);
    let (big, small) = (stage.add_app(1), stage.add_app(2));
    stage.set(small, &rows(SMALL, &[("*", 2)]));
    stage.grant();
    stage.set(big, &rows(BIG, &[("*", 1)]));
    stage.grant();
    let grants = stage.source.grants.clone();
    (stage, big, small, grants)
}

fn last_app(stage: &Stage) -> AppId {
    stage.last().app
}

#[test]
fn until_the_second_heartbeat_others_are_served() {
    let (mut stage, _, small, _) = stage();
    stage.beat("a");
    assert_eq!(stage.scheduler.reservation_on(stage.nodes["a"]), None);
    stage.set(small, &rows(SMALL, &[("*", 1)]));
    assert_eq!(stage.grant().len(), 1);
}

#[test]
fn a_type_at_the_head_for_longer_than_a_heartbeat_gets_the_node_once_it_fits() {
    let (mut stage, big, small, grants) = stage();
    stage.beat("a");
    stage.beat("a");
    assert_eq!(stage.scheduler.reservation_on(stage.nodes["a"]), Some((big, BIG)));
    stage.set(small, &rows(SMALL, &[("*", 5)]));
    assert_eq!((stage.grant().len(), stage.beat("a").len()), (0, 0));
    stage.end(&grants[0]);
    assert_eq!((stage.grant().len(), stage.beat("a").len()), (0, 0));
    stage.end(&grants[1]);
    assert_eq!(stage.grant().len(), 1);
    assert_eq!(last_app(&stage), big);
    assert_eq!(stage.scheduler.reservation_on(stage.nodes["a"]), None);
}

#[test]
fn what_comes_before_it_is_served_all_the_same() {
    let (mut stage, ..) = stage();
    stage.beat("a");
    stage.beat("a");
    let urgent = AppId::new(7);
    let group = stage.scheduler.open_group("q");
    let spec = crate::scheduler::AppSpec { priority: 0, ..crate::scheduler::AppSpec::plain(urgent, group) };
    stage.scheduler.add_app(spec).unwrap();
    stage.set(urgent, &rows(SMALL, &[("*", 1)]));
    stage.grant();
    assert_eq!(stage.beat("a").len(), 1);
    assert_eq!(last_app(&stage), urgent);
    assert!(stage.scheduler.reservation_on(stage.nodes["a"]).is_some());
}

#[test]
fn a_node_that_its_application_will_not_have_is_kept_no_longer() {
    let excluded: [fn(&mut Stage, AppId); 2] = [
        |stage, big| stage.scheduler.blacklist(big, &["a".into()], &[]),
        |stage, big| stage.scheduler.set_withheld(big, true),
    ];
    for exclude in excluded {
        let (mut stage, big, small, _) = stage();
        stage.beat("a");
        stage.beat("a");
        exclude(&mut stage, big);
        assert_eq!(stage.scheduler.reservation_on(stage.nodes["a"]), None);
        stage.set(small, &rows(SMALL, &[("*", 1)]));
        assert_eq!(stage.grant().len(), 1, "no heartbeat of the node is waited for");
    }
}

#[test]
fn a_withdrawn_type_loses_it() {
    let (mut stage, big, small, _) = stage();
    stage.beat("a");
    stage.beat("a");
    stage.set(small, &rows(SMALL, &[("*", 1)]));
    stage.grant();
    stage.set(big, &rows(BIG, &[("*", 0)]));
    assert_eq!(stage.grant().len(), 1);
    assert_eq!(last_app(&stage), small);
}

#[test]
fn a_type_reserves_one_node_and_none_that_is_too_small() {
    let (mut stage, big, small, _) = stage();
    stage.add_node("b", "/r1", Capability::new(4_096, 4));
    stage.scheduler.blacklist(big, &["b".into()], &[]);
    stage.set(small, &rows(SMALL, &[("*", 1)]));
    stage.grant();
    stage.scheduler.blacklist(big, &[], &["b".into()]);
    for host in ["tiny", "a", "b", "tiny", "a", "b", "tiny", "a", "b"] {
        stage.beat(host);
    }
    let reserved = ["a", "b", "tiny"].map(|host| stage.scheduler.reservation_on(stage.nodes[host]).is_some());
    assert_eq!(reserved, [true, false, false]);
}

#[test]
fn a_node_that_takes_no_containers_any_more_loses_it() {
    let (mut stage, ..) = stage();
    stage.beat("a");
    stage.beat("a");
    stage.scheduler.set_takes_containers(stage.nodes["a"], false);
    assert_eq!(stage.scheduler.reservation_on(stage.nodes["a"]), None);
}

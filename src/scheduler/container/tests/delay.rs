//! How long a type waits for nearer nodes, in misses.

use super::stage::{Stage, request, row, rows};
use crate::model::{Capability, Kind};
use crate::scheduler::container::RequestType;
use crate::scheduler::{AppId, Level};

const TYPE: RequestType = request(1, 1_024);
/// Its maps fill `near`.
const JOB: u32 = 1_000;

/// `near`, which is full, in /r0 with `beside`, and so many other nodes in racks of their own.
fn stage(others: u32) -> Stage {
    let mut nodes = vec![("near".to_owned(), "/r0".to_owned()), ("beside".to_owned(), "/r0".to_owned())];
    nodes.extend((0..others).map(|number| (format!("far{number}"), format!("/far{number}"))));
    let nodes: Vec<_> = nodes.iter().map(|(host, rack)| (host.as_str(), rack.as_str())).collect();
    let mut stage = Stage::new(&nodes);
    let job = stage.add_app(JOB);
    stage.run_maps(job, "near", 8);
    stage
}

/// Heartbeats of `host` until it is granted something.
fn beats_until(stage: &mut Stage, host: &str) -> (u32, Level) {
    let mut beats = 1;
    loop {
        if let Some(level) = stage.beat(host).first() {
            return (beats, *level);
        }
        beats += 1;
        assert!(beats < 1_000, "never");
    }
}

#[test]
fn the_rack_is_near_enough_after_forty_misses_or_as_many_as_nodes() {
    for (others, misses) in [(1, 3), (10, 12), (60, 40)] {
        let mut stage = stage(others);
        let app = stage.add_app(1);
        // So many are wanted that far nodes are never near enough here.
        stage.set(app, &rows(TYPE, &[("near", 1_000), ("/r0", 1_000), ("*", 1_000_000)]));
        assert_eq!(beats_until(&mut stage, "beside"), (misses + 1, Level::Rack), "{others}");
    }
}

#[test]
fn a_configured_delay_counts() {
    let mut stage = stage(60);
    stage.scheduler.set_locality_delay(3);
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("near", 1_000), ("/r0", 1_000), ("*", 1_000_000)]));
    assert_eq!(beats_until(&mut stage, "beside"), (4, Level::Rack));
}

#[test]
fn what_is_far_away_is_waited_for_once() {
    let mut stage = stage(60);
    let app = stage.add_app(1);
    // 62 nodes take containers: more than 500 * 2 / 62 = 16.1 misses.
    stage.set(app, &rows(TYPE, &[("near", 500), ("/r0", 500), ("*", 500)]));
    assert_eq!(beats_until(&mut stage, "far0"), (17, Level::Any));
    assert_eq!(stage.source.grants.len(), 8, "as many as it has room for");
    for host in 1..60 {
        assert_eq!(stage.beat(&format!("far{host}")), [Level::Any; 8], "at its first offer");
    }
}

#[test]
fn far_nodes_are_near_enough_after_as_many_misses_as_containers_times_the_named_part_of_the_nodes() {
    // 62 nodes take containers; 2 rows: more than 100 * 2 / 62 = 3.2 misses, the offer itself included.
    let mut stage = stage(60);
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("near", 50), ("/r0", 50), ("*", 100)]));
    assert_eq!(beats_until(&mut stage, "far0"), (4, Level::Any));
    assert_eq!(stage.source.grants.len(), 8, "all that it has room for");
    assert_eq!(beats_until(&mut stage, "far1"), (1, Level::Any));
    // Counted again since a grant where it is wanted: more than 83 * 2 / 62 = 2.7.
    let job = AppId::new(JOB);
    stage.scheduler.remove_running(job, Kind::Map, stage.nodes["near"], 1);
    assert_eq!(stage.beat("near"), [Level::Node]);
    assert_eq!(beats_until(&mut stage, "far2"), (3, Level::Any));
}

#[test]
fn a_host_without_a_node_is_no_wish() {
    let mut stage = stage(60);
    let app = stage.add_app(1);
    let hosts: Vec<String> = (0..500).map(|host| format!("gone{host}")).collect();
    let mut asked = rows(TYPE, &[("*", 500)]);
    asked.extend(hosts.iter().map(|host| row(TYPE, host, 1)));
    stage.set(app, &asked);
    let waiting = stage.scheduler.waiting_containers(app).remove(0);
    assert_eq!((waiting.unmet_rows, waiting.unmet.len(), &*waiting.unmet[1]), (500, 5, "gone1"));
    assert_eq!(stage.beat("far0"), [Level::Any; 8], "nothing is waited for");
    // A worker comes there: what it could take is waited for, 492 * 1 / 63 = 7.8 misses.
    stage.add_node("gone7", "/there", Capability::new(1_024, 1));
    let job = AppId::new(JOB);
    stage.run_maps(job, "gone7", 1);
    assert_eq!(stage.scheduler.waiting_containers(app)[0].unmet_rows, 499);
    assert_eq!(beats_until(&mut stage, "far1"), (8, Level::Any));
    stage.scheduler.set_takes_containers(stage.nodes["gone7"], false);
    let other = stage.add_app(2);
    stage.set(other, &rows(TYPE, &[("gone7", 500), ("*", 500)]));
    assert_eq!(stage.beat("far2"), [Level::Any; 8]);
}

#[test]
fn few_containers_with_few_rows_do_not_wait() {
    let mut stage = stage(60);
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("near", 1), ("/r0", 1), ("*", 1)]));
    assert_eq!(beats_until(&mut stage, "far0"), (1, Level::Any));
}

#[test]
fn what_is_good_enough_far_away_is_in_the_rack() {
    let mut stage = stage(60);
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("near", 1), ("/r0", 1), ("*", 1)]));
    assert_eq!(beats_until(&mut stage, "beside"), (1, Level::Rack));
}

#[test]
fn a_type_with_only_an_any_row_is_granted_at_the_first_offer() {
    let mut stage = stage(60);
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("*", 1_000)]));
    assert_eq!(stage.beat("far0").len(), 8);
}

#[test]
fn a_node_counts_one_miss_between_two_heartbeats_however_often_it_is_offered() {
    let mut stage = stage(60);
    let app = stage.add_app(1);
    let asked = rows(TYPE, &[("near", 50), ("/r0", 50), ("*", 100)]);
    stage.set(app, &asked);
    for _ in 0..100 {
        stage.set(app, &asked);
        assert_eq!(stage.grant(), []);
    }
    // The calls have offered one node once; its next heartbeats count.
    assert_eq!(beats_until(&mut stage, "far0"), (3, Level::Any));
}

#[test]
fn a_full_node_counts_no_miss() {
    let mut stage = stage(60);
    let app = stage.add_app(1);
    let job = stage.add_app(2);
    stage.run_maps(job, "far0", 8);
    stage.set(app, &rows(TYPE, &[("near", 50), ("/r0", 50), ("*", 100)]));
    (0..10).for_each(|_| assert_eq!(stage.beat("far0"), []));
    assert_eq!(beats_until(&mut stage, "far1"), (4, Level::Any));
}

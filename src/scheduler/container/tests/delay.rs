//! How long a type waits for nearer nodes, in misses.

use super::stage::{Stage, request, rows};
use crate::scheduler::Level;
use crate::scheduler::container::RequestType;

const TYPE: RequestType = request(1, 1_024);

/// `near` in /r0 with `beside`, and so many other nodes in racks of their own.
fn stage(others: u32) -> Stage {
    let mut nodes = vec![("near".to_owned(), "/r0".to_owned()), ("beside".to_owned(), "/r0".to_owned())];
    nodes.extend((0..others).map(|number| (format!("far{number}"), format!("/far{number}"))));
    let nodes: Vec<_> = nodes.iter().map(|(host, rack)| (host.as_str(), rack.as_str())).collect();
    let mut stage = Stage::new(&nodes);
    stage.scheduler.set_takes_containers(stage.nodes["near"], false);
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
    for (others, misses) in [(1, 2), (10, 11), (60, 40)] {
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
fn far_nodes_are_near_enough_after_as_many_misses_as_containers_times_the_named_part_of_the_nodes() {
    // 61 nodes take containers; 2 rows: more than 100 * 2 / 61 = 3.27 misses, the offer itself included.
    let mut stage = stage(60);
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("near", 50), ("/r0", 50), ("*", 100)]));
    assert_eq!(beats_until(&mut stage, "far0"), (4, Level::Any));
    // Counted again since that grant, with the room that was left on the same node: more than 99 * 2 / 61 = 3.24.
    assert_eq!(stage.source.grants.len(), 1);
    assert_eq!(beats_until(&mut stage, "far1"), (3, Level::Any));
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

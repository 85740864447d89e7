//! Which connection is a tracker's own, and how sure that is.

use crate::engine::{ConnectionStatus, Event, InheritedTrackerConnection, TrackerConnection};

use super::cluster::{Cluster, Fate, fifo};

/// How the first tracker stands to another connection.
fn status(cluster: &Cluster) -> ConnectionStatus {
    cluster.engine.connection_status(&cluster.trackers[0].name, 999, cluster.now)
}

fn own(cluster: &Cluster) -> TrackerConnection {
    match status(cluster) {
        ConnectionStatus::Elsewhere(own) => own,
        other => panic!("{other:?}"),
    }
}

fn registered() -> Cluster {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    assert_eq!(status(&cluster), ConnectionStatus::Absent);
    cluster.beat(0, |_| Fate::Succeed);
    cluster
}

#[test]
fn a_connection_is_the_trackers_own_until_it_closes() {
    let mut cluster = registered();
    let connection = cluster.trackers[0].connection;
    let name = cluster.trackers[0].name.clone();
    assert_eq!(cluster.engine.connection_status(&name, connection, cluster.now), ConnectionStatus::Own);
    let last_seen_mono_ms = cluster.now.mono_ms;
    let found = TrackerConnection { connection, last_seen_mono_ms, is_silent: false, is_sure: true };
    assert_eq!(own(&cluster), found);
    cluster.pass_ms(60_000);
    assert_eq!(own(&cluster), TrackerConnection { is_silent: true, ..found });
    cluster.step(Event::ConnectionClosed { connection });
    assert_eq!(status(&cluster), ConnectionStatus::Absent);
}

#[test]
fn a_tracker_that_moves_leaves_its_connection_to_the_others_on_it() {
    let mut cluster = registered();
    cluster.add_tracker("h1", 1, 1);
    cluster.trackers[1].connection = cluster.trackers[0].connection;
    cluster.beat(1, |_| Fate::Succeed);
    cluster.trackers[1].connection += 50;
    cluster.beat(1, |_| Fate::Succeed);
    assert_eq!(own(&cluster).connection, cluster.trackers[0].connection);
}

/// The first to connect after a restart may be a stranger, and the second one the tracker.
#[test]
fn only_a_free_name_or_a_long_time_make_sure() {
    let mut cluster = registered();
    let expiry_ms = cluster.config.tracker_expiry_ms;
    assert!(own(&cluster).is_sure);
    let connection = cluster.trackers[0].connection;
    cluster.step(Event::ConnectionClosed { connection });
    cluster.trackers[0].connection += 1;
    cluster.beat(0, |_| Fate::Succeed);
    assert!(!own(&cluster).is_sure);
    cluster.pass_ms(expiry_ms - 1);
    cluster.beat(0, |_| Fate::Succeed);
    assert!(!own(&cluster).is_sure);
    cluster.pass_ms(1);
    assert!(own(&cluster).is_sure);
    // The same when another process registers under a name that is known.
    cluster.restart(0);
    cluster.beat(0, |_| Fate::Succeed);
    assert!(!own(&cluster).is_sure);
}

#[test]
fn own_connections_are_handed_over_with_what_is_known_of_them() {
    for is_sure in [true, false] {
        let mut cluster = registered();
        cluster.step(Event::ConnectionClosed { connection: cluster.trackers[0].connection });
        let tracker = cluster.trackers[0].name.as_str().into();
        let stranger = InheritedTrackerConnection { tracker: "tracker_unknown".into(), connection: 3, is_sure: true };
        let carried = InheritedTrackerConnection { tracker, connection: 7, is_sure };
        cluster.step(Event::ConnectionsInherited { connections: vec![stranger, carried.clone()] });
        let found = own(&cluster);
        assert_eq!((found.connection, found.is_sure), (7, is_sure));
        assert_eq!(cluster.engine.tracker_connections(cluster.now).collect::<Vec<_>>(), [carried]);
    }
}

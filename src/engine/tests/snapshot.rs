//! What the start page and the metrics show of a cluster.

use crate::engine::{Caller, ClusterSnapshot, Event};
use crate::fake_tracker::Role;

use super::cluster::{Cluster, Fate, fifo, spec};

/// All jobs were counted by what is listed, and no more than the newest 500 are.
#[test]
fn jobs_are_counted_however_many_there_are() {
    const JOBS: u64 = 700;
    let mut cluster = Cluster::new(fifo());
    let ids: Vec<_> = (0..JOBS).map(|_| cluster.submit(spec("alice", "default", 1, 0)).unwrap()).collect();
    let counted = |cluster: &Cluster| {
        let ClusterSnapshot { preparing_jobs, running_jobs, known_jobs, jobs, .. } =
            cluster.engine.build_snapshot(cluster.now).value;
        (preparing_jobs, running_jobs, known_jobs, jobs.len())
    };
    assert_eq!(counted(&cluster), (JOBS, 0, JOBS, 500));
    cluster.add_tracker("h0", 3, 1);
    for _ in 0..4 {
        cluster.beat(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang });
    }
    let (preparing, running, ..) = counted(&cluster);
    assert!(preparing > 1 && running > 0, "{preparing} prepared, {running} running");
    assert_eq!(preparing + running, JOBS);
    // The last has not begun, so it is over at once; it stays known.
    cluster.step(Event::KillJob { id: ids[699], caller: Caller::named("alice") });
    assert_eq!(counted(&cluster), (preparing - 1, running, JOBS, 500));
}

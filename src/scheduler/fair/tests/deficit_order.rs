//! Order by deficit: the example of the proposal, slot by slot.

use super::cluster::{Cluster, jobs_of, multiple, single};
use crate::model::Kind;
use crate::scheduler::fair::options::{FairOptions, JobOrdering};

fn by_deficit(options: FairOptions) -> FairOptions {
    FairOptions { ordering: JobOrdering::Deficit, ..options }
}

#[test]
fn the_job_that_got_least_so_far_comes_first() {
    let mut cluster = Cluster::new(by_deficit(single()), "", 2, 1);
    cluster.submit("default", 10, 0);
    cluster.update();
    cluster.advance_ms(1_000);
    cluster.update();
    assert_eq!(jobs_of(&(1..=2).flat_map(|tracker| cluster.fill(tracker)).collect::<Vec<_>>(), 'm'), [1, 1, 1, 1]);
    cluster.submit("default", 10, 0);
    cluster.update();
    // The first job holds all slots; the second is owed two of them.
    cluster.advance_ms(5_000);
    cluster.update();
    cluster.finish(1, Kind::Map, 2);
    assert_eq!(cluster.fill(1), ["m0/j2", "m1/j2"]);
}

#[test]
fn jobs_below_their_minimum_come_before_larger_deficits() {
    let file = "<pool name='poolA'><minMaps>1</minMaps></pool>";
    let mut cluster = Cluster::new(by_deficit(multiple()), file, 2, 1);
    cluster.submit("default", 10, 0);
    cluster.update();
    cluster.advance_ms(60_000);
    cluster.update();
    cluster.submit("poolA", 10, 0);
    cluster.update();
    assert_eq!(jobs_of(&cluster.beat(1), 'm'), [2, 1]);
}

#[test]
fn a_pool_gets_no_more_than_its_maximum() {
    let file = "<pool name='limited'><maxMaps>1</maxMaps></pool>";
    let mut cluster = Cluster::new(by_deficit(multiple()), file, 2, 1);
    cluster.submit("limited", 10, 0);
    cluster.submit("default", 10, 0);
    cluster.update();
    let given: Vec<String> = (1..=2).flat_map(|tracker| cluster.beat(tracker)).collect();
    assert_eq!(jobs_of(&given, 'm'), [1, 2, 2, 2]);
}

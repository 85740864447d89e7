//! What pools want by preemption.

use super::cluster::{Cluster, single};
use crate::model::{Kind, PerKind};
use crate::scheduler::fair::options::FairOptions;

#[test]
fn row_22_only_the_pool_that_has_less_wants_slots_though_no_clock_was_renewed() {
    let file = r#"<pool name="pool1"><minMaps>2</minMaps><minReduces>2</minReduces>
        <minSharePreemptionTimeout>5</minSharePreemptionTimeout></pool>
        <fairSharePreemptionTimeout>5</fairSharePreemptionTimeout>"#;
    let mut cluster = Cluster::new(FairOptions { preempts: true, ..single() }, file, 2, 1);
    cluster.submit("pool1", 10, 10);
    cluster.update();
    [1, 2].into_iter().for_each(|tracker| drop(cluster.fill(tracker)));
    assert_eq!(cluster.running(1), PerKind::new(4, 4));
    cluster.submit("default", 10, 10);
    cluster.update();
    cluster.advance_ms(6_000);
    for kind in Kind::ALL {
        assert_eq!(cluster.wanted(kind), [("default".to_owned(), 2), ("pool1".to_owned(), 0)], "{kind:?}");
    }
}

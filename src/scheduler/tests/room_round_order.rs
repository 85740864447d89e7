//! Which of the queues over their quotas loses first in a round for tasks and containers, and what of it.

use std::collections::BTreeMap;

use crate::model::{Capability, PerKind, PerPool, Pool, TrackerId};
use crate::scheduler::*;

use super::kit::bare_nodes;

const GB: Capability = Capability::new(1_024, 1);

/// A container of one slot, with the name of its application, which began at `start_ms`.
fn container(name: &'static str, app: u32, start_ms: i64, age: u64, node: TrackerId) -> Holder<&'static str> {
    Holder {
        pool: Pool::Container,
        slots: 1,
        room: GB,
        node,
        is_unlaunched: false,
        start_ms,
        app: AppId::new(app),
        age,
        victim: name,
    }
}

fn victims(count: u32, node: TrackerId, queues: &[&[Holder<&'static str>]]) -> Vec<&'static str> {
    let work = WaitingWork {
        app: AppId::new(99),
        pool: Pool::Container,
        request: None,
        count,
        slots: 1,
        room: GB,
        is_constrained: false,
        is_setup: false,
    };
    let over = |holders: &&[Holder<&'static str>]| OverQueue { excess: PerKind::default(), holders: holders.to_vec() };
    let round = RoomRound {
        short: vec![ShortQueue { need: PerPool::new(0, 0, count), waiting: vec![work] }],
        nodes: BTreeMap::from([(
            node,
            NodeRoom { slots: PerKind::default(), room: Some(Capability::default()), cores_of_slots_alone: 0 },
        )]),
        over: queues.iter().map(over).collect(),
    };
    round.decide(|_, _| true).victims
}

#[test]
fn the_queue_whose_latest_application_began_last_loses_first_and_its_newest_containers() {
    let n = bare_nodes(1)[0];
    let early = [container("early, old", 1, 10, 8, n), container("early, new", 1, 10, 9, n)];
    let late = [container("late, old", 2, 20, 1, n), container("older application, new", 3, 5, 2, n)];
    let order = ["older application, new", "late, old", "early, new", "early, old"];
    for queues in [[&early[..], &late[..]], [&late[..], &early[..]]] {
        for count in 1..=4 {
            assert_eq!(victims(count, n, &queues), order[..count as usize], "the order of queues is of no account");
        }
    }
}

#[test]
fn of_applications_that_began_together_that_which_was_added_last_counts() {
    let n = bare_nodes(1)[0];
    let (first, second) = ([container("first", 1, 10, 2, n)], [container("second", 2, 10, 1, n)]);
    assert_eq!(victims(1, n, &[&first, &second]), ["second"]);
    assert_eq!(victims(1, n, &[&second, &first]), ["second"]);
}

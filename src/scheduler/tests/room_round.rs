//! The victims of a round for tasks and containers, and its laws over random rounds.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::model::{Capability, PerKind, PerPool, Pool, TrackerId};
use crate::scheduler::*;

use super::kit::bare_nodes;

/// Queue and number of a holder.
type Name = (usize, u32);

const GB: Capability = Capability::new(1_024, 1);

/// So many map slots are free, and so many GB with as many cores.
fn room(maps: u32, slots: u32) -> NodeRoom {
    NodeRoom { slots: PerKind::new(maps, 0), room: Some(GB.times(slots)), cores_of_slots_alone: 0 }
}

fn work(pool: Pool, app: u32, count: u32, slots: u32) -> WaitingWork {
    let app = AppId::new(app);
    WaitingWork {
        app,
        pool,
        request: None,
        count,
        slots,
        room: GB.times(slots),
        is_constrained: false,
        is_setup: false,
    }
}

fn short(need: PerPool<u32>, waiting: &[WaitingWork]) -> ShortQueue {
    ShortQueue { need, waiting: waiting.to_vec() }
}

fn holder(victim: Name, pool: Pool, node: TrackerId, slots: u32, age: u64) -> Holder<Name> {
    let (room, app) = (GB.times(slots), AppId::new(100 + victim.0 as u32));
    Holder { pool, slots, room, node, is_unlaunched: false, start_ms: 0, app, age, victim }
}

fn over(maps: u32, holders: &[Holder<Name>]) -> OverQueue<Name> {
    OverQueue { excess: PerKind::new(maps, 0), holders: holders.to_vec() }
}

fn victims(round: RoomRound<Name>) -> Vec<Name> {
    round.decide(|_, _| true).victims
}

const FOR_MAPS: PerPool<u32> = PerPool::new(9, 0, 0);
const FOR_CONTAINERS: PerPool<u32> = PerPool::new(0, 0, 9);

#[test]
fn a_map_whose_slot_is_free_gets_the_room_of_the_newest_container() {
    let n = bare_nodes(1)[0];
    let containers = [holder((0, 0), Pool::Container, n, 1, 1), holder((0, 1), Pool::Container, n, 1, 2)];
    let round = |maps| RoomRound {
        short: vec![short(FOR_MAPS, &[work(Pool::Map, 1, 9, 1)])],
        nodes: BTreeMap::from([(n, room(maps, 0))]),
        over: vec![over(0, &containers)],
    };
    assert_eq!(victims(round(1)), [(0, 1)]);
    assert_eq!(victims(round(2)), [(0, 1), (0, 0)]);
    assert_eq!(victims(round(0)), [], "the room is of no use without a slot");
}

#[test]
fn nothing_is_taken_unless_all_that_a_container_needs_comes_free() {
    let n = bare_nodes(2);
    let small = |victim, node, age| holder((0, victim), Pool::Container, n[node], 2, age);
    let round = |free| RoomRound {
        short: vec![short(FOR_CONTAINERS, &[work(Pool::Container, 1, 1, 5)])],
        nodes: BTreeMap::from([(n[0], room(0, free)), (n[1], room(0, 0))]),
        over: vec![over(0, &[small(0, 0, 1), small(1, 0, 2), small(2, 1, 9), small(3, 1, 8)])],
    };
    assert_eq!(victims(round(0)), [], "four of five slots are not enough");
    assert_eq!(victims(round(1)), [(0, 1), (0, 0)], "in the order in which they are chosen");
    assert_eq!(victims(round(3)), [(0, 1)], "and none that is not needed");
    assert_eq!(victims(round(5)), []);
}

#[test]
fn what_is_spared_for_one_leaves_for_another() {
    let n = bare_nodes(1)[0];
    let sizes = [1, 3, 1, 1];
    let holders = [0, 1, 2, 3].map(|one| holder((0, one), Pool::Container, n, sizes[one as usize], (9 - one).into()));
    let round = RoomRound {
        short: vec![short(FOR_CONTAINERS, &[work(Pool::Container, 1, 1, 3), work(Pool::Container, 2, 1, 2)])],
        nodes: BTreeMap::from([(n, room(0, 0))]),
        over: vec![over(0, &holders)],
    };
    assert_eq!(victims(round), [(0, 1), (0, 0), (0, 2)], "the newest stays for the first, and leaves for the second");
}

#[test]
fn attempts_and_containers_of_a_node_come_free_together() {
    let n = bare_nodes(1)[0];
    let attempts = [holder((0, 0), Pool::Map, n, 1, 5), holder((0, 1), Pool::Map, n, 1, 6)];
    let round = |excess, container: u32| RoomRound {
        short: vec![short(FOR_CONTAINERS, &[work(Pool::Container, 1, 1, 3)])],
        nodes: BTreeMap::from([(n, room(0, 0))]),
        over: vec![over(excess, &attempts), over(0, &[holder((1, 0), Pool::Container, n, container, 1)])],
    };
    assert_eq!(victims(round(1, 2)), [(1, 0), (0, 1)], "the later queue first, and the youngest attempt");
    assert_eq!(victims(round(1, 1)), [], "one attempt is all that the queue holds beyond its quota");
    assert_eq!(victims(round(2, 1)), [(1, 0), (0, 1), (0, 0)]);
}

#[test]
fn what_was_never_launched_goes_first() {
    let n = bare_nodes(1)[0];
    let unlaunched = Holder { is_unlaunched: true, ..holder((0, 0), Pool::Container, n, 1, 1) };
    let newer = Holder { start_ms: 99, ..holder((1, 0), Pool::Container, n, 1, 9) };
    let round = RoomRound {
        short: vec![short(FOR_CONTAINERS, &[work(Pool::Container, 1, 1, 1)])],
        nodes: BTreeMap::from([(n, room(0, 0))]),
        over: vec![over(0, &[unlaunched]), over(0, &[newer])],
    };
    assert_eq!(victims(round), [(0, 0)]);
}

#[test]
fn what_is_spared_may_go_for_what_comes_later() {
    let n = bare_nodes(1)[0];
    let holders = [holder((1, 2), Pool::Container, n, 2, 9), holder((1, 1), Pool::Container, n, 1, 8)];
    let reduce = Holder { pool: Pool::Reduce, ..holder((1, 0), Pool::Reduce, n, 1, 0) };
    let round = RoomRound {
        short: vec![short(PerPool::new(0, 2, 3), &[work(Pool::Reduce, 1, 2, 1), work(Pool::Container, 2, 1, 3)])],
        nodes: BTreeMap::from([(
            n,
            NodeRoom { slots: PerKind::new(0, 1), room: Some(GB.times(0)), cores_of_slots_alone: 0 },
        )]),
        over: vec![
            over(1, &[holder((0, 0), Pool::Map, n, 1, 0)]),
            OverQueue { excess: PerKind::new(0, 1), holders: [&holders[..], &[reduce]].concat() },
        ],
    };
    // The first container serves a reduce, the reduce the other one, and the two that are left the container.
    assert_eq!(victims(round), [(1, 2), (1, 0), (1, 1), (0, 0)]);
}

#[test]
fn what_is_spared_may_go_with_what_its_victim_leaves() {
    let n = bare_nodes(1)[0];
    let holders = [holder((0, 0), Pool::Reduce, n, 2, 0), holder((0, 1), Pool::Container, n, 1, 0)];
    let round = |slots| RoomRound {
        short: vec![short(PerPool::new(0, 9, 9), &[work(Pool::Reduce, 1, 1, 1), work(Pool::Container, 2, 1, slots)])],
        nodes: BTreeMap::from([(n, room(0, 0))]),
        over: vec![OverQueue { excess: PerKind::new(0, 2), holders: holders.to_vec() }],
    };
    // The reduce that goes leaves one slot of its two.
    assert_eq!(victims(round(2)), [(0, 0), (0, 1)]);
    assert_eq!(victims(round(3)), [(0, 0)]);
}

#[test]
fn what_is_spared_takes_nothing_of_what_its_queue_may_lose() {
    let n = bare_nodes(2);
    let attempts = [(n[0], 1, 9), (n[0], 2, 8), (n[1], 1, 7)];
    let attempts = [0, 1, 2].map(|one| {
        let (node, slots, age) = attempts[one];
        holder((0, one as u32), Pool::Map, node, slots, age)
    });
    let round = RoomRound {
        short: vec![short(FOR_MAPS, &[work(Pool::Map, 1, 1, 2), work(Pool::Map, 2, 1, 1)])],
        nodes: n.iter().map(|node| (*node, room(0, 0))).collect(),
        over: vec![over(3, &attempts)],
    };
    let outcome = round.decide(|work, node| (work.app == AppId::new(1)) == (node == n[0]));
    assert_eq!(outcome.victims, [(0, 1), (0, 2)]);
}

#[test]
fn a_victim_is_spared_when_a_larger_one_leaves_enough_for_what_it_was_for() {
    let n = bare_nodes(1)[0];
    let round = |second| RoomRound {
        short: vec![short(FOR_CONTAINERS, &[work(Pool::Container, 1, 1, 1), work(Pool::Container, 2, 1, 4)])],
        nodes: BTreeMap::from([(n, room(0, 0))]),
        over: vec![over(0, &[holder((0, 0), Pool::Container, n, 1, 9), holder((0, 1), Pool::Container, n, second, 1)])],
    };
    assert_eq!(victims(round(4)), [(0, 0), (0, 1)]);
    assert_eq!(victims(round(5)), [(0, 1)]);
}

#[test]
fn a_container_beyond_what_is_bought_takes_nothing() {
    let n = bare_nodes(1)[0];
    let round = |need| RoomRound {
        short: vec![short(PerPool::new(0, 0, need), &[work(Pool::Container, 1, 9, 2)])],
        nodes: BTreeMap::from([(n, room(0, 0))]),
        over: vec![over(0, &[0, 1, 2, 3].map(|one| holder((0, one), Pool::Container, n, 2, one.into())))],
    };
    assert_eq!([1, 2, 3, 4, 5].map(|need| victims(round(need)).len()), [0, 1, 1, 2, 2]);
}

#[test]
fn a_node_without_memory_and_cores_to_share_serves_tasks_by_its_slots_alone() {
    let n = bare_nodes(1)[0];
    let of_slots = NodeRoom { slots: PerKind::default(), room: None, cores_of_slots_alone: 0 };
    let round = |pool| RoomRound {
        short: vec![short(PerPool::new(9, 0, 9), &[work(pool, 1, 1, 1)])],
        nodes: BTreeMap::from([(n, of_slots)]),
        over: vec![over(1, &[holder((0, 0), Pool::Map, n, 1, 1)])],
    };
    assert_eq!(round(Pool::Map).decide(|_, _| true), RoundOutcome { victims: vec![(0, 0)], earmarks: vec![] });
    assert_eq!(victims(round(Pool::Container)), []);
}

#[test]
fn cores_that_only_slots_stand_for_stay_free_beside_a_container() {
    let n = bare_nodes(1)[0];
    let containers = [0, 1, 2].map(|one| holder((0, one), Pool::Container, n, 1, one.into()));
    let round = |cores_of_slots_alone| RoomRound {
        short: vec![short(FOR_CONTAINERS, &[work(Pool::Container, 1, 1, 2)])],
        nodes: BTreeMap::from([(n, NodeRoom { cores_of_slots_alone, ..room(0, 0) })]),
        over: vec![over(0, &containers)],
    };
    assert_eq!([0, 1, 2].map(|alone| victims(round(alone)).len()), [2, 3, 0]);
}

const NODES: usize = 3;

/// Pool, how many, slots of each and the nodes that they may use.
type Waiting = (Pool, u32, u32, BTreeSet<usize>);

/// Pool, node, slots, whether it was never launched, start of its job and age.
type Holding = (Pool, usize, u32, bool, i64, u64);

#[derive(Clone, Debug)]
struct Scenario {
    /// Free slots of each kind, of room, and cores that only slots stand for.
    nodes: Vec<(u32, u32, u32, u32)>,
    short: Vec<(PerPool<u32>, Vec<Waiting>)>,
    over: Vec<(PerKind<u32>, Vec<Holding>)>,
}

fn pool() -> impl Strategy<Value = Pool> {
    prop::sample::select(Pool::ALL.to_vec())
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let usable = prop::collection::btree_set(0..NODES, 1..=NODES);
    let slots_of = |pool: Pool, slots: u32| if pool == Pool::Container { slots } else { 1 };
    let waiting = (pool(), 0_u32..3, 1_u32..5, usable)
        .prop_map(move |(pool, count, slots, on)| (pool, count, slots_of(pool, slots), on));
    let holding = (pool(), 0..NODES, 1_u32..5, prop::bool::weighted(0.3), 0_i64..4, 0_u64..9).prop_map(
        move |(pool, node, slots, unlaunched, start_ms, age)| {
            (pool, node, slots_of(pool, slots), unlaunched && pool == Pool::Container, start_ms, age)
        },
    );
    let need = (0_u32..4, 0_u32..4, 0_u32..8).prop_map(|(map, reduce, container)| PerPool::new(map, reduce, container));
    let excess = (0_u32..4, 0_u32..4).prop_map(|(map, reduce)| PerKind::new(map, reduce));
    (
        prop::collection::vec((0_u32..3, 0_u32..3, 0_u32..4, 0_u32..3), NODES),
        prop::collection::vec((need, prop::collection::vec(waiting, 0..4)), 0..3),
        prop::collection::vec((excess, prop::collection::vec(holding, 0..8)), 0..3),
    )
        .prop_map(|(nodes, short, over)| Scenario { nodes, short, over })
}

/// Room that is kept: its node, the app that it is for, the pool, slots.
type Kept = (usize, AppId, Pool, u32);

/// What is left of a node: map slots, reduce slots, memory, cores.
type Left = [i64; 4];

impl Scenario {
    fn decide(&self) -> (Vec<Name>, Vec<Kept>) {
        let ids = bare_nodes(NODES);
        let number_of = |id: TrackerId| ids.iter().position(|other| *other == id).unwrap();
        let works: Vec<(WaitingWork, BTreeSet<usize>)> = self.works();
        let short = self.short.iter().enumerate().map(|(queue, (need, waiting))| {
            let first: usize = self.short[..queue].iter().map(|(_, waiting)| waiting.len()).sum();
            ShortQueue { need: *need, waiting: works[first..first + waiting.len()].iter().map(|(w, _)| *w).collect() }
        });
        let over = self.over.iter().enumerate().map(|(queue, (excess, holders))| OverQueue {
            excess: *excess,
            holders: (0..holders.len())
                .map(|number| {
                    let (pool, node, slots, is_unlaunched, start_ms, age) = holders[number];
                    let plain = holder((queue, number as u32), pool, ids[node], slots, age);
                    Holder { is_unlaunched, start_ms, ..plain }
                })
                .collect(),
        });
        let free = self.nodes.iter().map(|(maps, reduces, slots, alone)| NodeRoom {
            slots: PerKind::new(*maps, *reduces),
            room: Some(GB.times(*slots)),
            cores_of_slots_alone: *alone,
        });
        let round =
            RoomRound { short: short.collect(), nodes: ids.iter().copied().zip(free).collect(), over: over.collect() };
        let outcome = round.decide(|work, node| {
            works.iter().any(|(other, on)| other.app == work.app && on.contains(&number_of(node)))
        });
        let placed = outcome.earmarks.into_iter();
        let placed = placed.map(|(node, earmark)| (number_of(node), earmark.app, earmark.pool, earmark.room.vcores));
        (outcome.victims, placed.collect())
    }

    /// All that waits, each with an app of its own, and the nodes that it may use.
    fn works(&self) -> Vec<(WaitingWork, BTreeSet<usize>)> {
        let all = self.short.iter().flat_map(|(_, waiting)| waiting);
        all.zip(1..).map(|((pool, count, slots, on), app)| (work(*pool, app, *count, *slots), on.clone())).collect()
    }

    fn holding(&self, name: &Name) -> Holding {
        self.over[name.0].1[name.1 as usize]
    }

    /// What all nodes have once the victims are gone and what was placed is there.
    fn left(&self, victims: &[Name], placed: &[(usize, AppId, Pool, u32)]) -> Vec<Left> {
        let free = self.nodes.iter().map(|(m, r, s, _)| [(*m).into(), (*r).into(), (*s).into(), (*s).into()]);
        let mut left: Vec<Left> = free.collect();
        for node in placed
            .iter()
            .filter(|(.., pool, _)| *pool == Pool::Container)
            .map(|(node, ..)| *node)
            .collect::<BTreeSet<_>>()
        {
            left[node][3] -= i64::from(self.nodes[node].3);
        }
        let mut change = |node: usize, pool: Pool, slots: i64| {
            if let Some(kind) = pool.kind() {
                left[node][kind as usize] += slots;
            }
            left[node][2] += slots;
            left[node][3] += slots;
        };
        for name in victims {
            let (pool, node, slots, ..) = self.holding(name);
            change(node, pool, slots.into());
        }
        placed.iter().for_each(|(node, _, pool, slots)| change(*node, *pool, -i64::from(*slots)));
        left
    }

    fn all(&self) -> Vec<Name> {
        let of_queue = |(queue, (_, holders)): (usize, &(_, Vec<Holding>))| {
            (0..holders.len() as u32).map(move |number| (queue, number)).collect::<Vec<_>>()
        };
        self.over.iter().enumerate().flat_map(of_queue).collect()
    }
}

proptest! {
    #[test]
    fn no_queue_loses_more_than_its_excess_and_nothing_goes_twice(scenario in scenario()) {
        let (victims, _) = scenario.decide();
        for (queue, (excess, _)) in scenario.over.iter().enumerate() {
            for kind in crate::model::Kind::ALL {
                let of_kind = victims.iter().filter(|name| name.0 == queue && scenario.holding(name).0 == kind.into());
                prop_assert!(of_kind.count() <= excess[kind] as usize);
            }
        }
        prop_assert_eq!(victims.iter().collect::<BTreeSet<_>>().len(), victims.len());
    }

    #[test]
    fn what_is_placed_has_all_that_it_needs_and_no_victim_is_needless(scenario in scenario()) {
        let (victims, placed) = scenario.decide();
        prop_assert!(scenario.left(&victims, &placed).iter().flatten().all(|left| *left >= 0));
        for index in 0..victims.len() {
            let mut fewer = victims.clone();
            fewer.remove(index);
            prop_assert!(scenario.left(&fewer, &placed).iter().flatten().any(|left| *left < 0));
        }
    }

    #[test]
    fn nothing_is_placed_beyond_what_was_bought_or_where_it_may_not_be(scenario in scenario()) {
        let (_, placed) = scenario.decide();
        let works = scenario.works();
        for (node, app, ..) in &placed {
            let (work, on) = works.iter().find(|(work, _)| work.app == *app).unwrap();
            prop_assert!(on.contains(node));
            prop_assert!(placed.iter().filter(|(_, other, ..)| other == app).count() <= work.count as usize);
        }
        let mut app = 1;
        for (need, waiting) in &scenario.short {
            let apps = app..app + waiting.len() as u32;
            app += waiting.len() as u32;
            for pool in Pool::ALL {
                let of_pool = placed.iter().filter(|(_, id, other, _)| apps.contains(&id.get()) && *other == pool);
                prop_assert!(of_pool.map(|(.., slots)| slots).sum::<u32>() <= need[pool]);
            }
        }
    }

    #[test]
    fn what_could_be_served_is_served(scenario in scenario()) {
        let (victims, placed) = scenario.decide();
        let left = scenario.left(&victims, &placed);
        let lost = |queue: usize, pool: Pool| {
            victims.iter().filter(|name| name.0 == queue && scenario.holding(name).0 == pool).count() as u32
        };
        let mut app = 1;
        for (need, waiting) in &scenario.short {
            let apps = app..app + waiting.len() as u32;
            for (pool, count, slots, on) in waiting {
                let id = AppId::new(app);
                app += 1;
                let of_queue = placed.iter().filter(|(_, id, other, _)| apps.contains(&id.get()) && other == pool);
                let got: u32 = of_queue.map(|(.., slots)| slots).sum();
                let placed_of_it = placed.iter().filter(|(_, other, ..)| *other == id).count() as u32;
                if placed_of_it >= *count || got + slots > need[*pool] {
                    continue;
                }
                for node in on {
                    let mut here = left[*node];
                    if *pool == Pool::Container && !placed.iter().any(|(at, _, of, _)| (*at, *of) == (*node, *pool)) {
                        here[3] -= i64::from(scenario.nodes[*node].3);
                    }
                    let mut taken: BTreeMap<(usize, Pool), u32> = BTreeMap::new();
                    for name in scenario.all().iter().filter(|name| !victims.contains(name)) {
                        let (of, at, slots, ..) = scenario.holding(name);
                        let taken = taken.entry((name.0, of)).or_insert_with(|| lost(name.0, of));
                        let may_lose = of.kind().is_none_or(|kind| *taken + slots <= scenario.over[name.0].0[kind]);
                        if at == *node && may_lose {
                            *taken += slots;
                            here[2] += i64::from(slots);
                            here[3] += i64::from(slots);
                            if let Some(kind) = of.kind() {
                                here[kind as usize] += i64::from(slots);
                            }
                        }
                    }
                    let fits = pool.kind().is_none_or(|kind| here[kind as usize] >= (*slots).into())
                        && here[2].min(here[3]) >= (*slots).into();
                    prop_assert!(!fits, "app {} could have a place on node {}", id, node);
                }
            }
        }
    }

    #[test]
    fn of_containers_that_serve_the_same_the_first_in_the_order_goes(scenario in scenario()) {
        let (victims, _) = scenario.decide();
        let latest = |queue: usize| scenario.over[queue].1.iter().map(|(.., start_ms, _)| *start_ms).max();
        for chosen in &victims {
            let (pool, node, slots, unlaunched, _, age) = scenario.holding(chosen);
            for spared in scenario.all().iter().filter(|name| !victims.contains(name)) {
                let (other, at, same, never, _, newer) = scenario.holding(spared);
                if pool == Pool::Container && (other, at, same) == (pool, node, slots) {
                    prop_assert!(never <= unlaunched, "{chosen:?} goes before {spared:?}, which was never launched");
                    let is_in_order = latest(spared.0) <= latest(chosen.0)
                        && (spared.0 != chosen.0 || newer <= age);
                    prop_assert!((!never && unlaunched) || is_in_order, "{chosen:?} goes before {spared:?}");
                }
            }
        }
    }
}

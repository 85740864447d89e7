//! Each hook of a policy that first in, first out and the market leave alone.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use crate::model::{Kind, Now, PerKind, Pool, TrackerId, Violations};
use crate::scheduler::app::App;
use crate::scheduler::change::{Change, Reaction};
use crate::scheduler::group::Group;
use crate::scheduler::key::{AppKey, FirstApp, GroupKey, Ratio};
use crate::scheduler::node::{Node, Totals};
use crate::scheduler::policy::{Heartbeat, HeartbeatLimits, Leaf, Policy, PolicyView, Verdict};
use crate::scheduler::*;

/// Groups by usage, apps by submission; all else as a test needs it.
#[derive(Debug)]
struct Scripted {
    sorts_at_fixed_moments: bool,
    asks_for_each_slot: bool,
    alternates: bool,
    after_off_switch: Option<u32>,
    /// Slots of a task of each app; 1 unless named.
    slots: BTreeMap<AppId, u32>,
    farthest: Level,
    /// How often each app was asked in vain.
    in_vain: BTreeMap<AppId, u32>,
    /// An app may get a farther task once it was asked in vain so often.
    patience: u32,
}

const PLAIN: Scripted = Scripted {
    sorts_at_fixed_moments: false,
    asks_for_each_slot: false,
    alternates: false,
    after_off_switch: None,
    slots: BTreeMap::new(),
    farthest: Level::Any,
    in_vain: BTreeMap::new(),
    patience: u32::MAX,
};

impl Policy for Scripted {
    fn leaf_of(&self, _app: &AppSpec) -> Leaf {
        Leaf::Group
    }

    fn app_key(&self, app: &App, _pool: Pool) -> AppKey {
        AppKey { order: app.spec.order, ..AppKey::default() }
    }

    fn group_key(&self, _id: GroupId, group: &Group, pool: Pool, _first: FirstApp) -> GroupKey {
        GroupKey { ratio: Ratio::new(group.running[pool].into(), NonZeroU64::MIN), ..GroupKey::default() }
    }

    fn heartbeat_limits(&self, _kind: Kind, free: u32, _node: &Node, _totals: &Totals) -> HeartbeatLimits {
        HeartbeatLimits { limit: free, after_off_switch: self.after_off_switch, only_app: None, skip_budget: u32::MAX }
    }

    fn sorts_at_fixed_moments(&self) -> bool {
        self.sorts_at_fixed_moments
    }

    fn asks_for_each_slot(&self) -> bool {
        self.asks_for_each_slot
    }

    fn next_kind(&self, heartbeat: &Heartbeat) -> Option<Kind> {
        let is_open = |kind: &Kind| heartbeat.is_open[*kind];
        match self.alternates && Kind::ALL.iter().all(is_open) {
            true if heartbeat.granted.map > heartbeat.granted.reduce => Some(Kind::Reduce),
            _ => Kind::ALL.into_iter().find(is_open),
        }
    }

    fn review(&self, app: &App, kind: Kind, heartbeat: &Heartbeat, _view: &PolicyView<'_>) -> Verdict {
        match self.can_use_reservation(app, kind, heartbeat) {
            false => Verdict::Reserve,
            true if self.in_vain.get(&app.spec.id) >= Some(&self.patience) => Verdict::Ask(Level::Any),
            true => Verdict::Ask(self.farthest),
        }
    }

    fn can_use_reservation(&self, app: &App, kind: Kind, heartbeat: &Heartbeat) -> bool {
        self.slots.get(&app.spec.id).copied().unwrap_or(1) <= heartbeat.free[kind]
    }

    fn on_change(&mut self, change: &Change, _view: &PolicyView<'_>, _reaction: &mut Reaction<'_>) {
        if let Change::Asked(asked) = change
            && asked.granted.is_none()
        {
            *self.in_vain.entry(asked.app).or_default() += 1;
        }
    }
}

/// Tasks anywhere, or on one node alone.
#[derive(Default)]
struct Tasks {
    waiting: BTreeMap<(AppId, Kind), u32>,
    slots: BTreeMap<AppId, u32>,
    level: BTreeMap<AppId, Level>,
    granted: Vec<(u32, Kind)>,
}

impl GrantSource for Tasks {
    fn take_task(&mut self, app: AppId, kind: Kind, _node: TrackerId, distance: Distance) -> GrantResult {
        let level = self.level.get(&app).copied().unwrap_or(Level::Any);
        let Some(waiting) = self.waiting.get_mut(&(app, kind)) else { return GrantResult::NoTask };
        if *waiting == 0 || level > distance.farthest {
            return GrantResult::NoTask;
        }
        *waiting -= 1;
        self.granted.push((app.get(), kind));
        let slots = self.slots.get(&app).copied().unwrap_or(1);
        GrantResult::Task { hosts: [].into(), level, origin: TaskOrigin::Fresh, slots }
    }
}

struct World {
    scheduler: Scheduler,
    tasks: Tasks,
    groups: Vec<GroupId>,
    node: TrackerId,
}

impl World {
    fn new(policy: Scripted) -> Self {
        let tasks = Tasks { slots: policy.slots.clone(), ..Tasks::default() };
        let mut scheduler = Scheduler::with_policy(Box::new(policy));
        let groups = ["q0", "q1", "q2"].map(|name| scheduler.open_group(name)).to_vec();
        let host = scheduler.topology_mut().intern_host("h", "/r");
        let node = scheduler.add_node(host, PerKind::new(9, 9));
        Self { scheduler, tasks, groups, node }
    }

    fn job(&mut self, number: u32, group: usize, maps: u32, reduces: u32) -> AppId {
        let id = AppId::new(number);
        let spec = AppSpec { order: number.into(), ..AppSpec::plain(id, self.groups[group]) };
        self.scheduler.add_app(spec).unwrap();
        for (kind, count) in [(Kind::Map, maps), (Kind::Reduce, reduces)] {
            self.scheduler.request_slots(id, kind, &[], count);
            self.tasks.waiting.insert((id, kind), count);
        }
        id
    }

    fn beat_at(&mut self, maps: u32, reduces: u32, mono_ms: u64) -> Vec<(u32, Kind)> {
        self.tasks.granted.clear();
        let offer = NodeOffer { node: self.node, free: PerKind::new(maps, reduces), now: Now { mono_ms, wall_ms: 0 } };
        self.scheduler.assign_slots(offer, &mut self.tasks);
        self.scheduler.check_sums(&mut Violations::default());
        self.tasks.granted.clone()
    }

    fn maps(&mut self, free: u32) -> Vec<u32> {
        self.beat_at(free, 0, 0).into_iter().map(|(app, _)| app).collect()
    }
}

#[test]
fn groups_sorted_at_fixed_moments_keep_their_order_when_equal() {
    let by_rank = |sorts_at_fixed_moments| {
        let mut world = World::new(Scripted { sorts_at_fixed_moments, ..PLAIN });
        for number in 0..2 {
            world.job(number, number as usize, 9, 0);
        }
        world.maps(6)
    };
    assert_eq!(by_rank(true), [0, 1, 1, 0, 0, 1]);
    assert_eq!(by_rank(false), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn usage_that_falls_and_rises_between_two_sorts_moves_nothing() {
    let mut world = World::new(Scripted { sorts_at_fixed_moments: true, ..PLAIN });
    let jobs = [0, 1].map(|number| world.job(number, number as usize, 9, 0));
    assert_eq!(world.maps(4), [0, 1, 1, 0]);
    world.scheduler.remove_running(jobs[1], Kind::Map, world.node, 1);
    world.scheduler.add_running(jobs[1], Kind::Map, world.node, 1);
    assert_eq!(world.maps(1), [0]);
}

#[test]
fn a_sort_without_a_waiting_app_counts() {
    let mut world = World::new(Scripted { sorts_at_fixed_moments: true, ..PLAIN });
    let jobs = [0, 1].map(|number| world.job(number, number as usize, 1, 0));
    assert_eq!(world.maps(2), [0, 1]);
    world.scheduler.remove_running(jobs[0], Kind::Map, world.node, 1);
    // The group of 0 falls before the other one, and stays there when it rises to the same usage.
    assert!(world.maps(1).is_empty());
    world.scheduler.add_running(jobs[0], Kind::Map, world.node, 1);
    for job in jobs {
        world.scheduler.request_slots(job, Kind::Map, &[], 1);
        world.tasks.waiting.insert((job, Kind::Map), 1);
    }
    assert_eq!(world.maps(1), [0]);
}

#[test]
fn kinds_alternate_where_the_policy_says_so() {
    let kinds = |alternates| {
        let mut world = World::new(Scripted { alternates, ..PLAIN });
        world.job(0, 0, 2, 4);
        world.beat_at(3, 3, 0).into_iter().map(|(_, kind)| kind).collect::<Vec<_>>()
    };
    use Kind::{Map, Reduce};
    assert_eq!(kinds(false), [Map, Map, Reduce, Reduce, Reduce]);
    assert_eq!(kinds(true), [Map, Reduce, Map, Reduce, Reduce]);
}

#[test]
fn off_switch_tasks_leave_room_for_as_many_more_as_permitted() {
    for (after_off_switch, granted) in [(None, 5), (Some(0), 1), (Some(2), 3)] {
        let mut world = World::new(Scripted { after_off_switch, ..PLAIN });
        world.job(0, 0, 9, 0);
        assert_eq!(world.maps(5).len(), granted);
    }
}

#[test]
fn a_task_of_several_slots_fills_them() {
    let big = AppId::new(0);
    let mut world = World::new(Scripted { slots: BTreeMap::from([(big, 2)]), ..PLAIN });
    world.job(0, 0, 9, 0);
    assert_eq!(world.maps(4), [0, 0]);
}

#[test]
fn an_app_too_far_is_asked_once_a_heartbeat_or_for_each_slot() {
    for (asks_for_each_slot, granted) in [(false, [1, 1, 1, 1]), (true, [1, 1, 0, 0])] {
        let mut world = World::new(Scripted { asks_for_each_slot, farthest: Level::Rack, patience: 2, ..PLAIN });
        let (far, near) = (world.job(0, 0, 9, 0), world.job(1, 0, 9, 0));
        world.tasks.level.insert(far, Level::Any);
        world.tasks.level.insert(near, Level::Rack);
        assert_eq!(world.maps(4), granted);
    }
}

#[test]
fn a_reserved_node_waits_for_its_app_and_serves_no_other() {
    let big = AppId::new(0);
    let mut world = World::new(Scripted { slots: BTreeMap::from([(big, 3)]), farthest: Level::Node, ..PLAIN });
    world.job(0, 0, 1, 0);
    world.tasks.level.insert(AppId::new(1), Level::Node);
    world.job(1, 1, 9, 9);
    assert!(world.beat_at(2, 0, 1_000).is_empty());
    assert_eq!(world.scheduler.reserved_nodes(big), PerKind::new(1, 0));
    // The same slots for longer, then fewer of them: only what changed is over.
    assert!(world.beat_at(2, 0, 2_000).is_empty());
    assert_eq!(world.scheduler.take_ended_reservations(), []);
    assert_eq!(world.beat_at(1, 1, 3_000), [(1, Kind::Reduce)]);
    let ended =
        |slots, since_mono_ms| EndedReservation { app: big, kind: Kind::Map, node: world.node, slots, since_mono_ms };
    assert_eq!(world.scheduler.take_ended_reservations(), [ended(2, 1_000)]);
    let ended = ended(1, 3_000);
    // At any distance.
    assert_eq!(world.beat_at(4, 0, 4_000), [(0, Kind::Map), (1, Kind::Map)]);
    assert_eq!(world.scheduler.take_ended_reservations(), [ended]);
    assert_eq!(world.scheduler.reserved_nodes(big), PerKind::default());
}

#[test]
fn a_reservation_ends_with_its_app_its_node_or_the_slots_of_the_node() {
    type End = fn(&mut World);
    let ends: [End; 3] = [
        |world| world.scheduler.remove_app(AppId::new(0)),
        |world| world.scheduler.remove_node(world.node),
        |world| world.scheduler.set_slots(world.node, PerKind::default()),
    ];
    for end in ends {
        let big = AppId::new(0);
        let mut world = World::new(Scripted { slots: BTreeMap::from([(big, 3)]), ..PLAIN });
        world.job(0, 0, 1, 0);
        assert!(world.maps(2).is_empty());
        end(&mut world);
        assert_eq!(world.scheduler.take_ended_reservations().len(), 1);
        assert_eq!(world.scheduler.reserved_nodes(big), PerKind::default());
    }
}

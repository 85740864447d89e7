//! Laws of a tree of groups under limits, with keys that move: each grant is the one that a naive sort of all permitted
//! apps finds, whatever was parked and returned; and sums on each path equal a recount.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::model::{Kind, Now, PerKind, PerPool, Pool, TrackerId, Violations};
use crate::scheduler::app::App;
use crate::scheduler::change::{Change, Reaction};
use crate::scheduler::group::Group;
use crate::scheduler::key::{AppKey, FirstApp, GroupKey, Ratio};
use crate::scheduler::node::{Node, Totals};
use crate::scheduler::policy::{Heartbeat, HeartbeatLimits, Leaf, Policy, PolicyView, Verdict};
use crate::scheduler::*;

const APP_LIMIT: u32 = 3;
const USER_LIMIT: u32 = 4;
const NODES: usize = 2;
/// Names and parents; a parent comes first.
const GROUPS: [(&str, Option<usize>); 5] =
    [("a", None), ("b", None), ("a.x", Some(0)), ("a.y", Some(0)), ("a.x.z", Some(2))];
const KIND: Kind = Kind::Map;
const NOW: Now = Now { mono_ms: 0, wall_ms: 0 };

/// Groups and apps by usage and weight; users in their group by first app; limits of groups, users and apps. A group's
/// weight and limit come as its allocation.
#[derive(Debug, Default)]
struct Limited {
    bought: BTreeMap<GroupId, Allocation>,
}

fn weighted(running: u32, weight: u64) -> Ratio {
    Ratio::new(running.into(), NonZeroU64::new(weight).unwrap())
}

impl Policy for Limited {
    fn leaf_of(&self, app: &AppSpec) -> Leaf {
        Leaf::Child(app.user.clone())
    }

    fn app_key(&self, app: &App, pool: Pool) -> AppKey {
        let ratio = weighted(app.running[pool], u64::from(app.spec.priority) + 1);
        AppKey { class: 0, ratio, start_ms: 0, order: app.spec.order }
    }

    fn group_key(&self, id: GroupId, group: &Group, pool: Pool, first: FirstApp) -> GroupKey {
        match self.bought.get(&id) {
            Some(bought) => {
                let ratio = weighted(group.running[pool], bought.rate_units as u64);
                GroupKey { class: 1, ratio, ..GroupKey::default() }
            }
            None => GroupKey::by_first(first),
        }
    }

    fn heartbeat_limits(&self, _kind: Kind, free: u32, _node: &Node, _totals: &Totals) -> HeartbeatLimits {
        HeartbeatLimits { limit: free, after_off_switch: None, only_app: None, skip_budget: u32::MAX }
    }

    fn review(&self, app: &App, kind: Kind, _heartbeat: &Heartbeat, view: &PolicyView<'_>) -> Verdict {
        let is_full = |id: &GroupId| {
            let limit = self.bought.get(id).map_or(USER_LIMIT, |bought| bought.quota[kind]);
            view.group(*id).is_some_and(|group| group.running[kind] >= limit)
        };
        match view.groups.path(app.home).find(is_full) {
            Some(group) => Verdict::ParkGroup(group),
            None if app.running[kind] >= APP_LIMIT => Verdict::ParkApp,
            None => Verdict::Ask(Level::Any),
        }
    }

    fn on_change(&mut self, change: &Change, _view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        match *change {
            Change::Usage { app, .. } => reaction.rekey_app(app),
            Change::Tick(_) => {
                reaction.rekey_all();
                reaction.wake_all_below(GroupId::ROOT);
            }
            _ => {}
        }
    }

    fn set_allocations(&mut self, allocations: &[(GroupId, Allocation)]) -> Vec<GroupId> {
        let before: Vec<GroupId> = self.bought.keys().copied().collect();
        self.bought = allocations.iter().copied().collect();
        before.into_iter().chain(self.bought.keys().copied()).collect()
    }
}

#[derive(Clone, Debug)]
struct Job {
    group: usize,
    user: usize,
    priority: u8,
    waiting: u32,
    /// The node of each running task.
    running: Vec<TrackerId>,
    /// The only node for its tasks, if there is one.
    only_node: Option<TrackerId>,
}

/// The same world without orders: everything is counted and sorted when it is needed.
#[derive(Clone, Debug)]
struct Naive {
    jobs: BTreeMap<AppId, Job>,
    limits: [u32; GROUPS.len()],
    weights: [u64; GROUPS.len()],
    granted: u32,
}

fn path(group: usize) -> Vec<usize> {
    let mut path: Vec<usize> = std::iter::successors(Some(group), |group| GROUPS[*group].1).collect();
    path.reverse();
    path
}

impl Naive {
    fn running(&self, of: impl Fn(&Job) -> bool) -> u32 {
        self.jobs.values().filter(|job| of(job)).map(|job| job.running.len() as u32).sum()
    }

    fn in_group(&self, group: usize) -> u32 {
        self.running(|job| path(job.group).contains(&group))
    }

    fn is_permitted(&self, job: &Job) -> bool {
        let of_user = self.running(|other| (other.group, other.user) == (job.group, job.user));
        path(job.group).into_iter().all(|group| self.in_group(group) < self.limits[group])
            && of_user < USER_LIMIT
            && (job.running.len() as u32) < APP_LIMIT
    }

    fn next(&self, node: TrackerId) -> Option<AppId> {
        let permitted = self.jobs.iter().filter(|(_, job)| {
            job.waiting > 0 && job.only_node.is_none_or(|only| only == node) && self.is_permitted(job)
        });
        let permitted: Vec<(AppId, &Job)> = permitted.map(|(id, job)| (*id, job)).collect();
        permitted.iter().copied().min_by(|left, right| self.compare(*left, *right, &permitted)).map(|(id, _)| id)
    }

    /// Level by level: the users of a group come before the groups in it.
    fn compare(&self, left: (AppId, &Job), right: (AppId, &Job), all: &[(AppId, &Job)]) -> Ordering {
        let (paths, ratio) = ((path(left.1.group), path(right.1.group)), |group: usize| {
            weighted(self.in_group(group), self.weights[group])
        });
        for (one, other) in paths.0.iter().zip(&paths.1) {
            if one != other {
                return ratio(*one).cmp(&ratio(*other)).then(one.cmp(other));
            }
        }
        if paths.0.len() != paths.1.len() {
            return paths.0.len().cmp(&paths.1.len());
        }
        let key = |(id, job): (AppId, &Job)| (weighted(job.running.len() as u32, u64::from(job.priority) + 1), id);
        let first_of_user = |of: &Job| {
            all.iter().filter(|(_, job)| (job.group, job.user) == (of.group, of.user)).map(|app| key(*app)).min()
        };
        first_of_user(left.1).cmp(&first_of_user(right.1)).then(key(left).cmp(&key(right)))
    }
}

impl GrantSource for Naive {
    fn take_task(&mut self, app: AppId, _kind: Kind, node: TrackerId, _distance: Distance) -> GrantResult {
        let job = self.jobs.get(&app).unwrap();
        if job.only_node.is_some_and(|only| only != node) {
            return GrantResult::NoTask;
        }
        assert_eq!(self.next(node), Some(app), "{self:?}");
        let job = self.jobs.get_mut(&app).unwrap();
        job.waiting -= 1;
        job.running.push(node);
        self.granted += 1;
        GrantResult::Task { hosts: [].into(), level: Level::Any, origin: TaskOrigin::Fresh, slots: 1 }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Job { group: usize, user: usize, priority: u8, only_node: Option<usize> },
    Tasks(Index, u32),
    Withdraw(Index),
    Heartbeat { node: usize, free: u32 },
    End(Index),
    Remove(Index),
    Priority(Index, u8),
    Limits(Vec<(usize, u32, u64)>),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let only_node = prop::option::weighted(0.3, 0..NODES);
    let limits = prop::collection::vec((0..GROUPS.len(), 0u32..9, 1u64..4), 1..4);
    prop_oneof![
        3 => (0..GROUPS.len(), 0usize..2, 0u8..3, only_node).prop_map(|(group, user, priority, only_node)| {
            Step::Job { group, user, priority, only_node }
        }),
        5 => (index(), 1u32..5).prop_map(|(job, count)| Step::Tasks(job, count)),
        1 => index().prop_map(Step::Withdraw),
        8 => (0..NODES, 1u32..6).prop_map(|(node, free)| Step::Heartbeat { node, free }),
        6 => index().prop_map(Step::End),
        1 => index().prop_map(Step::Remove),
        1 => (index(), 0u8..3).prop_map(|(job, priority)| Step::Priority(job, priority)),
        1 => limits.prop_map(Step::Limits),
    ]
}

struct World {
    scheduler: Scheduler,
    naive: Naive,
    groups: Vec<GroupId>,
    nodes: Vec<TrackerId>,
    last_app: u32,
}

impl World {
    fn new() -> Self {
        let mut scheduler = Scheduler::with_policy(Box::new(Limited::default()));
        let mut groups: Vec<GroupId> = Vec::new();
        for (name, parent) in GROUPS {
            groups.push(match parent {
                None => scheduler.open_group(name),
                Some(parent) => scheduler.open_group_under(groups[parent], name).unwrap(),
            });
        }
        let host = scheduler.topology_mut().intern_host("h", "/r");
        let nodes = (0..NODES).map(|_| scheduler.add_node(host, PerKind::new(100, 0))).collect();
        let naive = Naive { jobs: BTreeMap::new(), limits: [6; GROUPS.len()], weights: [1; GROUPS.len()], granted: 0 };
        let mut world = Self { scheduler, naive, groups, nodes, last_app: 0 };
        world.set_limits();
        world
    }

    fn set_limits(&mut self) {
        let of = |group: usize| Allocation {
            quota: PerPool::new(self.naive.limits[group], 0, 0),
            rate_units: self.naive.weights[group].into(),
        };
        let bought: Vec<_> = (0..GROUPS.len()).map(|group| (self.groups[group], of(group))).collect();
        self.scheduler.set_allocations(&bought);
        self.scheduler.tick(NOW);
    }

    fn pick(&self, index: &Index, keep: impl Fn(&Job) -> bool) -> Option<AppId> {
        let apps: Vec<AppId> = self.naive.jobs.iter().filter(|(_, job)| keep(job)).map(|(id, _)| *id).collect();
        (!apps.is_empty()).then(|| *index.get(&apps))
    }

    fn take_step(&mut self, step: &Step) -> Option<()> {
        let (scheduler, jobs) = (&mut self.scheduler, &mut self.naive.jobs);
        match step {
            Step::Job { group, user, priority, only_node } => {
                self.last_app += 1;
                let (id, only_node) = (AppId::new(self.last_app), only_node.map(|node| self.nodes[node]));
                let name: Arc<str> = ["u", "v"][*user].into();
                let (group_id, order) = (self.groups[*group], self.last_app.into());
                let spec = AppSpec {
                    id,
                    group: group_id,
                    user: name,
                    priority: *priority,
                    start_ms: 0,
                    order,
                    slots_per_task: AppSpec::ONE_SLOT,
                };
                scheduler.add_app(spec).unwrap();
                let (group, user, priority) = (*group, *user, *priority);
                jobs.insert(id, Job { group, user, priority, waiting: 0, running: Vec::new(), only_node });
            }
            Step::Tasks(job, count) => {
                let id = self.pick(job, |_| true)?;
                self.scheduler.request_slots(id, KIND, &[], *count);
                self.naive.jobs.get_mut(&id)?.waiting += count;
            }
            Step::Withdraw(job) => {
                let id = self.pick(job, |job| job.waiting > 0)?;
                self.scheduler.withdraw_request(id, KIND, &[], 1);
                self.naive.jobs.get_mut(&id)?.waiting -= 1;
            }
            Step::Heartbeat { node, free } => {
                let node = self.nodes[*node];
                self.naive.granted = 0;
                let offer = NodeOffer { node, free: PerKind::new(*free, 0), now: NOW };
                self.scheduler.assign_slots(offer, &mut self.naive);
                let left = if self.naive.granted < *free { self.naive.next(node) } else { None };
                assert_eq!(left, None, "a slot stays free for a permitted app");
            }
            Step::End(job) => {
                let id = self.pick(job, |job| !job.running.is_empty())?;
                let node = self.naive.jobs.get_mut(&id)?.running.pop()?;
                self.scheduler.remove_running(id, KIND, node, 1);
            }
            Step::Remove(job) => {
                let id = self.pick(job, |_| true)?;
                self.scheduler.remove_app(id);
                let job = self.naive.jobs.remove(&id)?;
                job.running.into_iter().for_each(|node| self.scheduler.remove_running(id, KIND, node, 1));
            }
            Step::Priority(job, priority) => {
                let id = self.pick(job, |_| true)?;
                self.scheduler.set_priority(id, *priority);
                self.naive.jobs.get_mut(&id)?.priority = *priority;
            }
            Step::Limits(limits) => {
                for &(group, limit, weight) in limits {
                    self.naive.limits[group] = limit;
                    self.naive.weights[group] = weight;
                }
                self.set_limits();
            }
        }
        None
    }

    fn check(&self) {
        self.scheduler.check_sums(&mut Violations::default());
        for (group, &id) in self.groups.iter().enumerate() {
            assert_eq!(self.scheduler.usage(id)[KIND], self.naive.in_group(group));
            let below = self.naive.jobs.values().filter(|job| path(job.group).contains(&group));
            assert_eq!(self.scheduler.waiting(id)[KIND], below.map(|job| job.waiting).sum::<u32>());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn grants_follow_a_naive_sort_of_all_that_limits_permit(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World::new();
        for step in &steps {
            world.take_step(step);
            world.check();
        }
    }
}

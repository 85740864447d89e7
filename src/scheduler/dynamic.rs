//! The dynamic priority policy: paying queues first, up to their quota; the remaining slots go to the highest bids,
//! then to queues that bid nothing.
//!
//! A quota orders, it never refuses, so no slot stays idle for lack of money (work conservation).

use std::cmp::Reverse;
use std::num::NonZeroU64;

use rustc_hash::FxHashMap;

use crate::model::{Kind, OrderClass, PerPool, Pool};

use super::app::App;
use super::change::{Change, Reaction};
use super::group::Group;
use super::key::{AppKey, FirstApp, GroupKey, Ratio};
use super::node::{Node, Totals};
use super::policy::{Allocation, HeartbeatLimits, Leaf, Policy, PolicyView, SKIP_BUDGET};
use super::preemption::SlotClaim;
use super::{AppSpec, GroupId};

#[derive(Debug, Default)]
pub(super) struct Dynamic {
    sold: FxHashMap<GroupId, SoldToGroup>,
    /// The number of the last time that allocations were set.
    round: u64,
}

#[derive(Debug, Default)]
struct SoldToGroup {
    allocation: Allocation,
    round: u64,
}

/// Jobs with a deadline order.
const ORDERED: u8 = 0;
/// Other jobs.
const IN_TURN: u8 = 1;
const UNDER_QUOTA: u8 = 0;
/// Funded, at or over its quota.
const FUNDED: u8 = 1;
/// Without rate or money.
const UNFUNDED: u8 = 2;

impl Dynamic {
    /// Each class breaks ties by the first app in the queue's own order. So a queue can only fall back while its apps
    /// are passed over in a heartbeat, and comparing first apps alone finds the right queue.
    ///
    /// A queue is under its quota while its next grant stays within it: for slots one more, for a container all that it
    /// stands for, so that a queue of quota 1 cannot have 16 slots by asking for one large container.
    fn key_with(&self, leaf: GroupId, pool: Pool, held: PerPool<u32>, first: FirstApp) -> GroupKey {
        let Allocation { quota, rate_units } = self.allocation(leaf);
        let (quota, next) = match pool.kind() {
            Some(kind) => (quota[kind], 1),
            None => (quota.left_for_containers(held.slots()), first.slots),
        };
        let held = held[pool];
        let first = first.key;
        if rate_units <= 0 {
            return GroupKey { class: UNFUNDED, first, ..GroupKey::default() };
        }
        match NonZeroU64::new(quota.into()) {
            Some(quota) if u64::from(held) + u64::from(next) <= quota.get() => {
                GroupKey { class: UNDER_QUOTA, ratio: Ratio::new(held.into(), quota), first, ..GroupKey::default() }
            }
            _ => GroupKey { class: FUNDED, rate_units: Reverse(rate_units), first, ..GroupKey::default() },
        }
    }
}

impl Policy for Dynamic {
    fn leaf_of(&self, _app: &AppSpec) -> Leaf {
        Leaf::Group
    }

    /// Submission order inside a queue, after the jobs that slots are bought for until a deadline, the earliest first. Job
    /// priorities are not bought, so they do not count.
    fn app_key(&self, app: &App, _pool: Pool) -> AppKey {
        let (class, start_ms) = match app.deadline {
            Some(deadline) => (ORDERED, deadline.due_us),
            None => (IN_TURN, app.spec.start_ms),
        };
        AppKey { class, start_ms, order: app.spec.order, ..AppKey::default() }
    }

    fn on_change(&mut self, change: &Change, _view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        if let Change::Deadline(app) = change {
            reaction.rekey_app(*app);
        }
    }

    /// Each class breaks ties by the first app in the queue's own order. So a queue can only fall back while its apps
    /// are passed over in a heartbeat, and comparing first apps alone finds the right queue.
    fn group_key(&self, id: GroupId, group: &Group, pool: Pool, first: FirstApp) -> GroupKey {
        self.key_with(id, pool, group.held, first)
    }

    fn heartbeat_limits(&self, _kind: Kind, free: u32, _node: &Node, _totals: &Totals) -> HeartbeatLimits {
        HeartbeatLimits { limit: free, after_off_switch: None, only_app: None, skip_budget: SKIP_BUDGET }
    }

    fn set_allocations(&mut self, allocations: &[(GroupId, Allocation)]) -> Vec<GroupId> {
        self.round += 1;
        let (mut changed, round) = (Vec::new(), self.round);
        for &(group, allocation) in allocations {
            let sold = self.sold.entry(group).or_default();
            if sold.allocation != allocation {
                changed.push(group);
            }
            *sold = SoldToGroup { allocation, round };
        }
        if self.sold.len() > allocations.len() {
            self.sold.retain(|group, sold| {
                let is_sold = sold.round == round;
                if !is_sold {
                    changed.push(*group);
                }
                is_sold
            });
        }
        changed
    }

    fn allocation(&self, group: GroupId) -> Allocation {
        self.sold.get(&group).map(|sold| sold.allocation).unwrap_or_default()
    }

    fn claim(&self, group: GroupId) -> SlotClaim {
        let paid = self.allocation(group).paid().slots();
        SlotClaim { due: paid, kept: paid }
    }

    fn class_of(&self, key: &GroupKey) -> Option<OrderClass> {
        Some(match key.class {
            UNDER_QUOTA => OrderClass::UnderQuota,
            FUNDED => OrderClass::Funded,
            _ => OrderClass::Unfunded,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RICH: GroupId = GroupId::ROOT.next();
    const POOR: GroupId = RICH.next();
    const BROKE: GroupId = POOR.next();

    fn policy(rich_quota: u32, poor_quota: u32) -> Dynamic {
        let mut policy = Dynamic::default();
        let quota = |maps| PerPool::new(maps, 0, 0);
        policy.set_allocations(&[
            (RICH, Allocation { quota: quota(rich_quota), rate_units: 20 }),
            (POOR, Allocation { quota: quota(poor_quota), rate_units: 10 }),
        ]);
        policy
    }

    fn submitted(start_ms: i64, order: u64) -> FirstApp {
        FirstApp { key: AppKey { start_ms, order, ..AppKey::default() }, slots: 1 }
    }

    fn maps(held: u32) -> PerPool<u32> {
        PerPool::new(held, 0, 0)
    }

    #[test]
    fn too_little_is_left_where_neither_tasks_nor_containers_could_use_all_that_was_sold() {
        let allocation = Allocation { quota: PerPool::new(4, 2, 3), rate_units: 1 };
        for (left, expected) in [
            ((4, 2, 3), false),
            ((0, 0, 9), false),
            ((0, 0, 8), true),
            ((9, 9, 2), true),
            ((9, 1, 3), true),
            ((9, 1, 4), false),
        ] {
            let (map, reduce, container) = left;
            assert_eq!(allocation.sells_more_than(PerPool::new(map, reduce, container)), expected, "{left:?}");
        }
        assert!(!Allocation::default().sells_more_than(PerPool::default()));
    }

    #[test]
    fn under_quota_the_smallest_fill_comes_first() {
        let policy = policy(8, 4);
        let key = |group, running| policy.key_with(group, Pool::Map, maps(running), submitted(0, 0));
        assert!(key(POOR, 1) < key(RICH, 3));
        assert!(key(RICH, 1) < key(POOR, 1));
    }

    #[test]
    fn equal_fill_goes_by_submission_then_id() {
        let policy = policy(8, 4);
        let key = |group, running, first| policy.key_with(group, Pool::Map, maps(running), first);
        assert!(key(POOR, 2, submitted(5, 9)) < key(RICH, 4, submitted(6, 1)));
        assert!(key(POOR, 2, submitted(5, 1)) < key(RICH, 4, submitted(5, 2)));
    }

    #[test]
    fn at_quota_the_rate_decides_and_quota_before_it() {
        let policy = policy(8, 4);
        let key = |group, running| policy.key_with(group, Pool::Map, maps(running), submitted(0, 0));
        assert!(key(RICH, 8) < key(POOR, 4));
        assert!(key(RICH, 80) < key(POOR, 4));
        assert!(key(POOR, 3) < key(RICH, 8));
    }

    #[test]
    fn equal_rates_over_quota_go_by_submission_then_id() {
        let mut policy = Dynamic::default();
        let same = Allocation { rate_units: 7, ..Allocation::default() };
        policy.set_allocations(&[(RICH, same), (POOR, same)]);
        let key = |group, first| policy.key_with(group, Pool::Map, maps(0), first);
        assert!(key(POOR, submitted(3, 2)) < key(RICH, submitted(9, 1)));
        assert!(key(POOR, submitted(3, 1)) < key(RICH, submitted(3, 2)));
    }

    #[test]
    fn without_rate_a_queue_is_last_and_its_quota_void() {
        let mut policy = policy(0, 0);
        let unfunded = Allocation { quota: PerPool::new(5, 5, 0), ..Allocation::default() };
        policy.set_allocations(&[(RICH, unfunded), (POOR, Allocation { rate_units: 1, ..Allocation::default() })]);
        let key = |group| policy.key_with(group, Pool::Map, maps(0), submitted(0, 0));
        assert!(key(POOR) < key(RICH));
        assert_eq!(key(RICH), key(BROKE));
    }

    #[test]
    fn each_kind_has_its_own_quota() {
        let policy = policy(8, 4);
        let key = |pool| policy.key_with(RICH, pool, maps(0), submitted(0, 0)).class;
        assert_eq!((key(Pool::Map), key(Pool::Reduce)), (UNDER_QUOTA, FUNDED));
    }

    fn container_key(policy: &Dynamic, group: GroupId, held: PerPool<u32>, slots: u32) -> GroupKey {
        policy.key_with(group, Pool::Container, held, FirstApp { slots, ..submitted(0, 0) })
    }

    #[test]
    fn containers_may_have_what_maps_and_reduces_leave_of_all_that_is_bought() {
        let mut policy = Dynamic::default();
        let bought = Allocation { quota: PerPool::new(4, 2, 3), rate_units: 1 };
        policy.set_allocations(&[(RICH, bought)]);
        let class = |held: PerPool<u32>, slots| container_key(&policy, RICH, held, slots).class;
        // Q is 3 + (4 - maps) + (2 - reduces), and nothing is added for what is over a quota.
        for (held, most) in [((0, 0, 0), 9), ((1, 0, 0), 8), ((4, 2, 0), 3), ((9, 0, 0), 5), ((9, 9, 2), 1)] {
            let held = PerPool::new(held.0, held.1, held.2);
            assert_eq!((class(held, most), class(held, most + 1)), (UNDER_QUOTA, FUNDED), "{held:?}");
        }
    }

    #[test]
    fn under_quota_the_smallest_part_of_the_container_quota_comes_first() {
        let mut policy = Dynamic::default();
        let bought = |containers, rate_units| Allocation { quota: PerPool::new(0, 0, containers), rate_units };
        policy.set_allocations(&[(RICH, bought(8, 20)), (POOR, bought(4, 10))]);
        let key = |group, containers, slots| container_key(&policy, group, PerPool::new(0, 0, containers), slots);
        assert!(key(POOR, 1, 1) < key(RICH, 3, 1) && key(RICH, 1, 1) < key(POOR, 1, 1));
        assert!(key(POOR, 3, 1) < key(RICH, 7, 2), "a large one that does not fit within the quota waits");
        assert!(key(RICH, 8, 1) < key(POOR, 4, 1), "over quota the rate decides");
        assert!(key(POOR, 4, 1) < key(BROKE, 0, 1), "and who pays nothing is last");
    }
}

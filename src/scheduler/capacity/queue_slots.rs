//! Slots of one kind in one queue: its share, what its users hold, and which users a change lets run again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::Decimal;
use crate::scheduler::GroupId;

use super::{QueueSlotsDetail, SlotShare, SlotUsage, SlotVerdict, UserLimit};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AppHolding {
    pub(super) running_tasks: u32,
    /// Slots of these tasks and of nodes reserved for the app.
    pub(super) slots: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct UserRule {
    pub(super) minimum_percent: u32,
    pub(super) factor: Decimal,
}

/// What may be asked again, because a limit rose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Released {
    /// The queue has room again below its maximum.
    pub(super) queue: bool,
    pub(super) users: Vec<GroupId>,
    /// Tasks took different numbers of slots until now: apps may be parked one by one, and users will be from now on.
    pub(super) single_apps: bool,
}

#[derive(Debug)]
pub(super) struct QueueSlots {
    rule: UserRule,
    share: SlotShare,
    held: AppHolding,
    /// Users with an app in the queue. Iterated for a report only, which sorts them.
    users: FxHashMap<GroupId, UserSlots>,
    /// The same users by the slots that they hold.
    by_slots: BTreeSet<(u32, GroupId)>,
    /// Users with an app that has pending tasks.
    active_users: u32,
    /// Numbers of slots that a task of some app takes.
    sizes: BTreeMap<u32, TaskSize>,
    had_one_size: bool,
}

#[derive(Debug)]
struct UserSlots {
    name: Arc<str>,
    apps: u32,
    active_apps: u32,
    held: AppHolding,
}

/// Apps whose tasks take a number of slots, and what the limits were at the last look.
#[derive(Clone, Copy, Debug, Default)]
struct TaskSize {
    apps: u32,
    limit: u64,
    has_room: bool,
}

impl QueueSlots {
    pub(super) fn new(rule: UserRule, share: SlotShare) -> Self {
        Self {
            rule,
            share,
            held: AppHolding::default(),
            users: FxHashMap::default(),
            by_slots: BTreeSet::new(),
            active_users: 0,
            sizes: BTreeMap::new(),
            had_one_size: true,
        }
    }

    pub(super) fn share(&self) -> SlotShare {
        self.share
    }

    pub(super) fn occupied(&self) -> u32 {
        self.held.slots
    }

    pub(super) fn set_rule(&mut self, rule: UserRule) {
        self.rule = rule;
    }

    pub(super) fn set_share(&mut self, share: SlotShare) {
        self.share = share;
    }

    pub(super) fn add_app(&mut self, user: GroupId, name: &Arc<str>, slots_per_task: u32) {
        let entry = self.users.entry(user).or_insert_with(|| UserSlots {
            name: Arc::clone(name),
            apps: 0,
            active_apps: 0,
            held: AppHolding::default(),
        });
        entry.apps += 1;
        self.by_slots.insert((entry.held.slots, user));
        self.sizes.entry(slots_per_task).or_default().apps += 1;
    }

    pub(super) fn remove_app(&mut self, user: GroupId, slots_per_task: u32) {
        if let Some(size) = self.sizes.get_mut(&slots_per_task) {
            size.apps = size.apps.saturating_sub(1);
            if size.apps == 0 {
                self.sizes.remove(&slots_per_task);
            }
        }
        let Some(entry) = self.users.get_mut(&user) else { return };
        entry.apps = entry.apps.saturating_sub(1);
        if entry.apps == 0 {
            self.by_slots.remove(&(entry.held.slots, user));
            self.users.remove(&user);
        }
    }

    pub(super) fn change_holding(&mut self, user: GroupId, before: AppHolding, after: AppHolding) {
        let Some(entry) = self.users.get_mut(&user) else { return };
        self.by_slots.remove(&(entry.held.slots, user));
        entry.held.replace(before, after);
        self.by_slots.insert((entry.held.slots, user));
        self.held.replace(before, after);
    }

    pub(super) fn set_active(&mut self, user: GroupId, is_active: bool) {
        let Some(entry) = self.users.get_mut(&user) else { return };
        let was_active = entry.active_apps > 0;
        entry.active_apps = if is_active { entry.active_apps + 1 } else { entry.active_apps.saturating_sub(1) };
        match (was_active, entry.active_apps > 0) {
            (false, true) => self.active_users += 1,
            (true, false) => self.active_users = self.active_users.saturating_sub(1),
            _ => {}
        }
    }

    pub(super) fn verdict(&self, user: GroupId, slots_per_task: u32) -> SlotVerdict {
        self.user_limit().verdict(self.occupied_by(user), slots_per_task)
    }

    /// Whether the queue is at its maximum for every task.
    pub(super) fn is_full(&self) -> bool {
        !self.share.has_room(self.held.slots, 1)
    }

    /// Whether tasks of all apps take the same number of slots, so that a limit on one of a user's apps is one on all.
    pub(super) fn has_one_size(&self) -> bool {
        self.sizes.len() <= 1
    }

    /// Compares the limits with those of the last call. To be called after each change.
    pub(super) fn release(&mut self) -> Released {
        let has_one_size = self.has_one_size();
        let had_one_size = std::mem::replace(&mut self.had_one_size, has_one_size);
        let mut released = Released { single_apps: self.had_one_size && !had_one_size, ..Released::default() };
        let limit = self.user_limit();
        for (&slots, size) in &mut self.sizes {
            let now = limit.slots(slots);
            let has_room = self.share.has_room(self.held.slots, slots);
            released.queue |= has_room && !size.has_room;
            // Users that one more task took beyond the old limit and that it keeps within the new one.
            let first_beyond = |limit: u64| {
                let held = (limit + 1).saturating_sub(u64::from(slots));
                (u32::try_from(held).unwrap_or(u32::MAX), GroupId::ROOT)
            };
            if now > size.limit {
                let users = self.by_slots.range(first_beyond(size.limit)..first_beyond(now));
                released.users.extend(users.map(|(_, user)| *user));
            }
            (size.limit, size.has_room) = (now, has_room);
        }
        released
    }

    pub(super) fn usage(&self) -> SlotUsage {
        let by_user = self.users.values().map(|user| (Arc::clone(&user.name), user.held.slots));
        SlotUsage { running_tasks: self.held.running_tasks, occupied: self.held.slots, by_user: by_user.collect() }
    }

    pub(super) fn occupied_by(&self, user: GroupId) -> u32 {
        self.users.get(&user).map_or(0, |user| user.held.slots)
    }

    pub(super) fn detail(&self) -> QueueSlotsDetail {
        QueueSlotsDetail {
            share: self.share,
            usage: self.usage(),
            active_users: self.active_users,
            user_limit: self.user_limit().slots(1),
        }
    }

    fn user_limit(&self) -> UserLimit {
        UserLimit {
            share: self.share,
            occupied: self.held.slots,
            active_users: self.active_users,
            minimum_percent: self.rule.minimum_percent,
            factor: self.rule.factor,
        }
    }
}

impl AppHolding {
    fn replace(&mut self, before: AppHolding, after: AppHolding) {
        let replaced = |sum: u32, before: u32, after: u32| sum.saturating_sub(before).saturating_add(after);
        self.running_tasks = replaced(self.running_tasks, before.running_tasks, after.running_tasks);
        self.slots = replaced(self.slots, before.slots, after.slots);
    }
}

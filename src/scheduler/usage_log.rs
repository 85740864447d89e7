//! The log of changes of usage, for accounts that charge by time: its reader knows when they happened.

use crate::model::{Kind, PerKind, PerPool, Pool, TrackerId};

use super::group::Group;
use super::usage_change::UsageChange;
use super::{AppId, GroupId, Scheduler};

impl Scheduler {
    /// Logs changes of usage from now on, for a caller that takes them after each of its steps.
    pub(crate) fn log_usage(&mut self) {
        self.usage_log.get_or_insert_default();
    }

    /// Takes the changes since the last call, and an empty buffer in exchange.
    pub(crate) fn take_usage_changes(&mut self, buffer: &mut Vec<UsageChange>) {
        if let Some(log) = &mut self.usage_log {
            buffer.clear();
            std::mem::swap(log, buffer);
        }
    }

    pub(crate) fn has_usage_changes(&self) -> bool {
        self.usage_log.as_ref().is_some_and(|log| !log.is_empty())
    }

    /// A setup or cleanup of an app takes slots, charged to no app and no group.
    pub(crate) fn begin_housekeeping(
        &mut self,
        app: AppId,
        node: TrackerId,
        kind: Kind,
        slots: u32,
        launch_mono_ms: u64,
    ) {
        self.occupy_slots(node, kind, slots);
        self.note_usage(UsageChange::HousekeepingBegun { app, launch_mono_ms });
    }

    /// A setup or cleanup that was launched then has released its slots.
    pub(crate) fn end_housekeeping(
        &mut self,
        app: AppId,
        node: TrackerId,
        kind: Kind,
        slots: u32,
        launch_mono_ms: u64,
    ) {
        self.release_slots(node, kind, slots);
        self.note_usage(UsageChange::HousekeepingEnded { app, launch_mono_ms });
    }

    /// A task-cleanup of an app takes a slot, charged to no app and no group, and soon releases it.
    pub(crate) fn begin_task_cleanup(&mut self, app: AppId, node: TrackerId, kind: Kind, launch_mono_ms: u64) {
        self.start_task_cleanup(node, kind);
        self.note_usage(UsageChange::HousekeepingBegun { app, launch_mono_ms });
    }

    /// A task-cleanup that was launched then has released its slot.
    pub(crate) fn finish_task_cleanup(&mut self, app: AppId, node: TrackerId, kind: Kind, launch_mono_ms: u64) {
        self.end_task_cleanup(node, kind);
        self.note_usage(UsageChange::HousekeepingEnded { app, launch_mono_ms });
    }

    pub(super) fn note_held(&mut self, app: AppId, pool: Pool, slots: i64) {
        self.note_usage(UsageChange::Held { app, pool, slots });
        if slots < 0
            && let Some(group) = self.group_of(app)
        {
            self.note_left(group, PerKind::default());
        }
    }

    /// What runs in a group has ended, or what waited was held, killed or asked for no more; `gone` of its tasks are counted
    /// still.
    pub(super) fn note_left(&mut self, group: GroupId, gone: PerKind<u32>) {
        let Some(sums) = self.groups.get(group).filter(|_| self.usage_log.is_some()).map(Group::sums) else { return };
        let of_kind = |kind: Kind| {
            u64::from(sums.held[kind]).saturating_add(sums.pending[kind]).saturating_sub(gone[kind].into())
        };
        let of_containers = u64::from(sums.held.container).saturating_add(sums.waiting.container);
        let left = PerPool::new(of_kind(Kind::Map), of_kind(Kind::Reduce), of_containers);
        if self.policy.allocation(group).sells_more_than(left) {
            self.note_usage(UsageChange::TooLittleLeft { group });
        }
    }

    fn note_usage(&mut self, change: UsageChange) {
        if let Some(log) = &mut self.usage_log {
            log.push(change);
        }
    }

    /// Slots of all pools that an app holds.
    pub(crate) fn app_held(&self, id: AppId) -> PerPool<u32> {
        self.apps.get(&id).map_or(PerPool::default(), |app| app.held)
    }
}

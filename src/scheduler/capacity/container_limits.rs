//! Limits of queues and users on containers: what their maps and reduces leave of their parts of all slots.

use crate::scheduler::change::Reaction;
use crate::scheduler::policy::{PolicyView, Verdict};
use crate::scheduler::{AppId, GroupId, Level};

use super::live_queue::{LiveApp, sum};
use super::policy::Capacity;
use super::{SlotVerdict, UserLimit};

impl Capacity {
    pub(super) fn count_container_user(&mut self, id: AppId, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        let Some(live) = self.apps.get(&id) else { return };
        let Some(queue) = self.queues.get_mut(&live.queue) else { return };
        let waits = view.group(live.user).is_some_and(|user| user.waiting.container > 0);
        let has_changed = match waits {
            true => queue.container_users.insert(live.user),
            false => queue.container_users.remove(&live.user),
        };
        if has_changed {
            reaction.wake_containers_below(live.queue);
        }
    }

    /// Wakes what limits on containers may let have more after the usage of an app changed: those of the queue's other
    /// users grow with it, while the queue is above its capacity. The app may be over, and still hold slots.
    pub(super) fn release_containers(&self, id: AppId, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        let Some(app) = view.app(id) else { return };
        if view.group(app.spec.group).is_some_and(|queue| queue.waiting.container > 0) {
            reaction.wake_containers_below(app.spec.group);
        }
    }

    fn container_limit(&self, live: &LiveApp, view: &PolicyView<'_>) -> Option<UserLimit> {
        let held = view.group(live.queue).map(|group| group.held)?;
        Some(self.queues.get(&live.queue)?.container_limit(held))
    }

    pub(super) fn container_verdict(&self, id: AppId, slots: u32, view: &PolicyView<'_>) -> Verdict {
        let Some(live) = self.apps.get(&id) else { return Verdict::NotOnThisNode };
        let Some(limit) = self.container_limit(live, view) else { return Verdict::NotOnThisNode };
        let by_user = held_by(live.user, view);
        match limit.verdict(by_user, slots) {
            SlotVerdict::Allowed => Verdict::Ask(Level::Any),
            // A smaller container of another application may be within the limit.
            SlotVerdict::QueueAtMaximum { .. } if !limit.share.has_room(limit.occupied, 1) => {
                Verdict::ParkGroup(live.queue)
            }
            SlotVerdict::UserAtLimit { .. } if limit.is_exhausted(by_user) => Verdict::ParkGroup(live.user),
            SlotVerdict::QueueAtMaximum { .. } | SlotVerdict::UserAtLimit { .. } => Verdict::ParkApp,
        }
    }
}

/// Slots of all pools that a user holds.
fn held_by(user: GroupId, view: &PolicyView<'_>) -> u32 {
    view.group(user).map_or(0, |group| sum(group.held))
}

//! Whether the policy lets an application have a container: limits of queues, pools, users and deadlines.

use crate::model::TrackerId;
use crate::scheduler::verdict::Verdict;
use crate::scheduler::view::View;
use crate::scheduler::{AppId, Scheduler};

use super::RequestType;
use super::offered_container::OfferedContainer;

// === impl Scheduler ===

impl Scheduler {
    /// What the policy says to a container of an application on a node.
    pub(super) fn review_container(&self, id: AppId, node: TrackerId, request: &RequestType) -> Verdict {
        let Self { policy, groups, apps, nodes, totals, containers, .. } = self;
        let Some((app, node)) = apps.get(&id).zip(nodes.get(&node)) else { return Verdict::NotOnThisNode };
        let (slots, slot) = (request.capability.slots(containers.slot), containers.slot);
        let offered = OfferedContainer { slots, blocks: node.blocked_by(request.capability, slot) };
        policy.review_container(app, &offered, &View { groups, totals, apps, nodes })
    }

    /// Whether a limit of the policy keeps an application from the next container that it wants, on every node.
    pub fn is_container_limited(&self, id: AppId) -> bool {
        let Self { policy, groups, apps, nodes, totals, .. } = self;
        let Some(app) = apps.get(&id) else { return false };
        let Some(demand) = app.containers.as_ref().filter(|demand| demand.waiting() > 0) else { return false };
        let offered = OfferedContainer { slots: demand.slots_of_next(), blocks: 0 };
        let view = View { groups, totals, apps, nodes };
        !matches!(policy.review_container(app, &offered, &view), Verdict::Ask(_))
    }
}

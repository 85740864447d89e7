//! Whether the policy lets an application have a container: limits of queues, pools, users and deadlines.

use crate::model::TrackerId;
use crate::scheduler::verdict::Verdict;
use crate::scheduler::view::View;
use crate::scheduler::{AppId, Scheduler};

use super::RequestType;
use super::offered_container::OfferedContainer;

impl Scheduler {
    /// What the policy says to a container of an application on a node.
    pub(super) fn review_container(&self, id: AppId, node: TrackerId, request: &RequestType) -> Verdict {
        let Self { policy, groups, apps, nodes, totals, containers, .. } = self;
        let Some((app, node)) = apps.get(&id).zip(nodes.get(&node)) else { return Verdict::NotOnThisNode };
        let (slots, slot) = (request.capability.slots(containers.slot), containers.slot);
        let offered = OfferedContainer::new(slots, node.blocked_by(request.capability, slot));
        policy.review_container(app, &offered, &View { groups, totals, apps, nodes })
    }

    /// Whether a limit of the policy keeps an application from a container of a type, on every node.
    pub(crate) fn is_container_limited(&self, id: AppId, request: &RequestType) -> bool {
        let Self { policy, groups, apps, nodes, totals, containers, .. } = self;
        let Some(app) = apps.get(&id) else { return false };
        let offered = OfferedContainer::new(request.capability.slots(containers.slot), 0);
        let view = View { groups, totals, apps, nodes };
        !matches!(policy.review_container(app, &offered, &view), Verdict::Ask(_))
    }

    /// Whether limits let an application have some type that could be granted, on nodes that its rows allow.
    pub(super) fn has_permitted_type(&self, id: AppId) -> bool {
        let is_permitted = |(request, _): &(RequestType, u32)| !self.is_container_limited(id, request);
        self.grantable_containers(id).iter().any(is_permitted)
    }
}

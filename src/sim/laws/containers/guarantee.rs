//! Law 3 for containers: a round of preemption leaves none beyond a quota in its place where a queue within its own waits
//! for one that would have room then.

use crate::engine::Engine;
use crate::model::{Capability, Kind, TrackerId};
use crate::scheduler::{AppId, GroupId};
use crate::sim::laws::law::Law;

use super::request_book::Site;
use super::victims::{ContainerCandidate, ContainerRound, quota_of};
use super::{ContainerBooks, Judged, OfferedNode, RequestType, refuse};

/// Rounds may leave applications of a queue out that come after so many others.
const CONSIDERED: usize = 16;

impl ContainerBooks {
    /// Checks a node on which a round took `victims` and left `staying` beyond their quotas. Judges what is certain: rows
    /// that know no delay, and queues that got nothing from the round or after it.
    pub(super) fn check_guarantee<'a>(
        &self,
        node: TrackerId,
        victims: &[&ContainerCandidate],
        staying: impl Iterator<Item = &'a ContainerCandidate>,
        round: &ContainerRound,
        engine: &Engine,
    ) -> Judged {
        let inspection = engine.inspect();
        let scheduler = inspection.scheduler();
        let reserved = scheduler.reservation_on(node).map(|(app, _)| scheduler.group_of(app));
        let is_as_before = reserved.is_some() == self.kept.reserved.contains(&node);
        let takes = round.at_work.contains(&node) && scheduler.takes_containers(node) && is_as_before;
        // Setups that were placed on free slots are earmarked nowhere.
        if !takes || !inspection.housekeeping().setup.is_empty() {
            return Ok(());
        }
        let left = self.room_after(node, round, victims, engine).and_then(|room| beside_earmarks(room, node, engine));
        let (Some((memory_mb, vcores)), Some(info)) = (left, inspection.nodes().get(node)) else { return Ok(()) };
        let topology = scheduler.topology();
        let site = Site { host: topology.host_name(info.host), rack: topology.rack_name(info.rack) };
        let narrow = |amount: u64| u32::try_from(amount).unwrap_or(u32::MAX);
        // What is beyond a quota is taken for others also where more of its queue waits for the node.
        for one in staying.filter(|one| reserved.is_none_or(|group| group == scheduler.group(&one.queue))) {
            let memory_mb = narrow(memory_mb + u64::from(one.room.memory_mb));
            // Cores that only slots stand for are no container's.
            let of_slots = scheduler.cores_of_slots_alone(node).into();
            let free =
                Capability::new(memory_mb, narrow((vcores + u64::from(one.room.vcores)).saturating_sub(of_slots)));
            let room = OfferedNode { tracker: &info.name, host: site.host, declared: free, free, free_slots: 0 };
            let short = self.applications.iter().find_map(|(id, book)| {
                let (app, request) = (inspection.app_of(*id)?, book.waits_for(site, room)?);
                let has_grant = self.granted.iter().any(|container| container.id.application == *id);
                let is_owed = !has_grant && self.is_owed(app, request, &book.submitted.queue, engine);
                (is_owed && scheduler.could_place(app, request, node)).then_some((id, request))
            });
            if let Some((id, request)) = short {
                let text = format!("{id} waits for {request} within its quota, and {one:?} stays");
                return refuse(Law::Guarantee, text);
            }
        }
        Ok(())
    }

    /// Whether a queue stays within its quota with a container, and the round has found it nothing and taken nothing from
    /// it.
    fn is_owed(&self, app: AppId, request: &RequestType, queue: &str, engine: &Engine) -> bool {
        let scheduler = engine.inspect().scheduler();
        let Some(group) = scheduler.group_of(app) else { return false };
        let waiting = scheduler.waiting(group);
        let is_of_queue = |book: &&super::ApplicationBook| *book.submitted.queue == *queue;
        let has_lost = self.preempted.iter().filter_map(|id| self.applications.get(&id.application));
        let has_lost = has_lost.filter(is_of_queue).count() > 0;
        let applications = self.applications.values().filter(is_of_queue).count();
        applications <= CONSIDERED
            && !has_lost
            && Kind::ALL.into_iter().all(|kind| waiting[kind] == 0)
            && !has_earmark(group, engine)
            && self.held_by(queue) + request.capability.slots(self.slot) <= quota_of(group, engine)
    }
}

/// Memory, MB, and cores that what is earmarked on a node leaves; none: more is earmarked than is there.
fn beside_earmarks(room: (u64, u64), node: TrackerId, engine: &Engine) -> Option<(u64, u64)> {
    let mut earmarks = engine.inspect().scheduler().earmarks_on(node).iter();
    earmarks.try_fold(room, |(memory_mb, vcores), earmark| {
        let memory_mb = memory_mb.checked_sub(earmark.room.memory_mb.into())?;
        Some((memory_mb, vcores.checked_sub(earmark.room.vcores.into())?))
    })
}

/// Whether the round has found room for a queue.
fn has_earmark(group: GroupId, engine: &Engine) -> bool {
    let inspection = engine.inspect();
    let scheduler = inspection.scheduler();
    let mut earmarks = inspection.trackers().flat_map(|node| scheduler.earmarks_on(node));
    earmarks.any(|earmark| scheduler.group_of(earmark.app) == Some(group))
}

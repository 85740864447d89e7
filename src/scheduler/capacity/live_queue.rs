//! A queue that is open: its settings, its slots and its jobs.

use crate::model::{Kind, PerKind};
use crate::scheduler::AppSpec;

use super::queue_slots::{QueueSlots, UserRule};
use super::{CapacityQueue, JobLists, JobRank, KindReport, QueueDetail, QueueReport};

#[derive(Debug)]
pub(super) struct LiveQueue {
    settings: CapacityQueue,
    /// Its place in `mapred.queue.names`, which breaks the first ties.
    pub(super) rank: i64,
    pub(super) slots: PerKind<QueueSlots>,
    pub(super) jobs: JobLists,
}

// === impl LiveQueue ===

impl LiveQueue {
    pub(super) fn new(settings: CapacityQueue, rank: i64, cluster_slots: PerKind<u64>) -> Self {
        let rule = rule(&settings);
        let slots = |kind: Kind| QueueSlots::new(rule, settings.slot_share(cluster_slots[kind]));
        let slots = PerKind::new(slots(Kind::Map), slots(Kind::Reduce));
        let jobs = JobLists::new(*settings.job_limits());
        Self { settings, rank, slots, jobs }
    }

    pub(super) fn set_cluster_slots(&mut self, cluster_slots: PerKind<u64>) {
        for kind in Kind::ALL {
            self.slots[kind].set_share(self.settings.slot_share(cluster_slots[kind]));
        }
    }

    pub(super) fn settings(&self) -> &CapacityQueue {
        &self.settings
    }

    /// The place of an app among its jobs.
    pub(super) fn rank_of(&self, app: &AppSpec) -> JobRank {
        JobRank::new(self.settings.supports_priority(), app.priority, app.start_ms, app.order)
    }

    /// Its numbers at this moment, for pages.
    pub(super) fn detail(&self) -> QueueDetail {
        QueueDetail {
            settings: self.settings.clone(),
            slots: PerKind::new(self.slots.map.detail(), self.slots.reduce.detail()),
            jobs: self.jobs.counts(),
            users: self.jobs.users(),
            active_tasks: self.jobs.active_tasks(),
        }
    }

    /// Its scheduling information.
    pub(super) fn report(&self) -> String {
        let usage = PerKind::new(self.slots.map.usage(), self.slots.reduce.usage());
        let kind = |kind: Kind| KindReport { share: self.slots[kind].share(), usage: &usage[kind] };
        let slots = PerKind::new(kind(Kind::Map), kind(Kind::Reduce));
        let (jobs, users) = (self.jobs.counts(), self.jobs.users());
        QueueReport { queue: &self.settings, slots, jobs, users }.to_string()
    }
}

fn rule(settings: &CapacityQueue) -> UserRule {
    UserRule { minimum_percent: settings.minimum_user_limit_percent(), factor: settings.user_limit_factor() }
}

//! A queue that is open: its settings, its slots and its jobs.

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use crate::model::{Kind, PerKind, PerPool, Pool};
use crate::scheduler::app::App;
use crate::scheduler::key::Ratio;
use crate::scheduler::node::Totals;
use crate::scheduler::policy::{Hold, LocalityEnd, PolicyView};
use crate::scheduler::{AppSpec, GroupId, Level};

use super::queue_slots::{AppHolding, QueueSlots, UserRule};
use super::{
    CapacityQueue, JobLists, JobRank, KindReport, MissedOpportunities, QueueDetail, QueueReport, SlotShare,
    SlotVerdict, UserLimit, WaitFactor,
};

#[derive(Debug)]
pub(super) struct LiveQueue {
    settings: CapacityQueue,
    /// Its place in `mapred.queue.names`, which breaks the first ties.
    pub(super) rank: i64,
    pub(super) slots: PerKind<QueueSlots>,
    pub(super) jobs: JobLists,
    /// Its slots of both kinds together with those that nodes have for containers beside them: all that it may hold by
    /// maps, reduces and containers while it wants containers.
    all_slots: SlotShare,
    /// The slots of the cluster that its percentage is of, those for containers as in `all_slots`.
    cluster_slots: PerPool<u64>,
    pub(super) container_users: BTreeSet<GroupId>,
}

impl LiveQueue {
    pub(super) fn new(settings: CapacityQueue, rank: i64, totals: &Totals) -> Self {
        let rule = rule(&settings);
        let slots = |kind: Kind| QueueSlots::new(rule, settings.slot_share(totals.slots[kind]));
        let slots = PerKind::new(slots(Kind::Map), slots(Kind::Reduce));
        let jobs = JobLists::new(*settings.job_limits());
        let all_slots = settings.slot_share(totals.all_slots());
        let cluster_slots = cluster_slots(totals);
        Self { settings, rank, slots, jobs, all_slots, cluster_slots, container_users: BTreeSet::new() }
    }

    /// Replaces the settings after a reload; whether priorities count stays. Slots follow by [`Self::set_cluster_slots`].
    pub(super) fn set_settings(&mut self, settings: CapacityQueue) {
        let supports_priority = self.settings.supports_priority();
        Kind::ALL.into_iter().for_each(|kind| self.slots[kind].set_rule(rule(&settings)));
        self.jobs.set_limits(*settings.job_limits());
        self.settings = CapacityQueue { supports_priority, ..settings };
    }

    pub(super) fn set_cluster_slots(&mut self, totals: &Totals) {
        for kind in Kind::ALL {
            self.slots[kind].set_share(self.settings.slot_share(totals.slots[kind]));
        }
        self.all_slots = self.settings.slot_share(totals.all_slots());
        self.cluster_slots = cluster_slots(totals);
    }

    pub(super) fn slot_limit(&self, live: &LiveApp, kind: Kind) -> Option<Hold> {
        let slots = &self.slots[kind];
        match slots.verdict(live.user, live.slots_per_task[kind]) {
            SlotVerdict::Allowed => None,
            SlotVerdict::QueueAtMaximum { maximum } => {
                let group = self.settings().name().to_owned();
                Some(Hold::GroupMaximum { kind, group, maximum, held: slots.occupied() })
            }
            SlotVerdict::UserAtLimit { limit } => {
                Some(Hold::UserLimit { kind, limit, held: slots.occupied_by(live.user) })
            }
        }
    }

    /// What it holds of its part of the slots, whole slots or not, by which queues are sorted. One without a part counts as full.
    pub(super) fn fill(&self, pool: Pool, occupied: u32) -> Ratio {
        let percent_millionths = self.settings.capacity().times(1_000_000);
        let whole = NonZeroU64::new(percent_millionths.saturating_mul(self.cluster_slots[pool]));
        match whole {
            Some(whole) => Ratio::new(u64::from(occupied) * 100_000_000, whole),
            None => Ratio::new(1, NonZeroU64::MIN),
        }
    }

    /// The limit of one user on maps, reduces and containers together, where the queue holds so much.
    pub(super) fn container_limit(&self, held: PerPool<u32>) -> UserLimit {
        let UserRule { minimum_percent, factor } = rule(&self.settings);
        UserLimit {
            share: self.all_slots,
            occupied: sum(held),
            active_users: u32::try_from(self.container_users.len()).unwrap_or(u32::MAX),
            minimum_percent,
            factor,
        }
    }

    pub(super) fn settings(&self) -> &CapacityQueue {
        &self.settings
    }

    pub(super) fn rank_of(&self, app: &AppSpec) -> JobRank {
        JobRank::new(self.settings.supports_priority(), app.priority, app.start_ms, app.order)
    }

    pub(super) fn detail(&self) -> QueueDetail {
        QueueDetail {
            settings: self.settings.clone(),
            slots: PerKind::new(self.slots.map.detail(), self.slots.reduce.detail()),
            jobs: self.jobs.counts(),
            users: self.jobs.users(),
            active_tasks: self.jobs.active_tasks(),
        }
    }

    pub(super) fn report(&self) -> String {
        let usage = PerKind::new(self.slots.map.usage(), self.slots.reduce.usage());
        let kind = |kind: Kind| KindReport { share: self.slots[kind].share(), usage: &usage[kind] };
        let slots = PerKind::new(kind(Kind::Map), kind(Kind::Reduce));
        let (jobs, users) = (self.jobs.counts(), self.jobs.users());
        QueueReport { queue: &self.settings, slots, jobs, users }.to_string()
    }
}

fn cluster_slots(totals: &Totals) -> PerPool<u64> {
    let PerKind { map, reduce } = totals.slots;
    PerPool::new(map, reduce, totals.all_slots())
}

pub(super) fn sum(held: PerPool<u32>) -> u32 {
    held.map.saturating_add(held.reduce).saturating_add(held.container)
}

fn rule(settings: &CapacityQueue) -> UserRule {
    UserRule { minimum_percent: settings.minimum_user_limit_percent(), factor: settings.user_limit_factor() }
}

#[derive(Debug)]
pub(super) struct LiveApp {
    pub(super) queue: GroupId,
    /// The part of the queue that belongs to its user.
    pub(super) user: GroupId,
    pub(super) slots_per_task: PerKind<u32>,
    pub(super) holding: PerKind<AppHolding>,
    /// Reservations that this heartbeat turned into tasks; they count until it ends.
    pub(super) used_reservations: PerKind<u32>,
    pub(super) is_active: PerKind<bool>,
    pub(super) unfinished_maps: u32,
    pub(super) wait: MissedOpportunities,
    /// Hosts with a tracker when it began; none where it had begun before this policy.
    pub(super) cluster_hosts: Option<u64>,
    /// Most distinct hosts that held the input of its maps, until it was asked for one.
    pub(super) split_hosts: u64,
    /// Fixed when it is first asked for a map.
    pub(super) wait_factor: Option<WaitFactor>,
}

impl LiveApp {
    /// The part of the cluster's hosts that must have passed it over before it gets a far map.
    pub(super) fn wait_factor(&self, app: &App, view: &PolicyView<'_>) -> WaitFactor {
        let cluster_hosts = self.cluster_hosts.unwrap_or(view.totals.hosts);
        let computed = || WaitFactor::new(app.locality_wait_millionths, self.split_hosts, cluster_hosts);
        self.wait_factor.unwrap_or_else(computed)
    }

    pub(super) fn far_wait(&self, app: &App, view: &PolicyView<'_>) -> Option<Hold> {
        let waits = app.tables.map.waiting() > 0 && self.slots_per_task.map == 1;
        let trackers = view.totals.nodes;
        let left = self.wait.opportunities_left(self.unfinished_maps, trackers, self.wait_factor(app, view));
        let hold = Hold::Locality { farthest: Level::Rack, until: LocalityEnd::AfterOffers(left) };
        (waits && left > 0).then_some(hold)
    }
}

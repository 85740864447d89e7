//! Apps with their demand and usage.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::model::{Kind, PerKind, PerPool, Pool, TrackerId};

use super::constraint::AppDeadline;
use super::container::demand::ContainerDemand;
use super::key::AppKey;
use super::slot_table::SlotTable;
use super::task_nodes::TaskNeeds;
use super::{AppId, GroupId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppSpec {
    pub id: AppId,
    pub group: GroupId,
    /// Its user; some policies limit what one user gets.
    pub user: Arc<str>,
    /// 0 (`VERY_HIGH`) to 4 (`VERY_LOW`), as Hadoop 1.2.1 `JobPriority` numbers them.
    pub priority: u8,
    /// When it was submitted, wall clock, milliseconds.
    pub start_ms: i64,
    /// Sequence of submission: breaks every tie.
    pub order: u64,
    /// Slots that each task granted from now on holds. More than one only where the policy sizes slots by memory.
    pub slots_per_task: PerKind<NonZeroU32>,
}

/// How large a running app is; zero before its start and after its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppSize {
    /// All its tasks, finished ones included (Hadoop 1.2.1 `JobInProgress.desiredMaps`); zero once its end is decided.
    pub tasks: PerKind<u32>,
    /// Its tasks that may run and are not done, running or not, and those that were given up.
    pub unfinished: PerKind<u32>,
    /// Its tasks that are neither done nor given up.
    pub left: PerKind<u32>,
}

#[derive(Debug)]
pub(super) struct App {
    pub(super) spec: AppSpec,
    /// The group whose sums count it, with all above it.
    pub(super) home: GroupId,
    /// The group in which it is ordered: its home, or the root.
    pub(super) leaf: GroupId,
    /// The key under which it stands in the order; none while it does not.
    pub(super) ordered_by: PerPool<Option<AppKey>>,
    pub(super) is_parked: PerPool<bool>,
    pub(super) reserved_nodes: PerKind<BTreeSet<TrackerId>>,
    pub(super) tables: PerKind<SlotTable>,
    /// What it asks for in containers and holds; none in jobs.
    pub(super) containers: Option<Box<ContainerDemand>>,
    /// Attempts that hold slots, and containers.
    pub(super) running: PerPool<u32>,
    /// Slots that they hold; those of a container are its dominant part.
    pub(super) held: PerPool<u32>,
    pub(super) releasing: PerPool<u32>,
    /// Most attempts at a time; none = no limit. Only the Fair scheduler keeps it.
    pub(super) max_running: PerKind<Option<u32>>,
    /// Its deadline; only the constraint scheduler keeps it.
    pub(super) deadline: Option<AppDeadline>,
    /// As last set, for a policy that takes over.
    pub(super) size: AppSize,
    /// Part of the trackers that pass it over before it gets a far map, millionths, as its job is configured.
    pub(super) locality_wait_millionths: u64,
    /// Tasks neither done nor running.
    pub(super) pending: PerKind<u32>,
    pub(super) awaits_setup: bool,
    pub(super) needs: TaskNeeds,
    /// Whether no node that is there could run it, as last worked out; never in compatible mode.
    pub(super) is_stuck: bool,
    /// Whether it is granted nothing for now: its demand counts in no sum.
    pub(super) is_paused: bool,
    pub(super) begins_once_resumed: bool,
    /// Removed by the caller; kept until its last attempt has released its slot, so that sums stay correct.
    pub(super) draining: bool,
    /// Removed, but asked and counted on until its job is over, as [`Policy::keeps_removed_apps`] demands.
    ///
    /// [`Policy::keeps_removed_apps`]: super::policy::Policy::keeps_removed_apps
    pub(super) is_kept: bool,
}

impl AppSpec {
    pub const ONE_SLOT: PerKind<NonZeroU32> = PerKind::new(NonZeroU32::MIN, NonZeroU32::MIN);

    #[cfg(test)]
    pub(super) fn plain(id: AppId, group: GroupId) -> Self {
        Self { id, group, user: "u".into(), priority: 2, start_ms: 0, order: 0, slots_per_task: Self::ONE_SLOT }
    }
}

impl App {
    /// The wait of a job that configures none: the policy decides by where the input is.
    const DEFAULT_LOCALITY_WAIT: u64 = 1_000_000;

    pub(super) fn new(spec: AppSpec) -> Self {
        let (home, leaf) = (spec.group, spec.group);
        Self {
            spec,
            home,
            leaf,
            ordered_by: PerPool::default(),
            is_parked: PerPool::default(),
            reserved_nodes: PerKind::default(),
            tables: PerKind::default(),
            containers: None,
            running: PerPool::default(),
            held: PerPool::default(),
            releasing: PerPool::default(),
            max_running: PerKind::default(),
            deadline: None,
            size: AppSize::default(),
            locality_wait_millionths: Self::DEFAULT_LOCALITY_WAIT,
            pending: PerKind::default(),
            awaits_setup: true,
            needs: TaskNeeds::default(),
            is_stuck: false,
            is_paused: false,
            begins_once_resumed: false,
            draining: false,
            is_kept: false,
        }
    }

    pub(super) fn slots_per_task(&self, kind: Kind) -> u32 {
        self.spec.slots_per_task[kind].get()
    }

    /// Tasks that wait for a slot of a pool, or containers that may be granted at once; none while it is paused.
    pub(super) fn waiting(&self, pool: Pool) -> u64 {
        match pool.kind() {
            Some(_) if self.is_paused => 0,
            Some(kind) => self.tables[kind].waiting().into(),
            None => self.containers.as_ref().map_or(0, |demand| demand.waiting()),
        }
    }

    /// Tasks neither done nor running that are to run; none while it is paused.
    pub(super) fn wanted_later(&self, kind: Kind) -> u32 {
        if self.is_paused { 0 } else { self.pending[kind] }
    }

    pub(super) fn slots_of_next(&self, pool: Pool) -> u32 {
        match pool.kind() {
            Some(kind) => self.slots_per_task(kind),
            None => self.containers.as_ref().map_or(0, |demand| demand.slots_of_next()),
        }
    }

    /// Whether its tasks may run, or could if its end were not decided.
    pub(super) fn is_running(&self) -> bool {
        (!self.draining || self.is_kept) && self.size != AppSize::default()
    }

    /// Whether it has tasks that may not run before it is set up, which waits for a slot.
    pub(super) fn is_preparing(&self) -> bool {
        !self.draining && !self.is_paused && self.awaits_setup && self.pending != PerKind::default()
    }

    pub(super) fn is_drained(&self) -> bool {
        self.draining && !self.is_kept && self.running == PerPool::default()
    }
}

//! How many tasks a heartbeat may give, and which kind of slot it serves next (1.2.1 `FairScheduler.assignTasks`).

use crate::model::{Kind, PerKind};
use crate::scheduler::AppId;

use super::load_cap::LoadCap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeartbeatCaps {
    /// Whether several tasks (`mapred.fairscheduler.assignmultiple`); else one.
    pub(crate) assigns_multiple: bool,
    /// Most of each kind (`mapred.fairscheduler.assignmultiple.maps`, `.reduces`); none = all free slots.
    pub(crate) max: PerKind<Option<u32>>,
}

/// Counts of one kind at the start of a heartbeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeartbeatLoad {
    pub(crate) free: u32,
    pub(crate) slots: u32,
    /// Tasks on the tracker, setups and cleanups included.
    pub(crate) running_here: u32,
    pub(crate) total_slots: u64,
    /// Demand of all pools at the last update.
    pub(crate) runnable: u64,
    /// Running tasks of all pools.
    pub(crate) running: u64,
}

impl HeartbeatCaps {
    /// Most tasks of a kind for a tracker with so many free slots of it.
    pub(crate) fn of_free_slots(&self, kind: Kind, free: u32) -> u32 {
        if self.assigns_multiple { self.max[kind].unwrap_or(u32::MAX).min(free) } else { free.min(1) }
    }

    /// Most tasks of a kind for a heartbeat: also below the tracker's part of the load, and until exactly as much runs
    /// as is runnable. If more runs already, as after a demand has dropped, that stops nothing, as in the original.
    pub(crate) fn limit(&self, kind: Kind, load_cap: &LoadCap, load: &HeartbeatLoad) -> u32 {
        let HeartbeatLoad { free, slots, running_here, total_slots, runnable, running } = *load;
        let room = load_cap.cap(slots, total_slots, runnable).saturating_sub(running_here);
        let missing =
            runnable.checked_sub(running).map_or(u32::MAX, |missing| u32::try_from(missing).unwrap_or(u32::MAX));
        self.of_free_slots(kind, free).min(room).min(missing)
    }

    /// The kind of the next slot, among those that are open: the one of which the tracker has fewer, maps if equal;
    /// none when the heartbeat ends.
    pub(crate) fn next_kind(
        &self,
        running_here: PerKind<u32>,
        given: PerKind<u32>,
        is_open: PerKind<bool>,
    ) -> Option<Kind> {
        if !self.assigns_multiple && given != PerKind::default() {
            return None;
        }
        let here = |kind: Kind| u64::from(running_here[kind]) + u64::from(given[kind]);
        match (is_open.map, is_open.reduce) {
            (true, true) if here(Kind::Map) <= here(Kind::Reduce) => Some(Kind::Map),
            (_, true) => Some(Kind::Reduce),
            (true, false) => Some(Kind::Map),
            (false, false) => None,
        }
    }
}

impl Default for HeartbeatCaps {
    fn default() -> Self {
        Self { assigns_multiple: true, max: PerKind::default() }
    }
}

#[derive(Debug, Default)]
pub(super) struct HeartbeatNotes {
    pub(super) in_use: PerKind<u32>,
    /// Jobs asked for a map in vain.
    missed: Vec<AppId>,
    launched: Vec<AppId>,
}

impl HeartbeatNotes {
    pub(super) fn note_launch(&mut self, job: AppId) {
        self.launched.push(job);
    }

    pub(super) fn note_miss(&mut self, job: AppId) {
        self.missed.push(job);
    }

    /// Ends the heartbeat; returns the jobs that were asked for a map and launched none.
    pub(super) fn take_skipped(&mut self) -> Vec<AppId> {
        let launched = std::mem::take(&mut self.launched);
        self.missed.drain(..).filter(|job| !launched.contains(job)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MULTIPLE: HeartbeatCaps = HeartbeatCaps { assigns_multiple: true, max: PerKind::new(None, None) };

    fn load(free: u32, runnable: u64) -> HeartbeatLoad {
        HeartbeatLoad { free, slots: free, total_slots: u64::from(free), runnable, ..HeartbeatLoad::default() }
    }

    /// The kinds given, in order.
    fn kinds(caps: HeartbeatCaps, running_here: PerKind<u32>, limits: PerKind<u32>) -> String {
        let (mut given, mut kinds) = (PerKind::default(), String::new());
        let is_open = |given: PerKind<u32>| PerKind::new(given.map < limits.map, given.reduce < limits.reduce);
        while let Some(kind) = caps.next_kind(running_here, given, is_open(given)) {
            given[kind] += 1;
            kinds.push(if kind == Kind::Map { 'm' } else { 'r' });
        }
        kinds
    }

    #[test]
    fn five_free_slots_under_each_cap() {
        let limit = |assigns_multiple, max| {
            HeartbeatCaps { assigns_multiple, max: PerKind::new(max, None) }.of_free_slots(Kind::Map, 5)
        };
        assert_eq!([limit(false, None), limit(true, None), limit(true, Some(10)), limit(true, Some(2))], [1, 5, 5, 2]);
    }

    #[test]
    fn kinds_alternate_by_what_the_tracker_runs() {
        assert_eq!(kinds(MULTIPLE, PerKind::new(0, 0), PerKind::new(2, 2)), "mrmr");
        assert_eq!(kinds(MULTIPLE, PerKind::new(1, 0), PerKind::new(2, 3)), "rmrmr");
        assert_eq!(kinds(MULTIPLE, PerKind::new(0, 0), PerKind::new(3, 0)), "mmm");
    }

    #[test]
    fn one_task_without_assignmultiple() {
        let caps = HeartbeatCaps { assigns_multiple: false, ..MULTIPLE };
        assert_eq!(kinds(caps, PerKind::new(0, 0), PerKind::new(1, 1)), "m");
        assert_eq!(kinds(caps, PerKind::new(1, 0), PerKind::new(1, 1)), "r");
    }

    #[test]
    fn a_kind_closes_when_exactly_what_is_runnable_runs() {
        let limit = |load: HeartbeatLoad| MULTIPLE.limit(Kind::Map, &LoadCap::default(), &load);
        assert_eq!((limit(load(4, 1)), limit(load(4, 9))), (1, 4));
        let more = |running| HeartbeatLoad { running, total_slots: 1, ..load(2, 2) };
        assert_eq!([limit(more(1)), limit(more(2)), limit(more(3))], [1, 0, 2]);
    }

    #[test]
    fn a_kind_closes_at_the_load_cap() {
        let light = HeartbeatLoad { total_slots: 16, ..load(4, 4) };
        let limit = |load: HeartbeatLoad| MULTIPLE.limit(Kind::Map, &LoadCap::default(), &load);
        assert_eq!((limit(light), limit(HeartbeatLoad { running_here: 1, ..light })), (1, 0));
    }
}

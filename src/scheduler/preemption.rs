//! Selects the running attempts to preempt so that groups get the slots they have bought (Dynamic Priority Scheduler
//! document, section Preemption).
//!
//! A pure decision over the state of one round for one kind of slots. Guarantees:
//! * no group drops below its quota, and free slots and slots being released are used before any victim is selected;
//! * each victim makes room for a waiting task of a group under quota that may run where the victim's slots are;
//! * of the groups over quota the one whose latest job started last loses first, and of its attempts those launched last.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::model::{PerKind, TrackerId};

use super::AppId;

/// What a policy grants a group in a round of preemption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotClaim {
    /// Slots up to which it takes slots from others while its tasks wait.
    pub(crate) due: PerKind<u32>,
    /// Slots that it does not lose.
    pub(crate) kept: PerKind<u32>,
}

/// Input of a round for one kind of slots. `A` is the caller's name for an attempt, and breaks the last ties: highest first.
#[derive(Clone, Debug)]
pub(crate) struct PreemptionRound<A> {
    /// Groups under their quota with waiting tasks.
    pub(crate) under_quota: Vec<UnderQuotaGroup>,
    /// Slots that are free or being released, by node.
    pub(crate) incoming: Vec<(TrackerId, u32)>,
    pub(crate) over_quota: Vec<OverQuotaGroup<A>>,
}

/// A group that uses less than it has bought while tasks wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderQuotaGroup {
    /// Its quota minus the slots it retains.
    pub(crate) need: u32,
    pub(crate) waiting: Vec<WaitingApp>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingApp {
    pub(crate) app: AppId,
    pub(crate) tasks: u32,
    /// Slots that each of them takes, on one node.
    pub(crate) slots_per_task: u32,
    /// Whether there may be nodes that it cannot use. Such apps choose first.
    pub(crate) is_constrained: bool,
}

/// A group that uses more than it has bought.
#[derive(Clone, Debug)]
pub(crate) struct OverQuotaGroup<A> {
    /// Slots it retains beyond its quota.
    pub(crate) excess: u32,
    /// Attempts that may be preempted; those whose end is decided and exempt ones are not listed.
    pub(crate) attempts: Vec<RunningAttempt<A>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunningAttempt<A> {
    pub(crate) job_start_ms: i64,
    pub(crate) app: AppId,
    pub(crate) launch_mono_ms: u64,
    pub(crate) node: TrackerId,
    pub(crate) slots: u32,
    /// The caller's name for it.
    pub(crate) attempt: A,
}

struct Unserved {
    need: Vec<u32>,
    /// Group and app; those that choose first are last.
    waiting: Vec<(usize, WaitingApp)>,
    total: u32,
    /// The largest number of slots of each node that none could use.
    unusable: BTreeMap<TrackerId, u32>,
}

impl<A: Copy + Ord> PreemptionRound<A> {
    /// The attempts to preempt, in order of selection. `can_use`: whether an app could use a slot of a node.
    pub(crate) fn select_victims(mut self, can_use: impl Fn(AppId, TrackerId) -> bool) -> Vec<A> {
        let mut unserved = Unserved::new(&self.under_quota);
        for (node, slots) in self.incoming {
            unserved.take(node, slots, &can_use);
        }
        let mut victims = Vec::new();
        self.over_quota.sort_by_cached_key(|group| Reverse(group.latest_job()));
        for OverQuotaGroup { mut excess, mut attempts } in self.over_quota {
            if unserved.total == 0 {
                break;
            }
            attempts.sort_unstable_by_key(|running| Reverse(running.age_key()));
            for running in attempts {
                if excess == 0 {
                    break;
                }
                if running.slots <= excess && unserved.take(running.node, running.slots, &can_use) {
                    excess -= running.slots;
                    victims.push(running.attempt);
                }
            }
        }
        victims
    }
}

impl UnderQuotaGroup {
    /// Slots that it would use at once.
    pub(crate) fn slots(&self) -> u32 {
        self.need.min(self.waiting.iter().fold(0, |sum, app| sum.saturating_add(app.slots())))
    }
}

impl WaitingApp {
    pub(crate) fn slots(&self) -> u32 {
        self.tasks.saturating_mul(self.slots_per_task)
    }
}

impl<A> OverQuotaGroup<A> {
    /// Start and id of its latest job with an attempt that may be preempted.
    fn latest_job(&self) -> Option<(i64, AppId)> {
        self.attempts.iter().map(|running| (running.job_start_ms, running.app)).max()
    }
}

impl<A: Copy + Ord> RunningAttempt<A> {
    /// Larger: launched later.
    fn age_key(&self) -> (u64, i64, AppId, A) {
        (self.launch_mono_ms, self.job_start_ms, self.app, self.attempt)
    }
}

impl Unserved {
    fn new(under_quota: &[UnderQuotaGroup]) -> Self {
        let need: Vec<u32> = under_quota.iter().map(UnderQuotaGroup::slots).collect();
        let apps = under_quota
            .iter()
            .enumerate()
            .flat_map(|(group, under_quota)| under_quota.waiting.iter().map(move |app| (group, *app)));
        let mut waiting: Vec<_> = apps.collect();
        waiting.reverse();
        waiting.sort_by_key(|(_, app)| app.is_constrained);
        let total = need.iter().fold(0_u32, |sum, need| sum.saturating_add(*need));
        Self { need, waiting, total, unusable: BTreeMap::new() }
    }

    /// Assigns slots of the node to tasks, as many as can use them; false when none can.
    fn take(&mut self, node: TrackerId, mut slots: u32, can_use: &impl Fn(AppId, TrackerId) -> bool) -> bool {
        let mut is_of_use = false;
        while slots > 0
            && let Some(taken) = self.take_once(node, slots, can_use)
        {
            slots -= taken;
            is_of_use = true;
        }
        is_of_use
    }

    /// Assigns some of `slots` to one task. Returns how many it takes; none when no task can use them.
    fn take_once(&mut self, node: TrackerId, slots: u32, can_use: &impl Fn(AppId, TrackerId) -> bool) -> Option<u32> {
        if self.total == 0 || self.unusable.get(&node).is_some_and(|unusable| slots <= *unusable) {
            return None;
        }
        for index in (0..self.waiting.len()).rev() {
            let (group, app) = &mut self.waiting[index];
            let need = &mut self.need[*group];
            if *need == 0 || app.tasks == 0 {
                self.waiting.remove(index);
            } else if app.slots_per_task <= slots && can_use(app.app, node) {
                let served = app.slots_per_task.min(*need);
                *need -= served;
                self.total -= served;
                app.tasks -= 1;
                return Some(app.slots_per_task);
            }
        }
        self.unusable.insert(node, slots);
        None
    }
}

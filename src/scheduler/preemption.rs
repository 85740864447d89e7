//! Which running attempts must leave so that groups get the slots they have bought (Dynamic Priority Scheduler document,
//! section Preemption).
//!
//! A pure decision over what one round finds for one kind of slots. What it promises:
//! * no group falls below its quota, and slots that come free anyway are given away before anything is taken;
//! * each victim stands for one waiting task of a short group that may run where the victim's slot is;
//! * of the groups over quota the one whose latest job started last loses first, and the attempts that were launched last.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{AppId, NodeId};

/// One kind of slots as a round finds it. `A` names an attempt for the caller, and breaks the last ties: highest first.
#[derive(Clone, Debug)]
pub struct PreemptionRound<A> {
    /// Groups under their quota whose tasks wait.
    pub under_quota: Vec<UnderQuotaGroup>,
    /// Slots that are free or being freed, by node.
    pub incoming: Vec<(NodeId, u32)>,
    /// Groups over their quota.
    pub over_quota: Vec<OverQuotaGroup<A>>,
}

/// A group that may not use all it has bought.
#[derive(Clone, Debug, Default)]
pub struct UnderQuotaGroup {
    /// Slots up to its quota, without those it holds and keeps.
    pub need: u32,
    /// What would use them.
    pub waiting: Vec<WaitingApp>,
}

/// An app whose tasks wait.
#[derive(Clone, Copy, Debug)]
pub struct WaitingApp {
    /// The app.
    pub app: AppId,
    /// How many wait.
    pub tasks: u32,
    /// There may be nodes that it cannot use. Such apps choose first.
    pub is_constrained: bool,
}

/// A group that uses more than it has bought.
#[derive(Clone, Debug)]
pub struct OverQuotaGroup<A> {
    /// Slots it holds and keeps beyond its quota.
    pub excess: u32,
    /// Attempts that may be taken from it; those that are about to leave, and those exempt, are not among them.
    pub attempts: Vec<RunningAttempt<A>>,
}

/// An attempt that may have to leave.
#[derive(Clone, Copy, Debug)]
pub struct RunningAttempt<A> {
    /// When its job was submitted, wall clock, ms.
    pub job_start_ms: i64,
    /// Its job.
    pub app: AppId,
    /// When it was launched, by the clock that never goes back, ms.
    pub launch_mono_ms: u64,
    /// Where it runs.
    pub node: NodeId,
    /// Its name.
    pub attempt: A,
}

/// The waiting tasks that no slot has been found for yet.
struct Unserved {
    /// By group: slots still needed.
    need: Vec<u32>,
    /// Group and app; those that choose first stand last.
    waiting: Vec<(usize, WaitingApp)>,
    /// All needs together.
    total: u32,
    /// Nodes that none of them can use.
    unusable_nodes: BTreeSet<NodeId>,
}

// === impl PreemptionRound ===

impl<A: Copy + Ord> PreemptionRound<A> {
    /// The attempts that must leave, in the order in which they were chosen. `can_use` tells whether a slot on a node
    /// would help an app.
    pub fn select_victims(mut self, can_use: impl Fn(AppId, NodeId) -> bool) -> Vec<A> {
        let mut unserved = Unserved::new(&self.under_quota);
        for (node, slots) in self.incoming {
            for _ in 0..slots {
                if !unserved.take(node, &can_use) {
                    break;
                }
            }
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
                if unserved.take(running.node, &can_use) {
                    excess -= 1;
                    victims.push(running.attempt);
                }
            }
        }
        victims
    }
}

// === impl UnderQuotaGroup ===

impl UnderQuotaGroup {
    /// The slots that it would use at once.
    pub fn slots(&self) -> u32 {
        self.need.min(self.waiting.iter().fold(0, |sum, app| sum.saturating_add(app.tasks)))
    }
}

// === impl OverQuotaGroup ===

impl<A> OverQuotaGroup<A> {
    /// Start and name of its latest job that could lose something.
    fn latest_job(&self) -> Option<(i64, AppId)> {
        self.attempts.iter().map(|running| (running.job_start_ms, running.app)).max()
    }
}

// === impl RunningAttempt ===

impl<A: Copy + Ord> RunningAttempt<A> {
    /// Larger has run for a shorter time.
    fn age_key(&self) -> (u64, i64, AppId, A) {
        (self.launch_mono_ms, self.job_start_ms, self.app, self.attempt)
    }
}

// === impl Unserved ===

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
        Self { need, waiting, total, unusable_nodes: BTreeSet::new() }
    }

    /// Gives a slot to one of them; false when none can use it.
    fn take(&mut self, node: NodeId, can_use: &impl Fn(AppId, NodeId) -> bool) -> bool {
        if self.total == 0 || self.unusable_nodes.contains(&node) {
            return false;
        }
        for index in (0..self.waiting.len()).rev() {
            let (group, app) = &mut self.waiting[index];
            let need = &mut self.need[*group];
            if *need == 0 || app.tasks == 0 {
                self.waiting.remove(index);
            } else if can_use(app.app, node) {
                *need -= 1;
                app.tasks -= 1;
                self.total = self.total.saturating_sub(1);
                return true;
            }
        }
        self.unusable_nodes.insert(node);
        false
    }
}

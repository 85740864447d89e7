//! Preemption: queues that may not use what they have bought get slots back from those that use more (Dynamic Priority
//! Scheduler document, section Preemption).
//!
//! A round looks at the market's quotas and at what runs, and marks attempts; each is killed when its tracker calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::mapreduce::Job;
use crate::model::{AttemptId, JobId, Kind, Now, PerKind};
use crate::scheduler::{
    AppId, GroupId, NodeId, OverQuotaGroup, PreemptionRound, RunningAttempt, UnderQuotaGroup, WaitingApp,
};

use super::engine::Engine;
use super::market_steps::next_on_grid;
use super::tracker::{Adoption, Tracker};
use super::{LogLevel, PolicyConfig};

/// Jobs of a queue that have no use for some node and are listed beyond those whose tasks would fill its quota.
const JOBS_IN_RESERVE: usize = 16;

/// A queue with unfinished jobs, as a round finds it.
struct Standing<'a> {
    queue: &'a str,
    group: GroupId,
    quota: PerKind<u32>,
    kept: PerKind<u32>,
    jobs: &'a BTreeSet<JobId>,
    /// Jobs whose setup finds no slot, by the kind of slot that is to be found.
    setups: PerKind<BTreeSet<AppId>>,
}

/// What the nodes that take work have to give, of one kind.
#[derive(Default)]
struct Coming {
    /// Those that have slots of that kind at all.
    nodes: BTreeSet<NodeId>,
    /// Slots that are free or come free, where there are any.
    slots: BTreeMap<NodeId, u32>,
}

/// What one round decides.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// The attempts that must end, each with the reason that it is told.
    pub(super) victims: Vec<(AttemptId, Arc<str>)>,
    /// The queues that are short of slots they have bought, and of how many.
    short: BTreeMap<String, u32>,
}

/// The last round that took something from a job.
#[derive(Clone, Debug)]
pub(super) struct LastPreemption {
    /// When, epoch ms.
    pub(super) at_ms: i64,
    /// Attempts of the job that were chosen.
    pub(super) attempts: u32,
    /// Those of all rounds so far.
    pub(super) so_far: u64,
    /// The queues that were short of slots then, and of how many.
    pub(super) short: Arc<BTreeMap<String, u32>>,
}

// === impl Engine: rounds of preemption ===

impl Engine {
    /// Looks for slots that queues below their quota wait for, and has as many attempts end as it takes.
    pub(super) fn preempt_when_due(&mut self, now: Now) {
        let PolicyConfig::Dynamic { kill_interval_ms: Some(interval_ms), .. } = self.config.policy else { return };
        if now.mono_ms < self.next_preemption_mono_ms {
            return;
        }
        self.next_preemption_mono_ms = next_on_grid(self.next_preemption_mono_ms, interval_ms, now);
        // Nothing is killed in safe mode.
        if self.is_in_safe_mode() {
            return;
        }
        self.spare_the_unreachable(now);
        let Chosen { victims, short } = self.choose_victims(now);
        if victims.is_empty() {
            return;
        }
        let mut hit: BTreeMap<JobId, u32> = BTreeMap::new();
        victims.iter().for_each(|(id, _)| *hit.entry(id.task.job).or_default() += 1);
        let short = Arc::new(short);
        for (job, attempts) in hit {
            let so_far = self.last_preemptions.get(&job).map_or(0, |last| last.so_far);
            let so_far = so_far + u64::from(attempts);
            let last = LastPreemption { at_ms: now.wall_ms, attempts, so_far, short: short.clone() };
            self.last_preemptions.insert(job, last);
        }
        let text = format!("{} attempts are preempted for queues that are below their quota", victims.len());
        self.log_line(LogLevel::Info, text);
        self.tallies.preempted += victims.len() as u64;
        for (id, why) in victims {
            if let Some(job) = self.jobs.get_mut(id.task.job) {
                job.preempt(id, &why, &mut self.scheduler);
                self.victims.push(id);
            }
        }
    }

    /// Whom no word has reached since the round before, and whose tracker is well no more: others must leave instead.
    fn spare_the_unreachable(&mut self, now: Now) {
        let mut victims = std::mem::take(&mut self.victims);
        victims.retain(|id| {
            let node = self.jobs.get(id.task.job).and_then(|job| job.undelivered_preemption(*id));
            let Some(node) = node else { return false };
            let tracker = self.nodes.get(node).and_then(|info| self.trackers.get(&info.name));
            let is_reachable = tracker.is_some_and(|tracker| self.takes_work(tracker, now));
            if let Some(job) = self.jobs.get_mut(id.task.job).filter(|_| !is_reachable) {
                job.cancel_preemption(*id, &mut self.scheduler);
            }
            is_reachable
        });
        self.victims = victims;
    }

    /// The attempts that must end at this moment, and for whom.
    pub(super) fn choose_victims(&self, now: Now) -> Chosen {
        let mut standings = self.standings();
        let any = |of: fn(&Standing<'_>, Kind) -> u32| {
            standings.iter().any(|standing| Kind::ALL.iter().any(|kind| of(standing, *kind) > 0))
        };
        if !any(|standing, kind| standing.room(kind)) || !any(|standing, kind| standing.excess(kind)) {
            return Chosen::default();
        }
        let mut coming = self.coming(now);
        self.place_setups(&mut standings, &mut coming);
        let mut chosen = Chosen::default();
        for kind in Kind::ALL {
            let Coming { nodes, slots } = std::mem::take(&mut coming[kind]);
            let short =
                standings.iter().filter_map(|standing| Some((standing.queue, self.short_group(standing, kind)?)));
            let (names, short): (Vec<&str>, Vec<UnderQuotaGroup>) = short.unzip();
            if short.is_empty() {
                continue;
            }
            for (queue, group) in names.iter().zip(&short) {
                *chosen.short.entry((*queue).to_owned()).or_default() += group.slots();
            }
            let over: Vec<_> = standings.iter().filter(|standing| standing.excess(kind) > 0).collect();
            let round = PreemptionRound {
                under_quota: short,
                incoming: slots.into_iter().collect(),
                over_quota: over.iter().enumerate().map(|(index, over)| self.over_group(over, index, kind)).collect(),
            };
            let can_use = |app: AppId, node: NodeId| {
                let job = self.jobs.by_app(app).filter(|_| nodes.contains(&node));
                job.is_some_and(|job| job.can_use(kind, node, &self.nodes))
            };
            let whys: Vec<Arc<str>> = over.iter().map(|standing| standing.why(kind).into()).collect();
            let victims = round.select_victims(can_use).into_iter();
            chosen.victims.extend(victims.filter_map(|(index, attempt)| Some((attempt, whys.get(index)?.clone()))));
        }
        chosen
    }

    /// Every queue with unfinished jobs: no other can be short, and what others hold comes free.
    fn standings(&self) -> Vec<Standing<'_>> {
        let standing = |(queue, jobs)| {
            let queue: &String = queue;
            let group = self.scheduler.group(queue)?;
            let allocation = self.scheduler.allocation(group);
            // Without money a quota is void.
            let quota = if allocation.rate_units > 0 { allocation.quota } else { PerKind::default() };
            let kept = self.scheduler.retained(group);
            Some(Standing { queue, group, quota, kept, jobs, setups: PerKind::default() })
        };
        self.live_jobs.iter().filter_map(standing).collect()
    }

    /// On a tracker that is silent, ill, not yet back after a restart or refuses work nothing comes free that anyone could use.
    pub(super) fn takes_work(&self, tracker: &Tracker, now: Now) -> bool {
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        let is_back = matches!(tracker.adoption, Adoption::Settled);
        is_back && tracker.healthy && !tracker.refuses_work && silent_ms <= self.longest_silence_ms()
    }

    /// Nodes that take work, each with its slots that are free or come free.
    fn coming(&self, now: Now) -> PerKind<Coming> {
        let mut coming: PerKind<Coming> = PerKind::default();
        for tracker in self.trackers.values().filter(|tracker| self.takes_work(tracker, now)) {
            let slots = self.scheduler.incoming(tracker.node);
            for kind in Kind::ALL.into_iter().filter(|kind| tracker.slots[*kind] > 0) {
                coming[kind].nodes.insert(tracker.node);
                if slots[kind] > 0 {
                    coming[kind].slots.insert(tracker.node, slots[kind]);
                }
            }
        }
        coming
    }

    /// Setups of jobs in queues with room take what comes, of either kind; who finds none needs a slot of the kind that
    /// its queue has room in.
    fn place_setups(&self, standings: &mut [Standing<'_>], coming: &mut PerKind<Coming>) {
        for standing in standings {
            let Some(kind) = Kind::ALL.into_iter().find(|kind| standing.room(*kind) > 0) else { continue };
            let setups = standing.jobs.iter().filter(|id| self.housekeeping.setup.contains(id));
            for job in setups.filter_map(|id| self.jobs.get(*id)).take(standing.room(kind) as usize) {
                let serves = |kind: Kind, coming: &mut Coming| coming.take(|node| job.can_use(kind, node, &self.nodes));
                if !serves(Kind::Reduce, &mut coming.reduce) && !serves(Kind::Map, &mut coming.map) {
                    standing.setups[kind].insert(job.app);
                }
            }
        }
    }

    /// A queue that has room and tasks that wait for it.
    fn short_group(&self, standing: &Standing<'_>, kind: Kind) -> Option<UnderQuotaGroup> {
        let need = standing.room(kind);
        if need == 0 || (standing.setups[kind].is_empty() && self.scheduler.waiting(standing.group)[kind] == 0) {
            return None;
        }
        let mut waiting = Vec::new();
        let (mut tasks, mut plain_tasks, mut reserve) = (0_u32, 0_u32, 0);
        for job in standing.jobs.iter().filter_map(|id| self.jobs.get(*id)) {
            let count = if standing.setups[kind].contains(&job.app) { 1 } else { job.runnable(kind) };
            let is_constrained = job.is_constrained(kind);
            if count == 0 || (is_constrained && reserve >= JOBS_IN_RESERVE) {
                continue;
            }
            waiting.push(WaitingApp { app: job.app, tasks: count, is_constrained });
            reserve += usize::from(tasks >= need);
            tasks = tasks.saturating_add(count);
            plain_tasks = plain_tasks.saturating_add(if is_constrained { 0 } else { count });
            // These may use whatever comes, so nobody behind them is needed.
            if plain_tasks >= need {
                break;
            }
        }
        (!waiting.is_empty()).then_some(UnderQuotaGroup { need, waiting })
    }

    /// A queue that holds too much, with all it may lose; `index` is how its attempts name it.
    fn over_group(&self, standing: &Standing<'_>, index: usize, kind: Kind) -> OverQuotaGroup<(usize, AttemptId)> {
        let attempts_of =
            |job: &Job| {
                let (job_start_ms, app) = (job.submit_ms, job.app);
                let attempts = job.preemptible_attempts(kind).map(move |(launch_mono_ms, attempt, node)| {
                    RunningAttempt { job_start_ms, app, launch_mono_ms, node, attempt: (index, attempt) }
                });
                attempts.collect::<Vec<_>>()
            };
        let jobs = standing.jobs.iter().filter_map(|id| self.jobs.get(*id));
        OverQuotaGroup { excess: standing.excess(kind), attempts: jobs.flat_map(attempts_of).collect() }
    }
}

// === impl Coming ===

impl Coming {
    /// Takes a slot on a node that suits; false when there is none.
    fn take(&mut self, suits: impl Fn(NodeId) -> bool) -> bool {
        let Some((node, slots)) = self.slots.iter_mut().find(|(node, _)| suits(**node)) else { return false };
        let node = *node;
        *slots -= 1;
        if *slots == 0 {
            self.slots.remove(&node);
        }
        true
    }
}

// === impl Standing ===

impl Standing<'_> {
    /// Slots up to the quota.
    fn room(&self, kind: Kind) -> u32 {
        self.quota[kind].saturating_sub(self.kept[kind])
    }

    /// Slots beyond the quota.
    fn excess(&self, kind: Kind) -> u32 {
        self.kept[kind].saturating_sub(self.quota[kind])
    }

    /// What the attempts that it loses are told. No other queue is named: its business is its own.
    fn why(&self, kind: Kind) -> String {
        let slots = match kind {
            Kind::Map => "map slots",
            Kind::Reduce => "reduce slots",
        };
        let (queue, kept, quota) = (self.queue, self.kept[kind], self.quota[kind]);
        format!(
            "Preempted: queue {queue} is over its quota of {quota} {slots}, it holds {kept}, and others are below theirs"
        )
    }
}

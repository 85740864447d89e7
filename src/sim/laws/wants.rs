//! Law 9: no queue is sold more than what it holds and what of its wants could be placed on the nodes that are there, were
//! they empty; and what was offered to it in vain for two intervals is not sold to it again.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{Engine, Fact};
use crate::mapreduce::{Job, JobFact, NodeUse};
use crate::market::Tick;
use crate::model::{Capability, JobId, Kind, PerKind, PerPool, TrackerId};
use crate::sim::plan::Plan;

use super::attempts::AttemptModel;
use super::holdings::{Holdings, Moment};
use super::nodes::{HeartbeatOutcome, PlaceableNode};

/// What a machine has, as its tracker and worker declare it.
#[derive(Clone, Debug)]
struct Machine {
    slots: PerKind<u32>,
    bag: Option<Capability>,
}

#[derive(Clone, Debug, Default)]
struct UsedSale {
    quota: PerPool<u32>,
    /// Maps and reduces that it held, or containers in their place.
    has_held: PerKind<bool>,
    /// Something was asked for in the interval, or an attempt of it ended, after which others may run.
    has_asked: bool,
    /// Intervals before in which it held nothing, asked for nothing new and was offered all that it had bought.
    in_vain: PerKind<u32>,
}

/// The most that each queue could use.
pub(super) type Wants = BTreeMap<String, PerPool<u64>>;

#[derive(Clone, Debug)]
pub(super) struct WantChecker {
    machines: BTreeMap<String, Machine>,
    /// What could be used before the step.
    before: Wants,
    sales: BTreeMap<String, UsedSale>,
    /// Trackers whose heartbeats in the open interval left slots of a kind free.
    offered: PerKind<BTreeSet<String>>,
}

impl WantChecker {
    pub(super) fn new(plan: &Plan) -> Self {
        let machine = |(place, tracker): (usize, &crate::sim::plan::TrackerPlan)| {
            let slot = plan.engine.containers.slot;
            let least = slot.times(tracker.slots.map + tracker.slots.reduce);
            let bag = plan.containers.as_ref().and_then(|containers| containers.bags[place]);
            let bag = bag.map(|bag| Capability::new(bag.memory_mb.max(least.memory_mb), bag.vcores));
            (tracker.name.clone(), Machine { slots: tracker.slots, bag })
        };
        Self {
            machines: plan.trackers.iter().enumerate().map(machine).collect(),
            before: Wants::new(),
            sales: BTreeMap::new(),
            offered: PerKind::default(),
        }
    }

    /// Notes what could be used before a tick.
    pub(super) fn before_tick(&mut self, holdings: &Holdings<'_>, engine: &Engine) {
        self.before = self.wants(holdings, engine);
    }

    pub(super) fn apply(&mut self, fact: &Fact, holdings: &Holdings<'_>) {
        match fact {
            Fact::Job(JobFact::Accepted(job)) => self.note_question(job.spec.payer().unwrap_or_default()),
            // Its next tasks may run then.
            Fact::Job(JobFact::AttemptEnded(ended)) => {
                self.note_question(holdings.attempts.account_of(ended.attempt.task.job).unwrap_or_default());
            }
            Fact::Applications(changes) => {
                for queue in changes.iter().filter_map(|change| holdings.containers.queue_of(change.application()?)) {
                    self.note_question(queue);
                }
            }
            _ => {}
        }
    }

    fn note_question(&mut self, queue: &str) {
        if let Some(sale) = self.sales.get_mut(queue) {
            sale.has_asked = true;
        }
    }

    /// What queues hold in the open interval, setups and cleanups of these jobs included.
    pub(super) fn note_holdings(&mut self, held: &Moment, attempts: &AttemptModel, housekeeping: &[(JobId, u32)]) {
        let mut moment = Cow::Borrowed(held);
        for (job, slots) in housekeeping {
            if let Some(payer) = attempts.payer_of(*job) {
                moment.to_mut().add_map(payer, *slots);
            }
        }
        for (queue, sale) in &mut self.sales {
            let held = moment.held(queue);
            for kind in Kind::ALL {
                sale.has_held[kind] |= held[kind] > 0 || held.container > 0;
            }
        }
    }

    pub(super) fn note_heartbeat(&mut self, outcome: HeartbeatOutcome<'_>) {
        for kind in Kind::ALL {
            if outcome.free[kind] > 0 && !self.offered[kind].contains(outcome.tracker) {
                self.offered[kind].insert(outcome.tracker.to_owned());
            }
        }
    }

    /// Checks what a tick sells, after its step. Returns what could be used then.
    pub(super) fn after_tick(
        &mut self,
        tick: &Tick,
        holdings: &Holdings<'_>,
        housekeeping: &[(JobId, u32)],
        engine: &Engine,
    ) -> Result<Wants, String> {
        let mut wants = self.wants(holdings, engine);
        for (job, slots) in housekeeping {
            if let Some(account) = holdings.attempts.account_of(*job) {
                wants.entry(account.to_owned()).or_default().map += u64::from(*slots);
            }
        }
        for (queue, before) in std::mem::take(&mut self.before) {
            let after = wants.entry(queue).or_default();
            *after = PerPool::new(
                after.map.max(before.map),
                after.reduce.max(before.reduce),
                after.container.max(before.container),
            );
        }
        let is_offered = |kind: Kind| {
            let mut with_slots = self.machines.iter().filter(|(_, machine)| machine.slots[kind] > 0);
            with_slots.all(|(name, _)| self.offered[kind].contains(name))
        };
        let offered = PerKind::new(is_offered(Kind::Map), is_offered(Kind::Reduce));
        let mut sales = BTreeMap::new();
        for (queue, interval) in tick.intervals() {
            let queue = queue.as_str();
            let (quota, most) = (interval.quota, wants.get(queue).copied().unwrap_or_default());
            let total = |pools: PerPool<u64>| pools.map + pools.reduce + pools.container;
            let sold = PerPool::new(quota.map.into(), quota.reduce.into(), quota.container.into());
            let is_too_much = sold.map > most.map + most.container
                || sold.reduce > most.reduce + most.container
                || sold.container > most.container
                || total(sold) > total(most);
            if is_too_much {
                return Err(format!("{queue} is sold {quota:?} and could use {most:?} at most"));
            }
            let before = self.sales.remove(queue).unwrap_or_default();
            // Containers are offered with what maps and reduces leave, and one may be larger than each free room.
            let has_containers = before.quota.container > 0 || most.container > 0;
            let mut in_vain = PerKind::default();
            for kind in Kind::ALL {
                let was_offered = before.quota[kind] > 0 && offered[kind] && !has_containers;
                let is_in_vain = was_offered && !before.has_held[kind] && !before.has_asked;
                in_vain[kind] = if is_in_vain { before.in_vain[kind] + 1 } else { 0 };
                if in_vain[kind] >= 2 && quota[kind] > 0 && quota.container == 0 {
                    let text = format!("{queue} is sold {quota:?}; it was offered {:?} in vain", before.quota);
                    return Err(text);
                }
            }
            sales.insert(queue.to_owned(), UsedSale { quota, in_vain, ..UsedSale::default() });
        }
        self.sales = sales;
        self.offered = PerKind::default();
        Ok(wants)
    }

    /// A restart, another scheduler: nothing is known of the open interval.
    pub(super) fn forget(&mut self) {
        self.sales.clear();
    }

    /// Maps of a queue that run, or wait and could run on every tracker.
    pub(super) fn maps_for_all(queue: &str, holdings: &Holdings<'_>, engine: &Engine) -> u64 {
        let inspection = engine.inspect();
        let jobs = holdings.attempts.live().filter(|id| holdings.attempts.account_of(*id) == Some(queue));
        let maps = jobs.filter_map(|id| inspection.jobs().get(id)).map(|job| {
            let runs_anywhere = inspection.trackers().all(|tracker| could_run(job, Kind::Map, tracker, engine));
            let waiting = if runs_anywhere { inspection.scheduler().app_waiting(job.app).map } else { 0 };
            u64::from(inspection.scheduler().app_held(job.app).map) + u64::from(waiting)
        });
        maps.sum()
    }

    fn wants(&self, holdings: &Holdings<'_>, engine: &Engine) -> Wants {
        let inspection = engine.inspect();
        let topology = inspection.scheduler().topology();
        let nodes: Vec<(TrackerId, &Machine, PlaceableNode<'_>)> = inspection
            .trackers()
            .filter_map(|id| {
                let info = inspection.nodes().get(id)?;
                let machine = self.machines.get(&*info.name)?;
                let node = PlaceableNode {
                    host: topology.host_name(info.host),
                    rack: topology.rack_name(info.rack),
                    bag: machine.bag,
                };
                Some((id, machine, node))
            })
            .collect();
        let mut wants = Wants::new();
        for (account, _, _, held) in holdings.attempts.held_by_jobs() {
            let want = wants.entry(account.to_string()).or_default();
            (want.map, want.reduce) = (want.map + u64::from(held.map), want.reduce + u64::from(held.reduce));
        }
        let mut usable: BTreeMap<String, PerKind<BTreeSet<TrackerId>>> = BTreeMap::new();
        for job in holdings.attempts.live().filter_map(|id| inspection.jobs().get(id)) {
            let Some(account) = holdings.attempts.account_of(job.id) else { continue };
            let usable = usable.entry(account.to_owned()).or_default();
            for (id, ..) in &nodes {
                for kind in Kind::ALL {
                    if could_run(job, kind, *id, engine) {
                        usable[kind].insert(*id);
                    }
                }
            }
        }
        for (account, usable) in usable {
            let want = wants.entry(account).or_default();
            for kind in Kind::ALL {
                let slots = nodes.iter().filter(|(id, ..)| usable[kind].contains(id)).map(|(_, it, _)| it.slots[kind]);
                want[kind] += slots.map(u64::from).sum::<u64>();
            }
        }
        let places: Vec<PlaceableNode<'_>> = nodes.iter().map(|(_, _, node)| *node).collect();
        for (queue, slots) in holdings.containers.placeable(&places) {
            wants.entry(queue).or_default().container += slots;
        }
        wants
    }
}

/// Whether tasks of a job could run there, now or later.
fn could_run(job: &Job, kind: Kind, tracker: TrackerId, engine: &Engine) -> bool {
    match job.node_use(kind, tracker, engine.inspect().nodes()) {
        NodeUse::Useful | NodeUse::FailedThere => true,
        NodeUse::Unsupported | NodeUse::Avoided | NodeUse::NoRoom => false,
    }
}

//! What jobs have cost: each tick's charge of a queue is laid on its jobs in whole slots, the job that was submitted first
//! comes first, at the rate of the charge.
//!
//! Law: what is laid on the jobs of a queue sums to what the queue is charged, exactly. Jobs that are over count as long as
//! attempts of theirs hold slots.

use std::collections::BTreeMap;

use crate::mapreduce::Job;
use crate::market::{Charge, Tick};
use crate::model::{Credits, JobId, Kind, PerKind};
use crate::scheduler::{AppId, Scheduler};

/// What a job has cost so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCost {
    /// The job.
    pub job: JobId,
    /// All of it.
    pub cost: Credits,
    /// The slots paid for, each interval's counted.
    pub slots: PerKind<u64>,
}

/// The place of a job among those of its queue: when it was submitted, epoch ms, and its name at the scheduler.
type Place = (i64, AppId);

/// A job that may hold slots.
#[derive(Debug)]
struct Holder {
    cost: JobCost,
    is_over: bool,
}

/// What all jobs in memory have cost.
#[derive(Debug, Default)]
pub(super) struct JobCosts {
    /// By queue and place: those that live, and those that are over and may still hold slots.
    holders: BTreeMap<String, BTreeMap<Place, Holder>>,
    /// The others.
    over: BTreeMap<JobId, JobCost>,
}

// === impl JobCosts ===

impl JobCosts {
    /// A job is taken in.
    pub(super) fn open(&mut self, job: &Job) {
        let cost = JobCost { job: job.id, cost: Credits::ZERO, slots: PerKind::default() };
        let queue = self.holders.entry(job.spec.queue.clone()).or_default();
        queue.insert((job.submit_ms, job.app), Holder { cost, is_over: false });
    }

    /// A job is taken up again that has cost so much.
    pub(super) fn reopen(&mut self, job: &Job, cost: Option<JobCost>) {
        self.open(job);
        let queue = self.holders.get_mut(&job.spec.queue);
        let holder = queue.and_then(|queue| queue.get_mut(&(job.submit_ms, job.app)));
        if let Some((holder, cost)) = holder.zip(cost) {
            holder.cost = cost;
        }
    }

    /// A job that was over before a restart has cost so much.
    pub(super) fn recall(&mut self, job: JobId, cost: Option<JobCost>) {
        let nothing = JobCost { job, cost: Credits::ZERO, slots: PerKind::default() };
        self.over.insert(job, cost.unwrap_or(nothing));
    }

    /// A job is over; it may hold slots for a while.
    pub(super) fn job_is_over(&mut self, job: &Job, scheduler: &Scheduler) {
        let Some(queue) = self.holders.get_mut(&job.spec.queue) else { return };
        let place = (job.submit_ms, job.app);
        if let Some(holder) = queue.get_mut(&place) {
            holder.is_over = true;
        }
        if scheduler.app_running(job.app) == PerKind::default() {
            let cost = queue.remove(&place).map(|holder| (job.id, holder.cost));
            self.over.extend(cost);
        }
        if queue.is_empty() {
            self.holders.remove(&job.spec.queue);
        }
    }

    /// A job leaves memory.
    pub(super) fn forget(&mut self, job: &Job) {
        self.over.remove(&job.id);
        let Some(queue) = self.holders.get_mut(&job.spec.queue) else { return };
        queue.remove(&(job.submit_ms, job.app));
        if queue.is_empty() {
            self.holders.remove(&job.spec.queue);
        }
    }

    /// What a job has cost.
    pub(super) fn of(&self, job: &Job) -> Option<&JobCost> {
        let queue = self.holders.get(&job.spec.queue);
        let holder = queue.and_then(|queue| queue.get(&(job.submit_ms, job.app)));
        holder.map(|holder| &holder.cost).or_else(|| self.over.get(&job.id))
    }

    /// Lays the charges of a tick on jobs, by what they hold at this moment. Returns the jobs that something was laid on.
    pub(super) fn charge(&mut self, tick: &Tick, scheduler: &Scheduler) -> Vec<JobCost> {
        let mut charged = Vec::new();
        // Both are by name.
        let mut queues = self.holders.iter_mut().peekable();
        for queue_tick in tick.queue_ticks.iter().filter(|queue_tick| queue_tick.charge.amount() > Credits::ZERO) {
            let name = queue_tick.queue.as_str();
            while queues.next_if(|(queue, _)| queue.as_str() < name).is_some() {}
            let Some((_, holders)) = queues.next_if(|(queue, _)| queue.as_str() == name) else { continue };
            let (left, done) = lay(&queue_tick.charge, holders, scheduler, &mut charged);
            debug_assert_eq!(left, PerKind::default(), "slots of {name} are held by none of its jobs");
            let done = done.iter().filter_map(|place| holders.remove(place));
            self.over.extend(done.map(|holder| (holder.cost.job, holder.cost)));
        }
        charged
    }
}

/// Lays one queue's charge on its jobs; gives back the slots that none of them holds, and the jobs that are over and hold
/// none.
fn lay(
    charge: &Charge,
    holders: &mut BTreeMap<Place, Holder>,
    scheduler: &Scheduler,
    charged: &mut Vec<JobCost>,
) -> (PerKind<u32>, Vec<Place>) {
    let mut left = charge.used;
    let mut done = Vec::new();
    for (place, Holder { cost, is_over }) in holders {
        if left == PerKind::default() {
            break;
        }
        let running = scheduler.app_running(place.1);
        if *is_over && running == PerKind::default() {
            done.push(*place);
        }
        let mut paid = 0;
        for kind in Kind::ALL {
            let slots = running[kind].min(left[kind]);
            left[kind] -= slots;
            cost.slots[kind] += u64::from(slots);
            paid += i128::from(slots);
        }
        if paid > 0 {
            // No job costs more than its queue ever had, far below the range.
            cost.cost = Credits::from_units(cost.cost.units() + charge.rate.units() * paid);
            charged.push(*cost);
        }
    }
    (left, done)
}

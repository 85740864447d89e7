//! Costs of jobs: each tick distributes what a queue pays for maps and reduces over its jobs in whole slots, in the
//! order of submission, at the rate of the charge. What it pays for containers is laid on its applications.
//!
//! Invariant: the charges of a queue's jobs and applications sum to the charge of the queue, exactly. Completed jobs
//! count while attempts of theirs hold slots.

use std::collections::BTreeMap;

use crate::mapreduce::Job;
use crate::market::{Charge, Tick};
use crate::model::{Credits, JobId, Kind, PerKind};
use crate::scheduler::{AppId, Scheduler};

/// The cost of a job so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCost {
    /// The job.
    pub job: JobId,
    /// The total.
    pub cost: Credits,
    /// Charged slots, summed over intervals.
    pub slots: PerKind<u64>,
}

/// The order of a job within its queue: submission time, epoch ms, and scheduler id.
type Place = (i64, AppId);

/// A job that may hold slots.
#[derive(Debug)]
struct Holder {
    cost: JobCost,
    is_completed: bool,
}

/// Costs of all jobs in memory.
#[derive(Debug, Default)]
pub struct JobCosts {
    /// By account and order: live jobs, and completed ones that may still hold slots.
    holders: BTreeMap<String, BTreeMap<Place, Holder>>,
    /// Completed jobs without slots.
    completed: BTreeMap<JobId, JobCost>,
}

// === impl JobCosts ===

impl JobCosts {
    /// Adds a new job, if an account pays for it.
    pub fn open(&mut self, job: &Job) {
        let Some(payer) = job.spec.payer() else { return };
        let cost = JobCost { job: job.id, cost: Credits::ZERO, slots: PerKind::default() };
        let queue = self.holders.entry(payer.to_owned()).or_default();
        queue.insert((job.submit_ms, job.app), Holder { cost, is_completed: false });
    }

    /// Restores an unfinished job with its cost.
    pub fn reopen(&mut self, job: &Job, cost: Option<JobCost>) {
        self.open(job);
        let queue = job.spec.payer().and_then(|payer| self.holders.get_mut(payer));
        let holder = queue.and_then(|queue| queue.get_mut(&(job.submit_ms, job.app)));
        if let Some((holder, cost)) = holder.zip(cost) {
            holder.cost = cost;
        }
    }

    /// Restores a job that completed before a restart, with its cost.
    pub fn restore_completed(&mut self, job: JobId, cost: Option<JobCost>) {
        let nothing = JobCost { job, cost: Credits::ZERO, slots: PerKind::default() };
        self.completed.insert(job, cost.unwrap_or(nothing));
    }

    /// Marks a job as completed; it may hold slots for a while.
    pub fn on_job_completed(&mut self, job: &Job, scheduler: &Scheduler) {
        let Some(payer) = job.spec.payer() else { return };
        let Some(queue) = self.holders.get_mut(payer) else { return };
        let place = (job.submit_ms, job.app);
        if let Some(holder) = queue.get_mut(&place) {
            holder.is_completed = true;
        }
        if scheduler.app_running(job.app) == PerKind::default() {
            let cost = queue.remove(&place).map(|holder| (job.id, holder.cost));
            self.completed.extend(cost);
        }
        if queue.is_empty() {
            self.holders.remove(payer);
        }
    }

    /// Removes a job that leaves memory.
    pub fn forget(&mut self, job: &Job) {
        self.completed.remove(&job.id);
        let Some(payer) = job.spec.payer() else { return };
        let Some(queue) = self.holders.get_mut(payer) else { return };
        queue.remove(&(job.submit_ms, job.app));
        if queue.is_empty() {
            self.holders.remove(payer);
        }
    }

    /// The cost of a job.
    pub fn of(&self, job: &Job) -> Option<&JobCost> {
        let queue = job.spec.payer().and_then(|payer| self.holders.get(payer));
        let holder = queue.and_then(|queue| queue.get(&(job.submit_ms, job.app)));
        holder.map(|holder| &holder.cost).or_else(|| self.completed.get(&job.id))
    }

    /// The cost of a job once the charge for the interval that closes is distributed.
    pub fn after(&self, queue: &str, place: (i64, AppId), charge: &Charge, scheduler: &Scheduler) -> Credits {
        let mut left = charge.used.slots();
        for (other, Holder { cost, .. }) in self.holders.get(queue).into_iter().flatten() {
            let held = scheduler.app_usage(other.1);
            let paid = Kind::ALL.map(|kind| held[kind].min(left[kind]));
            if *other == place {
                let slots: i128 = paid.iter().map(|slots| i128::from(*slots)).sum();
                return Credits::from_units(cost.cost.units() + charge.rate.units() * slots);
            }
            Kind::ALL.into_iter().zip(paid).for_each(|(kind, paid)| left[kind] -= paid);
        }
        Credits::ZERO
    }

    /// Distributes the charges of a tick over jobs by the slots that they hold now. Returns the charged jobs.
    pub fn charge(&mut self, tick: &Tick, scheduler: &Scheduler) -> Vec<JobCost> {
        let mut charged = Vec::new();
        // Both are sorted by name.
        let mut queues = self.holders.iter_mut().peekable();
        for queue_tick in tick.queue_ticks.iter().filter(|queue_tick| queue_tick.charge.amount() > Credits::ZERO) {
            let name = queue_tick.queue.as_str();
            while queues.next_if(|(queue, _)| queue.as_str() < name).is_some() {}
            let Some((_, holders)) = queues.next_if(|(queue, _)| queue.as_str() == name) else { continue };
            let (left, done) = distribute_charge(&queue_tick.charge, holders, scheduler, &mut charged);
            debug_assert_eq!(left, PerKind::default(), "slots of {name} are held by none of its jobs");
            let done = done.iter().filter_map(|place| holders.remove(place));
            self.completed.extend(done.map(|holder| (holder.cost.job, holder.cost)));
        }
        charged
    }
}

/// Distributes one queue's charge over its jobs. Returns the slots that none of them holds, and the completed jobs that
/// hold none.
fn distribute_charge(
    charge: &Charge,
    holders: &mut BTreeMap<Place, Holder>,
    scheduler: &Scheduler,
    charged: &mut Vec<JobCost>,
) -> (PerKind<u32>, Vec<Place>) {
    let mut left = charge.used.slots();
    let mut done = Vec::new();
    for (place, Holder { cost, is_completed }) in holders {
        if left == PerKind::default() {
            break;
        }
        let held = scheduler.app_usage(place.1);
        if *is_completed && held == PerKind::default() {
            done.push(*place);
        }
        let mut paid = 0;
        for kind in Kind::ALL {
            let slots = held[kind].min(left[kind]);
            left[kind] -= slots;
            cost.slots[kind] += u64::from(slots);
            paid += i128::from(slots);
        }
        if paid > 0 {
            // No overflow: no job costs more than its queue ever had, far below the range.
            cost.cost = Credits::from_units(cost.cost.units() + charge.rate.units() * paid);
            charged.push(*cost);
        }
    }
    (left, done)
}

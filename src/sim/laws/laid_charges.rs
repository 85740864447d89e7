//! What a tick charges a queue is laid on its jobs and applications, to the last unit: of containers on the applications in
//! the order of their submissions.

use std::collections::BTreeMap;

use crate::engine::{ApplicationChange, ContainerCost};
use crate::model::{ApplicationId, Credits, JobId, PerPool};

use super::holdings::Holdings;

/// What applications have cost, and what this step still has to lay on jobs and applications.
#[derive(Clone, Debug, Default)]
pub(super) struct LaidCharges {
    costs: BTreeMap<ApplicationId, ContainerCost>,
    /// The cost of all applications, units.
    total: i128,
    /// What applications must have cost after this step.
    due: BTreeMap<ApplicationId, ContainerCost>,
    /// Units that the jobs of a queue must be charged in this step.
    due_of_jobs: BTreeMap<String, i128>,
}

// === impl LaidCharges ===

impl LaidCharges {
    /// The cost of all applications, units.
    pub(super) fn total(&self) -> i128 {
        self.total
    }

    /// A tick charges a queue for these slots.
    pub(super) fn charge(
        &mut self,
        queue: &str,
        tick: u64,
        rate: Credits,
        used: PerPool<u32>,
        holdings: &Holdings<'_>,
    ) {
        let tasks = i128::from(used.map) + i128::from(used.reduce);
        *self.due_of_jobs.entry(queue.to_owned()).or_default() += rate.units() * tasks;
        let mut left = used.container;
        for (application, slots) in holdings.of_applications(queue) {
            let slots = slots.min(left);
            left -= slots;
            if slots > 0 {
                let before = self.costs.get(&application).copied().unwrap_or_default();
                let cost = Credits::from_units(before.cost.units() + rate.units() * i128::from(slots));
                let cost = ContainerCost { tick, slots: before.slots + u64::from(slots), cost };
                self.due.insert(application, cost);
            }
        }
    }

    /// So many more units are laid on a job for which this account pays.
    pub(super) fn lay_on_job(&mut self, account: Option<&str>, job: JobId, units: i128) -> Result<(), String> {
        let due = account.and_then(|account| self.due_of_jobs.get_mut(account));
        let Some(due) = due else { return Err(format!("{job} of {account:?} is charged {units} units for nothing")) };
        *due -= units;
        Ok(())
    }

    /// Takes what changes say that applications have cost.
    pub(super) fn lay_on_applications(&mut self, changes: &[ApplicationChange]) -> Result<(), String> {
        for change in changes {
            let ApplicationChange::Charged { application, cost } = change else { continue };
            let due = self.due.remove(application);
            if due != Some(*cost) {
                return Err(format!("{application} has cost {cost:?}, and should have {due:?}"));
            }
            let before = self.costs.insert(*application, *cost).unwrap_or_default();
            self.total += cost.cost.units() - before.cost.units();
        }
        Ok(())
    }

    /// Nothing of what this step has charged is left.
    pub(super) fn end_step(&mut self) -> Result<(), String> {
        if let Some((application, cost)) = self.due.first_key_value() {
            return Err(format!("{application} must have cost {cost:?}, and nothing says so"));
        }
        let of_jobs = std::mem::take(&mut self.due_of_jobs);
        match of_jobs.iter().find(|(_, units)| **units != 0) {
            Some((queue, units)) => Err(format!("{units} units of what {queue} pays for tasks are laid on no job")),
            None => Ok(()),
        }
    }
}

//! What a tick charges is laid on jobs and applications, to the last unit.

use std::collections::BTreeMap;

use crate::engine::{ApplicationChange, ContainerCost};
use crate::market::{LaidCharge, SlotHolder};
use crate::model::{ApplicationId, JobId};

/// What applications have cost, and what this step still has to lay on jobs and applications.
#[derive(Clone, Debug, Default)]
pub(super) struct LaidCharges {
    costs: BTreeMap<ApplicationId, ContainerCost>,
    total: i128,
    /// What this step must charge, units.
    due: BTreeMap<SlotHolder, i128>,
}

impl LaidCharges {
    /// The cost of all applications, units.
    pub(super) fn total(&self) -> i128 {
        self.total
    }

    pub(super) fn charge(&mut self, laid: &[LaidCharge]) {
        for charge in laid {
            *self.due.entry(charge.holder).or_default() += charge.amount.units();
        }
    }

    pub(super) fn lay_on_job(&mut self, job: JobId, units: i128) -> Result<(), String> {
        self.lay(SlotHolder::Job(job), units)
    }

    pub(super) fn lay_on_applications(&mut self, changes: &[ApplicationChange]) -> Result<(), String> {
        for change in changes {
            let ApplicationChange::Charged { application, cost } = change else { continue };
            let before = self.costs.insert(*application, *cost).unwrap_or_default();
            let units = cost.cost.units() - before.cost.units();
            self.total += units;
            self.lay(SlotHolder::Application(*application), units)?;
        }
        Ok(())
    }

    fn lay(&mut self, holder: SlotHolder, units: i128) -> Result<(), String> {
        match self.due.remove(&holder) {
            Some(due) if due == units => Ok(()),
            due => Err(format!("{holder:?} is charged {units} units, {due:?} are laid on it")),
        }
    }

    /// Nothing of what this step has charged is left.
    pub(super) fn end_step(&mut self) -> Result<(), String> {
        match self.due.pop_first() {
            Some((holder, units)) => Err(format!("{units} units are laid on {holder:?}, and nothing says so")),
            None => Ok(()),
        }
    }
}

//! Costs of applications: what the ticks have laid on each of the charges of its queue.
//!
//! Invariant: with the costs of the queue's jobs they sum to what it was charged, exactly.

use crate::market::{ContainerUse, LaidCharge, SlotHolder, Tick};
use crate::model::Credits;

use super::change::ApplicationChange;
use super::container_cost::ContainerCost;
use super::table::Applications;

impl Applications {
    pub(crate) fn containers_of_queue(&self, queue: &str) -> ContainerUse {
        self.container_counts.of_queue(queue)
    }

    /// Adds what a tick has laid on applications.
    pub(crate) fn charge(&mut self, tick: &Tick) {
        for LaidCharge { holder, slot_ms, amount } in &tick.laid {
            let SlotHolder::Application(application) = *holder else { continue };
            let before = self.all.get(&application).map(|charged| charged.cost);
            self.violations.check(before.is_some(), || format!("{application} pays {amount} and is not known"));
            let Some(before) = before else { continue };
            // No overflow: no application costs more than its queue ever had, far below the range.
            let cost = Credits::from_units(before.cost.units() + amount.units());
            let slot_ms = before.slot_ms.saturating_add(slot_ms.container);
            let cost = ContainerCost { tick: tick.number, slot_ms, cost, ..before };
            self.change(ApplicationChange::Charged { application, cost });
        }
    }
}

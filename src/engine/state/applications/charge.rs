//! Costs of applications: each tick lays what its queue pays for containers on those that hold them, in the order of
//! submissions, at the rate of the charge.
//!
//! Invariant: with the costs of the queue's jobs they sum to the charge of the queue, exactly.

use crate::market::{Charge, ContainerUse, Tick};
use crate::model::{ApplicationId, Credits};

use super::change::ApplicationChange;
use super::container_cost::ContainerCost;
use super::table::Applications;

// === impl Applications: charges ===

impl Applications {
    /// Containers of a queue's applications as the tick after `last_tick` finds them.
    pub fn containers_of_queue(&self, queue: &str, last_tick: u64) -> ContainerUse {
        self.container_counts.of_queue(queue, last_tick)
    }

    /// Lays the charges of a tick on applications, by the containers that they hold now. Costs O(applications that hold
    /// containers of queues that pay for some).
    pub fn charge(&mut self, tick: &Tick) {
        let last_tick = tick.number.saturating_sub(1);
        for queue_tick in tick.queue_ticks.iter().filter(|queue_tick| queue_tick.charge.used.container > 0) {
            let Charge { rate, used } = queue_tick.charge;
            let mut left = u64::from(used.container);
            let mut paid = Vec::new();
            for (application, slots) in self.container_counts.holders(queue_tick.queue.as_str()) {
                let slots = slots.chargeable(last_tick).min(left);
                left -= slots;
                if slots > 0 {
                    paid.push((application, slots));
                }
                if left == 0 {
                    break;
                }
            }
            self.violations.check(left == 0, || {
                format!("{left} slots that queue {} pays for containers are held by none", queue_tick.queue)
            });
            for (application, slots) in paid {
                self.charge_application(application, tick.number, slots, rate);
            }
        }
    }

    fn charge_application(&mut self, application: ApplicationId, tick: u64, slots: u64, rate: Credits) {
        let Some(before) = self.all.get(&application).map(|charged| charged.cost) else { return };
        // No overflow: no application costs more than its queue ever had, far below the range.
        let cost = Credits::from_units(before.cost.units() + rate.units() * i128::from(slots));
        let cost = ContainerCost { tick, slots: before.slots.saturating_add(slots), cost };
        self.change(ApplicationChange::Charged { application, cost });
    }
}

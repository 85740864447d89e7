//! What must hold of the promises, by a recount.

use crate::model::{Kind, PerKind, Violations};
use crate::scheduler::view::View;

use super::Ledger;
use super::policy::Constraint;

impl Constraint {
    /// The ledger and the slots of the promised equal a recount.
    pub(super) fn check_promises(&self, view: &View<'_>, violations: &mut Violations) {
        let (mut ledger, mut held): (Ledger, PerKind<u64>) = (Ledger::default(), PerKind::default());
        // Any order gives the same sums.
        for (&id, job) in &self.jobs {
            let promise = job.promise();
            ledger.set(id, promise);
            let of_app = view.app(id).map_or(PerKind::default(), |app| app.held.slots());
            for kind in Kind::ALL {
                violations.check(job.held()[kind] == of_app[kind], || {
                    format!("{id} holds {of_app:?} slots, with its deadline {:?}", job.held())
                });
                if promise.is_some() {
                    held[kind] = held[kind].saturating_add(of_app[kind].into());
                }
            }
        }
        violations.check(ledger == self.ledger, || format!("promised {:?}, by a recount {ledger:?}", self.ledger));
        violations.check(held == self.held, || format!("the promised hold {:?}, by a recount {held:?}", self.held));
    }
}

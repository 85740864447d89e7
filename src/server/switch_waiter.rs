//! Who waits for the switch that waits for the market's next tick. There is at most one.

use std::cell::RefCell;

use tokio::sync::oneshot;

use crate::api::SwitchPlan;

/// The waiting operator, if any.
#[derive(Debug, Default)]
pub(crate) struct SwitchWaiter(RefCell<Option<oneshot::Sender<SwitchPlan>>>);

impl SwitchWaiter {
    /// Completes with what the switch did, or with why it was refused.
    pub(crate) fn wait(&self) -> oneshot::Receiver<SwitchPlan> {
        let (sender, receiver) = oneshot::channel();
        self.0.replace(Some(sender));
        receiver
    }

    /// Notifies the operator.
    pub(crate) fn end_wait(&self, plan: SwitchPlan) {
        if let Some(waiting) = self.0.take() {
            // The operator may have left.
            let _ = waiting.send(plan);
        }
    }
}

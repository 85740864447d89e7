//! Hands top-ups that the publisher of budgets has found to the owner, and what became of them back.

use std::rc::Rc;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::engine::{Event, Reply};
use crate::store::{FaultPoint, FoundTopUps};

use super::owner::Owner;

/// Ends with the publisher, or with the store.
pub(crate) async fn take_over_top_ups(owner: Rc<Owner>, mut found: UnboundedReceiver<FoundTopUps>) {
    while let Some(FoundTopUps { top_ups, answers }) = found.recv().await {
        let (reply, number) = owner.step(Event::TopUpsFound { top_ups });
        let Reply::TopUps(outcomes) = reply else { continue };
        if owner.wait_durable(number).await.is_err() {
            return;
        }
        FaultPoint::TopUpsTaken.pass();
        // A publisher that is closing finds them again, and the ledger knows them.
        let _: Result<(), _> = answers.send(outcomes);
    }
}

//! Top-ups that were found in a database of budgets.

use crate::engine::core::{Engine, Reply, Wait};
use crate::engine::state::{AuditEntry, Effect, Fact};
use crate::market::{TopUp, TopUpAnswer};
use crate::model::Now;

impl Engine {
    /// Takes over each that is not in the ledger. The answers wait until the ledger is durable.
    pub(super) fn on_top_ups_found(&mut self, top_ups: &[TopUp], now: Now) -> (Reply, Wait) {
        let Some(market) = &mut self.market else { return (Reply::TopUps(Vec::new()), Wait::Nothing) };
        let mut answers = Vec::new();
        for top_up in top_ups {
            let mut facts = Vec::new();
            let outcome = market.accounts.take_top_up(top_up, now, &mut facts);
            let entry = AuditEntry::new("sql-top-up", &*top_up.made_by).with("queue", &top_up.queue);
            let entry = entry.with("amount", top_up.amount).with("reference", &top_up.reference);
            match &outcome {
                Err(error) => self.outbox.audit(entry.with("why", error).denied()),
                Ok(_) if facts.is_empty() => {}
                Ok(_) => {
                    market.budgets_changed = true;
                    self.outbox.audit(entry);
                }
            }
            for fact in facts {
                self.outbox.record(Fact::Market(fact));
            }
            let outcome = outcome.map_err(|error| error.to_string());
            answers.push(TopUpAnswer { reference: top_up.reference.clone(), outcome });
        }
        // No tick comes that would write them.
        if !market.accounts.is_ruling() && std::mem::take(&mut market.budgets_changed) {
            self.outbox.request(Effect::WriteBudgetImage);
        }
        (Reply::TopUps(answers), Wait::All)
    }
}

//! A market that begins while the daemon runs: with the next session, which opens its files as a start does. Connections
//! stay and calls wait meanwhile, as during an upgrade.

use crate::config::settings::MarketSettings;

use super::handover::{SchedulerAnswer, SchedulerCall};

/// A switch to the market that needs one first.
pub(super) struct MarketOpening {
    pub(super) market: MarketSettings,
    /// The switch, which the next session does.
    pub(super) call: SchedulerCall,
}

impl MarketOpening {
    /// Answers that there is no market after all.
    pub(super) async fn refuse(mut self, why: &str) {
        let why = format!("no market can begin: {why}");
        tracing::error!("{why}");
        // The operator may have disconnected.
        let _: Result<_, _> = self.call.answer(&SchedulerAnswer::Refused { why }).await;
    }
}

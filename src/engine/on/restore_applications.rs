//! Restores the applications of earlier runs: they are as they were, and their workers are expected.

use std::sync::Arc;

use crate::engine::core::Engine;
use crate::engine::state::{ApplicationChange, RestoredApplication};
use crate::market::{Consumer, MarketFact};
use crate::model::{ApplicationId, Now};

#[derive(Debug, Default)]
pub struct RestoredApplications {
    /// All that are not over or have live containers, and the newest of the others.
    pub(crate) applications: Vec<RestoredApplication>,
    /// The latest start in an id; 0: there was none.
    pub(crate) last_start_ms: u64,
    /// Ids that were given out and not used: whose they are, and until when they are good, epoch ms.
    pub(crate) unused_ids: Vec<(ApplicationId, Arc<str>, i64)>,
    /// The signatures that were used, and those that are forgotten.
    pub(crate) stamps: Vec<ApplicationChange>,
}

impl RestoredApplications {
    /// The stamps of requests about applications, among all that are stored.
    #[must_use]
    pub(crate) fn stamps_among(facts: &[MarketFact]) -> Vec<ApplicationChange> {
        let is_here = |consumer| matches!(consumer, Consumer::Application | Consumer::Secret);
        let stamps = facts.iter().filter_map(|fact| match fact {
            MarketFact::Stamp(stamp) if is_here(stamp.consumer) => Some(ApplicationChange::Stamped(stamp.clone())),
            MarketFact::StampsForgotten(forgotten) if is_here(forgotten.consumer) => {
                Some(ApplicationChange::StampsForgotten(forgotten.clone()))
            }
            _ => None,
        });
        stamps.collect()
    }
}

impl Engine {
    /// Restores applications; before jobs, whose trackers are then expected together with theirs.
    pub(super) fn restore_applications(&mut self, restored: RestoredApplications, now: Now) {
        let RestoredApplications { applications, stamps, unused_ids, .. } = restored;
        for (id, user, until_ms) in unused_ids {
            self.applications.restore_id(id, user, until_ms, now);
        }
        self.cluster.scheduler.set_slot_size(self.applications.settings.slot);
        self.cluster.scheduler.set_locality_delay(self.applications.settings.locality_delay);
        let ids: Vec<ApplicationId> =
            applications.into_iter().map(|application| self.applications.restore(application, now)).collect();
        for stamp in &stamps {
            self.applications.restore_stamps(stamp);
        }
        for id in ids {
            let needs_app = self
                .applications
                .get(id)
                .is_some_and(|application| !application.is_over() || application.live().next().is_some());
            if needs_app {
                self.reenter_application(id);
            }
        }
    }
}

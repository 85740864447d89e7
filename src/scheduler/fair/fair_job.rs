//! A job as the fair policy keeps it.

use std::sync::Arc;

use crate::model::{Kind, Now, PerKind};
use crate::scheduler::AppSize;
use crate::scheduler::app::App;
use crate::scheduler::fifo::submission_key;
use crate::scheduler::key::AppKey;

use super::deficit::JobDeficit;
use super::locality_wait::LocalityWait;
use super::update::JobStanding;
use super::weight::WeightRule;

#[derive(Debug)]
pub(super) struct FairJob {
    pub(super) pool: usize,
    pub(super) user: Arc<str>,
    /// Its place in the line for admission.
    pub(super) place: AppKey,
    /// Whether it is set up and its end is not reached.
    pub(super) is_running: bool,
    pub(super) stage: FairJobStage,
    /// As of the last update.
    pub(super) standing: JobStanding,
    /// Used in the order by deficit alone.
    pub(super) deficit: PerKind<JobDeficit>,
    pub(super) wait: LocalityWait,
    /// Whether it is an application that asks for containers: it has nothing to set up, and begins by itself.
    pub(super) asks_containers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FairJobStage {
    Live,
    /// Its end is decided, its cleanup is still to run. 1.2.1 counts it until then, with all tasks that did not finish.
    Ending {
        unfinished: PerKind<u32>,
    },
}

impl FairJob {
    pub(super) fn new(app: &App, pool: usize) -> Self {
        Self {
            pool,
            user: app.spec.user.clone(),
            place: submission_key(&app.spec),
            is_running: app.size != AppSize::default(),
            stage: FairJobStage::Live,
            standing: JobStanding::default(),
            deficit: PerKind::default(),
            wait: LocalityWait::default(),
            asks_containers: app.containers.is_some(),
        }
    }

    /// Renews its weight, with the demand of the last update.
    pub(super) fn weigh(&mut self, now: Now, rule: &WeightRule) {
        let weight = |kind: Kind| rule.weight(self.standing.demand[kind], self.place.class, self.age_ms(now));
        self.standing.weight = PerKind::new(weight(Kind::Map), weight(Kind::Reduce));
    }

    pub(super) fn age_ms(&self, now: Now) -> u64 {
        u64::try_from(now.wall_ms.saturating_sub(self.place.start_ms)).unwrap_or(0)
    }
}

//! Slots that are lent to tasks that are promised none: no task is preempted, so each must end before its slot is needed.

use crate::model::Kind;
use crate::scheduler::AppId;
use crate::scheduler::node::Totals;

use super::DeadlineState;
use super::loan::{Lending, has_free};
use super::policy::{Constraint, LENT_FOR_US};

impl Constraint {
    /// Whether a task of an app gets a slot that is promised to no other before the task ends.
    pub(super) fn lending(&self, app: AppId, kind: Kind, totals: &Totals) -> Lending {
        let now_us = self.now_us();
        let supply = self.supply(totals).slots[kind].saturating_sub(totals.occupied[kind]);
        let soon_us = now_us.saturating_add(LENT_FOR_US);
        let job = self.jobs.get(&app).filter(|job| job.state != DeadlineState::Late);
        let is_free = has_free(kind, totals);
        match (kind, job) {
            (Kind::Reduce, _) if is_free && supply > self.ledger.most_reduces(now_us, soon_us) => Lending::Lent,
            (Kind::Map, None) if is_free && supply > self.ledger.most_maps(now_us, soon_us) => Lending::Lent,
            (Kind::Map, Some(job)) if is_free && supply > self.ledger.maps_at(now_us) => {
                let until_us = now_us.saturating_add_unsigned(job.map_us(self.config.model).max(1) - 1);
                let others = self.ledger.most_maps_beside(app, now_us, until_us);
                match supply > others.saturating_add(job.held().map.into()) {
                    true => Lending::Lent,
                    false => Lending::TooLong,
                }
            }
            _ => Lending::Promised,
        }
    }
}

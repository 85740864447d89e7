//! Which deadlines of unfinished jobs the scheduler could keep if it began to rule now.

use crate::model::{Kind, PerKind};
use crate::scheduler::AppId;

use super::{AdmissionSlots, AppDeadline, Ledger, MapClaim, Model, Promise, SlotSupply, TimedWork, admit};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnfinishedJob {
    pub(crate) app: AppId,
    pub(crate) deadline: AppDeadline,
    /// When it was submitted, epoch microseconds.
    pub(crate) arrival_us: i64,
    pub(crate) left: PerKind<u32>,
    pub(crate) held: PerKind<u32>,
}

/// The jobs whose deadlines the cluster does not keep, the earliest first: each is tested as a new one would be, on what is
/// left of it, beside those before it. `others`: slots that jobs without a deadline hold.
pub(crate) fn find_at_risk(
    mut jobs: Vec<UnfinishedJob>,
    (model, slots_for): (Model, AdmissionSlots),
    slots: PerKind<u64>,
    others: PerKind<u64>,
    now_us: i64,
) -> Vec<AppId> {
    jobs.sort_by_key(|job| (job.deadline.due_us, job.app));
    let free = |kind: Kind| slots[kind].saturating_sub(others[kind]);
    let supply = SlotSupply {
        slots: PerKind::new(free(Kind::Map), free(Kind::Reduce)),
        has_workers: slots != PerKind::default(),
    };
    let mut ledger = Ledger::default();
    let mut at_risk = Vec::new();
    for job in jobs {
        let UnfinishedJob { app, deadline, arrival_us, left, held } = job;
        let work = deadline.work.with_maps_left(left.map).with_reduces_left(left.reduce);
        let timed = TimedWork { work, arrival_us, now_us, deadline_us: deadline.due_us };
        let promise = match admit(&timed, model, &ledger, supply) {
            Ok(plan) => {
                let during_us = model.maps_us(&work, plan.maps).unwrap_or(0);
                let (claim, none) = (MapClaim::lasting(plan.maps.max(held.map)), MapClaim::default());
                let planned = MapClaim {
                    from_us: plan.start_us,
                    until_us: plan.start_us.saturating_add_unsigned(during_us),
                    ..claim
                };
                Promise {
                    maps: [if slots_for == AdmissionSlots::Now { claim } else { planned }, none],
                    reduces: left.reduce.max(held.reduce),
                    reduces_from_us: plan.latest_reduce_start_us,
                    until_us: deadline.due_us,
                }
            }
            Err(_) => {
                at_risk.push(app);
                let maps = [MapClaim::lasting(held.map), MapClaim::default()];
                Promise { maps, reduces: held.reduce, reduces_from_us: now_us, until_us: deadline.due_us }
            }
        };
        ledger.set(app, Some(promise));
    }
    at_risk
}

//! Promises as time passes: those that begin and end, jobs that are planned again, another deadline, jobs at risk, and a recount.

use crate::model::{Kind, Now, PerKind, Violations};
use crate::scheduler::AppId;
use crate::scheduler::app::App;
use crate::scheduler::change::Reaction;
use crate::scheduler::node::Totals;
use crate::scheduler::policy::{AppRefusal, PolicyView};

use super::policy::{Constraint, us};
use super::{
    AdmissionRule, AdmissionSlots, AppDeadline, DeadlineState, JobPlan, MapClaim, Model, Promise, PromiseLedger,
    RejectedJob, SlotSupply, TimedWork, admit,
};

/// Most jobs that are planned again at one look; the next look continues behind them.
const MOST_PLANNED: usize = 100;

impl Constraint {
    /// Begins and ends the promises whose time has come.
    pub(super) fn pass_moments(&mut self, reaction: &mut Reaction<'_>) {
        let now_us = self.now_us();
        while let Some((_, id)) = self.moments.first().copied().filter(|(at_us, _)| *at_us <= now_us) {
            self.renew(id, super::deadline_job::DeadlineJob::enter_next_phase);
            reaction.wake_app(id);
            reaction.rekey_app(id);
        }
    }

    pub(super) fn check_deadlines(&mut self, totals: &Totals, reaction: &mut Reaction<'_>) {
        let (model, now_us) = (self.config.model, self.now_us());
        let ids: Vec<(i64, AppId)> = self.by_due.iter().copied().collect();
        let mut unplanned = Vec::new();
        for (due_us, id) in ids {
            let Some(job) = self.jobs.get(&id).filter(|job| job.state != DeadlineState::Late) else { continue };
            let standing = job.standing(model, now_us);
            if standing.needs_plan && (self.config.escalates || !job.is_within_promise()) {
                unplanned.push((due_us, id));
            }
            if standing.state == job.state && !standing.are_reduces_long {
                continue;
            }
            if standing.state == DeadlineState::Late {
                self.missed.push(id);
            }
            self.renew(id, |job| job.set_standing(standing));
            reaction.wake_app(id);
            reaction.rekey_app(id);
        }
        self.plan_again(&unplanned, totals, reaction);
    }

    /// Tests jobs on what is left of them, as new ones would be; those that pass get a plan.
    fn plan_again(&mut self, jobs: &[(i64, AppId)], totals: &Totals, reaction: &mut Reaction<'_>) {
        let behind = self.planned_last.filter(|_| jobs.len() > MOST_PLANNED);
        let from = behind.map_or(0, |last| jobs.partition_point(|job| *job <= last));
        let (before, first) = jobs.split_at(from);
        for job in first.iter().chain(before).take(MOST_PLANNED) {
            self.planned_last = Some(*job);
            self.plan_one(job.1, totals, reaction);
        }
    }

    fn plan_one(&mut self, id: AppId, totals: &Totals, reaction: &mut Reaction<'_>) {
        let (model, slots, now_us) = (self.config.model, self.config.slots, self.now_us());
        let Some(job) = self.jobs.get(&id) else { return };
        let timed = TimedWork {
            work: job.work_left(model, now_us),
            arrival_us: job.arrival_us(),
            now_us,
            deadline_us: job.due_us(),
        };
        let own = self.ledger.get(id);
        self.ledger.set(id, None);
        let verdict = admit(&timed, model, &self.ledger, self.supply(totals));
        self.ledger.set(id, own);
        if let Ok(plan) = verdict {
            self.renew(id, |job| job.set_plan(plan, model, slots, now_us));
            reaction.wake_app(id);
            reaction.rekey_app(id);
        }
    }

    /// What keeps a deadline of an app, beside all promises but its own.
    pub(super) fn check_changed(
        &self,
        app: &App,
        name: &str,
        deadline: &AppDeadline,
        now: Now,
        view: &PolicyView<'_>,
    ) -> Result<Option<JobPlan>, AppRefusal> {
        let id = app.spec.id;
        let left =
            if app.is_running() { app.size.left } else { PerKind::new(deadline.work.maps, deadline.work.reduces) };
        let timed = TimedWork {
            work: deadline.work.with_maps_left(left.map).with_reduces_left(left.reduce),
            arrival_us: us(app.spec.start_ms),
            now_us: us(now.wall_ms),
            deadline_us: deadline.due_us,
        };
        // What the job holds is its own, promised or not.
        let counted = self.jobs.get(&id).map(|job| job.counted_held).unwrap_or_default();
        let mut supply = self.supply(view.totals);
        for kind in Kind::ALL {
            supply.slots[kind] = supply.slots[kind].saturating_add(app.held[kind].saturating_sub(counted[kind]).into());
        }
        let others = self.ledger.without(id);
        match admit(&timed, self.config.model, &others, supply) {
            Ok(plan) => Ok(Some(plan)),
            Err(_) if self.config.admission == AdmissionRule::Warn => Ok(None),
            Err(rejection) => Err(RejectedJob { name: name.to_owned(), rejection }.into()),
        }
    }

    pub(super) fn check_promises(&self, view: &PolicyView<'_>, violations: &mut Violations) {
        let (mut ledger, mut held): (PromiseLedger, PerKind<u64>) = (PromiseLedger::default(), PerKind::default());
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
    let mut ledger = PromiseLedger::default();
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

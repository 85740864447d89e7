//! The test that another deadline of an accepted job has to pass: that of submissions, on what is left of the job.

use crate::model::{Kind, Now, PerKind};
use crate::scheduler::admission::AppRefusal;
use crate::scheduler::app::App;
use crate::scheduler::view::View;

use super::policy::{Constraint, us};
use super::{Admission, AppDeadline, JobPlan, RejectedJob, TimedWork, admit};

impl Constraint {
    /// What keeps a deadline of an app, beside all promises but its own.
    pub(super) fn check_changed(
        &self,
        app: &App,
        name: &str,
        deadline: &AppDeadline,
        now: Now,
        view: &View<'_>,
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
            Err(_) if self.config.admission == Admission::Warn => Ok(None),
            Err(rejection) => Err(RejectedJob { name: name.to_owned(), rejection }.into()),
        }
    }
}

//! Decisions as a viewer may see them: without what is private of queues, and without those about attempts and containers whose
//! work is closed to the viewer.

use crate::api::Decision;
use crate::model::{FactNumber, JobId};
use crate::views::Views;

use super::viewer::Viewer;

/// The newest first.
pub(super) fn decisions<'a>(views: &'a Views, viewer: &'a Viewer) -> impl Iterator<Item = Decision> + 'a {
    views.decision_rows(|queue| viewer.sees_money_of(queue)).filter(|decision| is_open(decision, views, viewer))
}

/// The same of those about a job.
pub(super) fn decisions_of<'a>(
    views: &'a Views,
    viewer: &'a Viewer,
    job: JobId,
) -> impl Iterator<Item = Decision> + 'a {
    let rows = views.decision_rows_of(job, |queue| viewer.sees_money_of(queue));
    rows.filter(|decision| is_open(decision, views, viewer))
}

/// A decision, if it is open to the viewer.
pub(super) fn decision(views: &Views, viewer: &Viewer, number: FactNumber) -> Option<Decision> {
    let found = views.decision_row(number, |queue| viewer.sees_money_of(queue));
    found.filter(|decision| is_open(decision, views, viewer))
}

fn is_open(decision: &Decision, views: &Views, viewer: &Viewer) -> bool {
    if viewer.sees_all_parts() || (decision.attempt.is_none() && decision.container.is_none()) {
        return true;
    }
    let job = decision.job.and_then(|job| views.job(job)).map(|job| &*job.spec().user);
    let application = decision.application.and_then(|id| views.application(id));
    let user = job.or_else(|| application.map(|application| &*application.submitted().user));
    user.is_some_and(|user| viewer.sees_parts_of(user))
}

//! Who asks, and what is shown then, of decisions too: the API, the pages, the live stream and the log ask here alone.

use std::sync::Arc;

use crate::api::Decision;
use crate::engine::Caller;
use crate::market::Role;
use crate::model::{FactNumber, JobId};
use crate::views::Views;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Viewer {
    who: Who,
    is_money_public: bool,
    are_acls_on: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Stranger,
    /// Gives a name, which is believed as that of a job client is.
    Named(Arc<str>),
    User(Arc<str>),
    /// Has signed in, with the role of an administrator.
    Administrator(Arc<str>),
}

impl Viewer {
    /// Somebody who has proved nothing, where money is public or not, and access lists are on or not.
    pub(super) const fn stranger(is_money_public: bool, are_acls_on: bool) -> Self {
        Self { who: Who::Stranger, is_money_public, are_acls_on }
    }

    /// The same, of a name that is believed.
    pub(super) fn named(self, user: &str) -> Self {
        Self { who: Who::Named(user.into()), ..self }
    }

    pub(super) fn signed_in_as(self, user: &str, role: Role) -> Self {
        let who = match role {
            Role::Admin => Who::Administrator(user.into()),
            Role::User => Who::User(user.into()),
        };
        Self { who, ..self }
    }

    pub(super) fn signed_in(&self) -> Option<&str> {
        match &self.who {
            Who::Stranger | Who::Named(_) => None,
            Who::User(user) | Who::Administrator(user) => Some(user),
        }
    }

    /// Whether it is an administrator; none: the owner knows it of a name that is believed.
    pub(super) const fn is_administrator(&self) -> Option<bool> {
        match &self.who {
            Who::Administrator(_) => Some(true),
            Who::Stranger | Who::User(_) => Some(false),
            Who::Named(_) => None,
        }
    }

    /// Whether all rates, shares, budgets and costs are shown.
    pub(super) fn sees_all_money(&self) -> bool {
        self.is_money_public || matches!(self.who, Who::Administrator(_))
    }

    pub(super) fn sees_some_money(&self) -> bool {
        self.is_money_public || self.signed_in().is_some()
    }

    /// Whether those of a queue are. A queue is that of the user of its name.
    pub(super) fn sees_money_of(&self, queue: &str) -> bool {
        self.sees_all_money() || self.signed_in() == Some(queue)
    }

    /// Whether is shown what a job or an application of a user in a queue costs.
    pub(super) fn sees_cost_of(&self, user: &str, queue: &str) -> bool {
        self.sees_money_of(queue) || self.signed_in() == Some(user)
    }

    /// Whether more of every job and application is shown than its row in lists.
    pub(super) fn sees_all_parts(&self) -> bool {
        !self.are_acls_on || matches!(self.who, Who::Administrator(_))
    }

    /// Whether more of a user's job or application is shown, whatever its lists say.
    pub(super) fn sees_parts_of(&self, user: &str) -> bool {
        self.sees_all_parts() || (!user.is_empty() && *self.caller().user == *user)
    }

    /// The caller that access lists know it as; without a name: one that they never name.
    pub(super) fn caller(&self) -> Caller {
        match &self.who {
            Who::Stranger => Caller::named(""),
            Who::Named(user) | Who::User(user) => Caller::named(user.clone()),
            Who::Administrator(user) => Caller { has_admin_role: true, ..Caller::named(user.clone()) },
        }
    }
}

/// The newest first: without what is private of queues, and those about attempts and containers whose work is closed to the viewer.
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

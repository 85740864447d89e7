//! Users, as far as the views know anything of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::model::PerKind;
use crate::views::Shown;

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::Owner;
use super::address::part;
use super::answer::{Content, lasting};
use super::ask::Ask;
use super::listing::{Listing, RowPlace, SortKey};
use super::work::{Work, work_of, work_of_application};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct UserRow<'a> {
    user: &'a str,
    jobs: u64,
    applications: u64,
    /// Attempts that run.
    running: PerKind<u32>,
    containers: u64,
    /// Queues of unfinished work.
    queues: BTreeSet<&'a str>,
    /// When the last job or application ended, epoch ms.
    last_end_ms: Option<i64>,
}

/// Answers `/users`, by name.
pub(super) fn users<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &["user", "jobs", "applications", "last_end_ms"]);
    parameters.end()?;
    let number = |count: u64| SortKey::Number(i64::try_from(count).unwrap_or(i64::MAX));
    let rows = all_users(&ask.shown).into_iter().map(|(user, row)| {
        let key = match listing.sort() {
            "jobs" => number(row.jobs),
            "applications" => number(row.applications),
            "last_end_ms" => SortKey::Number(row.last_end_ms.unwrap_or(0)),
            _ => SortKey::Text(user.to_owned()),
        };
        (RowPlace(key, user.to_owned()), row)
    });
    Ok(listing.page(rows, lasting))
}

pub(super) fn user<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    let name = ask.parts.get(part::USER);
    let unknown = || {
        let detail = format!("nothing of a user {name:?} is known");
        Problem::new(ProblemName::NoSuchUser, detail).with_try("/api/v1/users")
    };
    all_users(&ask.shown).get(name).map(Content::one).ok_or_else(unknown)
}

fn all_users(shown: &Shown) -> BTreeMap<&str, UserRow<'_>> {
    let mut users: BTreeMap<&str, UserRow<'_>> = BTreeMap::new();
    for job in shown.views.jobs() {
        let row = add(&mut users, work_of(shown, job));
        row.jobs += u64::from(job.finish_ms().is_none());
        row.running.map += job.counts().map.live_attempts;
        row.running.reduce += job.counts().reduce.live_attempts;
    }
    for application in shown.views.applications() {
        let row = add(&mut users, work_of_application(application));
        row.applications += u64::from(!application.standing().state.is_over());
        row.containers += application.live_count() as u64;
    }
    users
}

fn add<'a, 'b>(users: &'b mut BTreeMap<&'a str, UserRow<'a>>, work: Work<'a>) -> &'b mut UserRow<'a> {
    let row = users.entry(work.user).or_insert_with(|| UserRow { user: work.user, ..UserRow::default() });
    match work.finish_ms {
        None => drop(row.queues.insert(work.queue)),
        Some(finish_ms) => row.last_end_ms = row.last_end_ms.max(Some(finish_ms)),
    }
    row
}

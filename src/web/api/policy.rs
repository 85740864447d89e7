//! The ruling policy with its groups, and the deadlines that it keeps.

use serde::Serialize;

use crate::api::{JobDeadline, ReportedJob, SchedulerReport};
use crate::engine::BodyFault;

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::{Owner, PlanRefusal};
use super::super::switch_plan::plan_switch;
use super::answer::{Content, lasting};
use super::ask::Ask;
use super::listing::{Listing, RowPlace, SortKey};

#[derive(Clone, Debug, PartialEq, Serialize)]
struct DeadlineRow<'a> {
    job: crate::model::JobId,
    name: &'a str,
    user: &'a str,
    queue: &'a str,
    state: &'a str,
    due_ms: i64,
    planned_start_ms: Option<i64>,
    min_maps: u32,
    min_reduces: u32,
    /// When all its reduces must have started, ms after its submission.
    reduce_start_limit_ms: i64,
}

/// Answers `/policy`: the report of `/scheduler?format=json` without its jobs, which have lists of their own.
pub(super) fn policy<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    let report = &ask.shown.overview.report;
    let mut report = SchedulerReport { jobs: Vec::new(), groups: report.groups.clone(), ..head_of(report) };
    report.hide_money(|queue| ask.viewer.sees_money_of(queue));
    let mut found = lasting(&report);
    if let Some(members) = found.as_object_mut() {
        members.remove("jobs");
        members.remove("jobs_left_out");
    }
    Ok(Content::One(found))
}

/// Answers `/policy/plan`: what a switch would do now.
pub(super) async fn plan<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let (to, move_to) = (parameters.take("to"), parameters.take("move_to"));
    parameters.end()?;
    let refused = |detail: String| {
        Problem::of_faults(ProblemName::InvalidRequest, vec![BodyFault { pointer: "to".to_owned(), detail }])
    };
    let to = to.ok_or_else(|| {
        refused("missing; expected fifo, capacity, fair, constraint, dynamic or a class name".to_owned())
    })?;
    let command = format!("jobtracker scheduler plan {}", if to.is_empty() { "NAME" } else { to.as_str() });
    plan_switch(ask.web, &ask.viewer, to, move_to).await.map(|plan| Content::one(&plan)).map_err(|refusal| {
        let why = refusal.to_string();
        match refusal {
            PlanRefusal::UnknownScheduler(why) => refused(why),
            PlanRefusal::NotAdministrator | PlanRefusal::Private => {
                Problem::new(ProblemName::Forbidden, why).with_try(command)
            }
            PlanRefusal::Busy => Problem::busy(why),
            PlanRefusal::Files(_) => Problem::new(ProblemName::Unavailable, why).with_try("jobtracker check-config"),
            PlanRefusal::Gone(gone) => Problem::from(gone),
        }
    })
}

/// The report without its lists.
fn head_of(report: &SchedulerReport) -> SchedulerReport {
    let SchedulerReport { policy, since_ms, by, at_ms, slots, price, .. } = report;
    SchedulerReport {
        policy: *policy,
        since_ms: *since_ms,
        by: by.clone(),
        at_ms: *at_ms,
        slots: *slots,
        price: price.clone(),
        ..SchedulerReport::default()
    }
}

/// Answers `/deadlines`, the earliest first; empty where the ruling scheduler keeps none.
pub(super) fn deadlines<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &["due_ms", "user", "queue", "state"]);
    parameters.end()?;
    let with_deadline = |job: &'_ ReportedJob| job.deadline.is_some();
    let jobs = ask.shown.overview.report.jobs.iter().filter(|job| with_deadline(job));
    let rows = jobs.filter_map(|job| {
        let deadline = job.deadline.as_ref()?;
        let key = match listing.sort() {
            "user" => SortKey::Text(job.user.clone()),
            "queue" => SortKey::Text(job.queue.clone()),
            "state" => SortKey::Text(job.state.clone()),
            _ => SortKey::Number(deadline.deadline_at_ms),
        };
        Some((RowPlace(key, job.job.to_string()), row(job, deadline)))
    });
    Ok(listing.page(rows, lasting))
}

fn row<'a>(job: &'a ReportedJob, deadline: &JobDeadline) -> DeadlineRow<'a> {
    DeadlineRow {
        job: job.job,
        name: &job.name,
        user: &job.user,
        queue: &job.queue,
        state: &job.state,
        due_ms: deadline.deadline_at_ms,
        planned_start_ms: deadline.planned_start_ms,
        min_maps: deadline.min_maps,
        min_reduces: deadline.min_reduces,
        reduce_start_limit_ms: deadline.reduce_start_limit_ms,
    }
}

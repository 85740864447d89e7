//! The page of the constraint scheduler: the jobs with a deadline, and two forms (seed 001, its web interface).

use askama::Template;

use crate::api::{CostUnit, ExactDecimal, JobDeadline, ReportedJob, SchedulerReport, Sourced, TaskCost};
use crate::model::PerKind;

use super::rows::{Rows, cut};
use super::time_text::format_time;

#[derive(Template)]
#[template(path = "constraint.html")]
pub(super) struct ConstraintPage<'a> {
    host: &'a str,
    has_forms: bool,
    slots: PerKind<u32>,
    jobs: Rows<ConstraintJobRow>,
    jobs_left_out: u64,
    others: usize,
    at: String,
}

struct ConstraintJobRow {
    id: String,
    user: String,
    name: String,
    deadline: String,
    left: String,
    state: String,
    maps: String,
    reduces: String,
    reduce_start_limit: String,
    map_cost: String,
    reduce_cost: String,
    copy_cost: String,
    filter_ratio: String,
}

impl<'a> ConstraintPage<'a> {
    /// `has_forms`: with the form that changes jobs.
    pub(super) fn new(host: &'a str, report: &SchedulerReport, has_forms: bool) -> Self {
        let mut due: Vec<_> = report.jobs.iter().filter_map(|job| Some((job, job.deadline.as_ref()?))).collect();
        due.sort_by_key(|(job, deadline)| (deadline.deadline_at_ms, job.submit_ms, job.job));
        let others = report.jobs.len() - due.len();
        let jobs = Rows::new(due, |(job, deadline)| ConstraintJobRow::new(job, deadline));
        ConstraintPage {
            host,
            has_forms,
            slots: report.slots,
            jobs_left_out: report.jobs_left_out.saturating_add(jobs.left_out as u64),
            jobs,
            others,
            at: format_time(report.at_ms),
        }
    }
}

impl ConstraintJobRow {
    fn new(job: &ReportedJob, deadline: &JobDeadline) -> Self {
        ConstraintJobRow {
            id: job.job.to_string(),
            user: cut(&job.user),
            name: cut(&job.name),
            deadline: format_time(deadline.deadline_at_ms),
            left: format!("{} s", seconds(deadline.left_ms)),
            state: job.state.clone(),
            maps: maps(job.running.map, deadline),
            reduces: format!("{} / {}", job.running.reduce, deadline.min_reduces),
            reduce_start_limit: format!("{} s", seconds(deadline.reduce_start_limit_ms)),
            map_cost: task_cost(&deadline.map_cost),
            reduce_cost: task_cost(&deadline.reduce_cost),
            copy_cost: with_source(&deadline.copy_ms_per_mb, " ms/MB"),
            filter_ratio: with_source(&deadline.filter_ratio, ""),
        }
    }
}

/// Running and least maps at a time, with the planned start where that is later.
fn maps(running: u32, deadline: &JobDeadline) -> String {
    let start = deadline.planned_start_ms.map(|start_ms| format!(" from {}", format_time(start_ms)));
    format!("{running} / {}{}", deadline.min_maps, start.unwrap_or_default())
}

fn task_cost(cost: &TaskCost) -> String {
    let of = match cost.of {
        CostUnit::Mb => "MB",
        CostUnit::Task => "task",
    };
    format!("{} ms/{of} ({})", short(cost.ms), cost.source.name())
}

fn with_source(number: &Sourced, unit: &str) -> String {
    format!("{}{unit} ({})", short(number.value), number.source.name())
}

/// A number without a fraction of nothing.
fn short(number: ExactDecimal) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Seconds with one decimal, cut.
fn seconds(ms: i64) -> String {
    let sign = if ms < 0 { "-" } else { "" };
    format!("{sign}{}.{}", ms.unsigned_abs() / 1_000, ms.unsigned_abs() % 1_000 / 100)
}

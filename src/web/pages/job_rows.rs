//! Jobs as rows of tables, in an order.

use std::cmp::Ordering;

use crate::engine::JobSnapshot;
use crate::model::PerKind;

use super::super::time_text::format_duration;
use super::asked::{Asked, encoded};
use super::block::{Column, SortLink, Table};
use super::piece::{Cell, Piece, ShownState, StateBar};
use super::viewer::View;

/// What jobs are put in order by.
type Compare = fn(&JobSnapshot, &JobSnapshot) -> Ordering;

/// The orders: the parameter's value, the column that it is the order of.
const ORDERS: [(&str, &str, Compare); 6] = [
    ("name", "Name", |one, other| one.name.cmp(&other.name)),
    ("user", "User", |one, other| one.user.cmp(&other.user)),
    ("queue", "Queue", |one, other| one.queue.cmp(&other.queue)),
    ("progress", "Progress", |one, other| permille(one).cmp(&permille(other))),
    ("submitted", "Submitted", |one, other| (one.submit_ms, one.id).cmp(&(other.submit_ms, other.id))),
    ("took", "Took", |one, other| length(one).cmp(&length(other))),
];
/// A job for a first try.
pub(super) const SUBMIT: &str = "jobtracker job submit --input in --output out --mapper cat --reducer NONE";
/// Newest first.
const USUAL: &str = "-submitted";

/// Puts jobs in the order that is asked for, and says which that is; an unknown one is the usual.
pub(super) fn sort_jobs(jobs: &mut [JobSnapshot], asked: &mut Asked) -> String {
    let wanted = asked.take("sort").unwrap_or_else(|| USUAL.to_owned());
    let (name, is_down) = wanted.strip_prefix('-').map_or((&*wanted, false), |name| (name, true));
    let Some((name, _, compare)) = ORDERS.iter().find(|(known, _, _)| *known == name) else {
        jobs.sort_by_key(|job| std::cmp::Reverse(job.submit_ms));
        return USUAL.to_owned();
    };
    jobs.sort_by(|one, other| if is_down { compare(other, one) } else { compare(one, other) });
    if is_down { format!("-{name}") } else { (*name).to_owned() }
}

/// A table of jobs; `order`: that of its columns may be changed, and is this.
pub(super) fn job_table(caption: &str, jobs: &[JobSnapshot], view: &View, order: Option<(&Asked, &str)>) -> Table {
    let mut columns: Vec<Column> = ["Job", "Name", "User", "Queue", "State", "Progress"].map(Column::text).into();
    columns.extend([Column::number("Maps done"), Column::number("Reduces done"), Column::number("Running")]);
    columns.extend([Column::text("Submitted"), Column::text("Took")]);
    if view.shows_costs() {
        columns.push(Column::number("Cost"));
    }
    if let Some((asked, order)) = order {
        for column in &mut columns {
            column.sort = ORDERS
                .iter()
                .find(|(_, label, _)| *label == column.label)
                .map(|(name, _, _)| sort_link(asked, name, order));
        }
    }
    let rows = jobs.iter().map(|job| job_row(job, view)).collect();
    Table::new(caption, columns, rows).or_empty(vec![Piece::text("No job is here. Submit one: "), Piece::code(SUBMIT)])
}

fn sort_link(asked: &Asked, name: &str, order: &str) -> SortLink {
    let (is_this, is_down) = (order.trim_start_matches('-') == name, order.starts_with('-'));
    let next = if is_this && !is_down { format!("-{name}") } else { name.to_owned() };
    let now = match (is_this, is_down) {
        (false, _) => "none",
        (true, false) => "ascending",
        (true, true) => "descending",
    };
    SortLink { to: asked.with("sort", &next), order: now }
}

fn job_row(job: &JobSnapshot, view: &View) -> Vec<Cell> {
    let mut row = vec![
        vec![job_link(job)],
        vec![Piece::foreign(&job.name)],
        vec![user_link(&job.user)],
        vec![queue_link(&job.queue)],
        vec![Piece::State(ShownState::of_job(job.state))],
        vec![Piece::Bar(StateBar::of_tasks(job.tasks, job.finished, job.running, job.finish_ms.is_some()))],
        part("tasks.map.finished", job.finished.map, job.tasks.map),
        part("tasks.reduce.finished", job.finished.reduce, job.tasks.reduce),
        vec![Piece::number("tasks.running", u64::from(job.running.map) + u64::from(job.running.reduce))],
        vec![Piece::moment(job.submit_ms)],
        vec![Piece::shown("took_ms", took_ms(job, view.at_ms()), format_duration(took_ms(job, view.at_ms())))],
    ];
    if view.shows_costs() {
        row.push(match view.cost(job) {
            Some(cost) => vec![Piece::number("cost", cost)],
            None => vec![Piece::text("–")],
        });
    }
    row
}

/// A number out of a whole, without a bar.
pub(super) fn part(metric: &'static str, of: u32, whole: u32) -> Cell {
    vec![Piece::number(metric, of), Piece::text(format!(" / {whole}"))]
}

/// How long a job has been there, ms, or was.
pub(super) fn took_ms(job: &JobSnapshot, at_ms: i64) -> i64 {
    job.finish_ms.unwrap_or(at_ms).saturating_sub(job.submit_ms).max(0)
}

/// The length of a job for an order: one that has not ended is longer than all that have, the oldest longest.
fn length(job: &JobSnapshot) -> (bool, i64) {
    match job.finish_ms {
        Some(end_ms) => (false, end_ms.saturating_sub(job.submit_ms)),
        None => (true, job.submit_ms.saturating_neg()),
    }
}

/// How much of a job is done.
pub(super) fn permille(job: &JobSnapshot) -> u64 {
    let sum = |counts: PerKind<u32>| u64::from(counts.map) + u64::from(counts.reduce);
    sum(job.finished) * 1_000 / sum(job.tasks).max(1)
}

pub(super) fn job_link(job: &JobSnapshot) -> Piece {
    Piece::link(format!("/jobs/{}", job.id), &job.id.to_string())
}

pub(super) fn queue_link(queue: &str) -> Piece {
    Piece::link(format!("/queues/{}", encoded(queue)), queue)
}

pub(super) fn user_link(user: &str) -> Piece {
    Piece::link(format!("/users/{}", encoded(user)), user)
}

pub(super) fn worker_link(worker: &str) -> Piece {
    Piece::link(format!("/workers/{}", encoded(worker)), worker)
}

//! The list of jobs, those of a user and of the past: where is my job, and which one is odd?

use std::collections::BTreeMap;

use crate::engine::JobSnapshot;
use crate::model::RunState;

use super::applications::{application_table, passes};
use super::asked::Asked;
use super::block::{Block, Column, Field, Form, Section, Table};
use super::error::Refused;
use super::job_filter::JobFilter;
use super::job_rows::{job_table, queue_link, sort_jobs, user_link};
use super::page::Page;
use super::piece::{Piece, ShownState};
use super::viewer::View;

/// The filter that the parameters of an address make.
pub(super) fn job_filter(asked: &mut Asked) -> Result<JobFilter, Refused> {
    let states = match asked.take("state") {
        None => Vec::new(),
        Some(word) => JobFilter::states_of(&word)
            .ok_or_else(|| Refused::unknown("state of jobs", &word, Some("/jobs?state=failed".to_owned())))?,
    };
    Ok(JobFilter {
        states,
        user: asked.take("user"),
        queue: asked.take("queue"),
        name: asked.take("name"),
        ..JobFilter::default()
    })
}

fn filter_form(asked: &Asked, state: &str, filter: &JobFilter) -> Block {
    let field = |name, label, value: &Option<String>| Field::text(name, label, value.clone().unwrap_or_default());
    Block::Form(Form {
        action: asked.path.clone(),
        label: "Filter",
        fields: vec![
            Field::choice("state", "State", state, JobFilter::STATES),
            field("user", "User", &filter.user),
            field("queue", "Queue", &filter.queue),
            field("name", "Part of the name", &filter.name),
        ],
        button: "Filter",
        ..Form::default()
    })
}

/// The list of the jobs that a filter found.
pub(super) fn jobs_page(
    view: &View,
    asked: &mut Asked,
    state: &str,
    filter: &JobFilter,
    (mut jobs, more): (Vec<JobSnapshot>, u64),
) -> Page {
    let order = sort_jobs(&mut jobs, asked);
    let live = jobs.iter().filter(|job| job.finish_ms.is_none()).count();
    let failed = jobs.iter().filter(|job| job.state == RunState::Failed).count();
    let count = jobs.len();
    let mut table = job_table("Jobs", &jobs, view, Some((asked, &order)));
    table.left_out = more;
    let found = view.views().applications().rev().filter(|application| passes(filter, state, application));
    let applications = application_table("Applications, the newest first", found.map(|found| &**found), view);
    let blocks = vec![filter_form(asked, state, filter), Block::Table(table.cut())];
    Page {
        title: format!("{count} jobs, {live} live, {failed} failed"),
        heading: vec![
            Piece::text("Jobs: "),
            Piece::number("jobs", count),
            Piece::text(", "),
            Piece::number("jobs.live", live),
            Piece::text(" live, "),
            Piece::number("jobs.failed", failed),
            Piece::text(" failed"),
        ],
        entry: "/jobs",
        sections: vec![
            Section::new("jobs", "Jobs", blocks),
            Section::new("applications", "Applications", vec![Block::Table(applications)]),
        ],
        refresh_s: 2,
        ..Page::default()
    }
}

#[derive(Default)]
struct OfUser {
    live: u64,
    succeeded: u64,
    failed: u64,
    killed: u64,
    running: u64,
    last_end_ms: Option<i64>,
}

pub(super) fn users_page(jobs: &[JobSnapshot], more: u64) -> Page {
    let mut users: BTreeMap<&str, OfUser> = BTreeMap::new();
    for job in jobs {
        let user = users.entry(&job.user).or_default();
        match job.state {
            RunState::Prep | RunState::Running => user.live += 1,
            RunState::Succeeded => user.succeeded += 1,
            RunState::Failed => user.failed += 1,
            RunState::Killed => user.killed += 1,
        }
        user.running += u64::from(job.running.map) + u64::from(job.running.reduce);
        user.last_end_ms = user.last_end_ms.max(job.finish_ms);
    }
    let columns = vec![
        Column::text("User"),
        Column::number("Live jobs"),
        Column::number("Attempts running"),
        Column::number("Succeeded"),
        Column::number("Failed"),
        Column::number("Killed"),
        Column::text("Last end"),
    ];
    let rows = users.iter().map(|(name, user)| {
        vec![
            vec![user_link(name)],
            vec![Piece::number("jobs.live", user.live)],
            vec![Piece::number("tasks.running", user.running)],
            vec![Piece::number("jobs.succeeded", user.succeeded)],
            vec![Piece::number("jobs.failed", user.failed)],
            vec![Piece::number("jobs.killed", user.killed)],
            user.last_end_ms.map_or_else(Vec::new, |end_ms| vec![Piece::moment(end_ms)]),
        ]
    });
    let table = Table::new("Users of the jobs that are known", columns, rows.collect()).cut();
    let mut blocks = vec![Block::Table(table.or_empty(vec![Piece::text("No job has been submitted yet.")]))];
    if more > 0 {
        blocks.push(Block::line(format!("{more} older jobs are not counted.")));
    }
    let live = users.values().filter(|user| user.live > 0).count();
    Page {
        title: format!("{live} of {} users have live jobs", users.len()),
        heading: vec![Piece::text("Users")],
        entry: "/users",
        sections: vec![Section::new("users", "Users", blocks)],
        refresh_s: 2,
        ..Page::default()
    }
}

/// A user with what runs, failed and ended.
pub(super) fn user_page(view: &View, user: &str, (jobs, more): (Vec<JobSnapshot>, u64)) -> Result<Page, Refused> {
    let is_own = view.signed_in() == Some(user);
    let of_user = view.views().applications().rev().filter(|application| &*application.submitted().user == user);
    let applications =
        application_table("Applications of the user, the newest first", of_user.map(|found| &**found), view);
    if jobs.is_empty() && applications.rows.is_empty() && !is_own {
        return Err(Refused::unknown("job of user", user, Some(format!("jobtracker job list --user {user}"))));
    }
    let (live, over): (Vec<JobSnapshot>, Vec<JobSnapshot>) = jobs.into_iter().partition(|job| job.finish_ms.is_none());
    let held: u64 = live.iter().map(|job| u64::from(job.running.map) + u64::from(job.running.reduce)).sum();
    let failed = over.iter().filter(|job| job.state == RunState::Failed).count();
    let mut queues: Vec<&str> = live.iter().chain(&over).map(|job| &*job.queue).collect();
    queues.sort_unstable();
    queues.dedup();
    let mut queue_cell = Vec::new();
    for queue in queues.into_iter().take(20) {
        queue_cell.extend([queue_link(queue), Piece::text(" ")]);
    }
    let mut summary = vec![
        ("Live jobs", vec![Piece::number("jobs.live", live.len())]),
        ("Attempts running", vec![Piece::number("tasks.running", held)]),
        (
            "Failed jobs",
            vec![
                Piece::number("jobs.failed", failed),
                Piece::text(" "),
                Piece::State(ShownState::of_health(failed == 0, if failed == 0 { "none" } else { "look below" })),
            ],
        ),
        ("Queues", queue_cell),
    ];
    summary.extend(
        view.balance(user).map(|balance| ("Balance", vec![Piece::number("budget", balance), Piece::text(" credits")])),
    );
    let live_table = job_table("Jobs of the user that are not over", &live, view, None).cut();
    let mut over_table = job_table("Jobs of the user that are over", &over, view, None);
    over_table.left_out = more;
    Ok(Page {
        title: format!("{} live jobs, {failed} failed · {user}", live.len()),
        heading: vec![Piece::text("User "), Piece::foreign(user)],
        entry: "/users",
        sections: vec![
            Section::new("now", "Now", vec![Block::Summary(summary)]),
            Section::new(
                "live",
                "Live",
                vec![Block::Table(live_table.or_empty(vec![Piece::text("No job of this user runs or waits.")]))],
            ),
            Section::new("applications", "Applications", vec![Block::Table(applications)]),
            Section::new(
                "over",
                "Over",
                vec![Block::Table(over_table.cut().or_empty(vec![Piece::text("No job of this user has ended.")]))],
            ),
        ],
        refresh_s: 2,
        ..Page::default()
    })
}

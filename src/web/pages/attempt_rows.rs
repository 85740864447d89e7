//! Attempts as rows, and the pages of attempts, tasks and the timeline of a job.

use std::collections::BTreeMap;

use crate::api::{AttemptDetail, JobDetail, TaskState};
use crate::engine::JobSnapshot;
use crate::model::{AttemptId, AttemptState, TaskId};

use super::super::pictures::{GanttBar, gantt, histogram};
use super::super::time_text::format_duration;
use super::asked::Asked;
use super::block::{Block, Column, Field, Form, Section, Table};
use super::error::Refused;
use super::job_rows::{job_link, worker_link};
use super::page::Page;
use super::piece::{Cell, Piece, ShownState};
use super::viewer::View;

const STATES: &[&str] = &["", "running", "succeeded", "failed", "killed", "preempted"];

pub(super) fn attempt_link(attempt: &AttemptDetail) -> Piece {
    Piece::link(format!("/attempts/{}", attempt.attempt), &attempt.attempt.to_string())
}

fn task_link(task: TaskId) -> Piece {
    Piece::link(format!("/tasks/{task}"), &task.to_string())
}

fn length_ms(attempt: &AttemptDetail, at_ms: i64) -> i64 {
    attempt.finish_ms.unwrap_or(at_ms).saturating_sub(attempt.launch_ms).max(0)
}

pub(super) fn attempt_table<'a>(caption: &str, attempts: impl Iterator<Item = &'a AttemptDetail>, at_ms: i64) -> Table {
    let mut columns =
        vec![Column::text("Attempt"), Column::text("Kind"), Column::text("State"), Column::text("Worker")];
    columns.extend([Column::text("Launched"), Column::text("Took"), Column::number("Slots"), Column::text("Words")]);
    let rows = attempts.map(|attempt| {
        let words = [&*attempt.diagnostics, &*attempt.status].into_iter().find(|words| !words.trim().is_empty());
        vec![
            vec![attempt_link(attempt)],
            vec![Piece::text(attempt.task)],
            vec![Piece::State(attempt_state(attempt))],
            vec![worker_link(&attempt.tracker)],
            vec![Piece::moment(attempt.launch_ms)],
            vec![Piece::shown("took_ms", length_ms(attempt, at_ms), format_duration(length_ms(attempt, at_ms)))],
            vec![Piece::number("slots", attempt.slots)],
            vec![Piece::foreign(words.unwrap_or_default())],
        ]
    });
    Table::new(caption, columns, rows.collect()).or_empty(vec![Piece::text("No attempt is in this state.")])
}

/// Filters attempts by the `state` and `worker` that are asked for.
fn filtered<'a>(attempts: &'a [AttemptDetail], asked: &mut Asked) -> Result<(Vec<&'a AttemptDetail>, Block), Refused> {
    let state = asked.take("state").unwrap_or_default();
    if !STATES.contains(&&*state) {
        return Err(Refused::unknown("state of attempts", &state, Some(asked.with("state", "failed"))));
    }
    let worker = asked.take("worker");
    let is_shown = |attempt: &&AttemptDetail| {
        (state.is_empty() || attempt_state(attempt).word == state)
            && worker.as_ref().is_none_or(|worker| *worker == *attempt.tracker)
    };
    let found = attempts.iter().filter(is_shown).collect();
    let form = Block::Form(Form {
        action: asked.path.clone(),
        label: "Filter",
        fields: vec![
            Field::choice("state", "State", state, STATES),
            Field::text("worker", "Worker", worker.unwrap_or_default()),
        ],
        button: "Filter",
        ..Form::default()
    });
    Ok((found, form))
}

/// The attempts of a job and how long they took.
pub(super) fn tasks_page(
    view: &View,
    asked: &mut Asked,
    job: &JobSnapshot,
    detail: &JobDetail,
) -> Result<Page, Refused> {
    let (found, form) = filtered(&detail.attempts, asked)?;
    let mut sections = Vec::new();
    let mut pictures = Vec::new();
    for (task, noun) in [("map", "maps"), ("reduce", "reduces")] {
        let is_done = |attempt: &&AttemptDetail| attempt.task == task && attempt.state == AttemptState::Succeeded;
        let durations: Vec<i64> =
            detail.attempts.iter().filter(is_done).map(|attempt| length_ms(attempt, view.at_ms())).collect();
        if !durations.is_empty() {
            pictures.push(Block::Picture(histogram(noun, &durations)));
        }
    }
    let slowest = detail
        .attempts
        .iter()
        .filter(|attempt| attempt.state == AttemptState::Succeeded)
        .max_by_key(|attempt| length_ms(attempt, view.at_ms()));
    if let Some(slowest) = slowest {
        pictures.push(Block::Line(vec![
            Piece::text("The slowest attempt: "),
            attempt_link(slowest),
            Piece::text(format!(", {} on ", format_duration(length_ms(slowest, view.at_ms())))),
            worker_link(&slowest.tracker),
        ]));
    }
    if !pictures.is_empty() {
        sections.push(Section::new("durations", "How long attempts took", pictures));
    }
    let count = found.len();
    let mut table =
        attempt_table("Attempts: those that have not succeeded first", found.into_iter(), view.at_ms()).cut();
    table.left_out += detail.attempts_left_out;
    sections.push(Section::new("attempts", "Attempts", vec![form, Block::Table(table)]));
    Ok(Page {
        title: format!("{count} attempts · {}", job.id),
        heading: vec![Piece::text("Attempts of "), job_link(job)],
        entry: "/jobs",
        sections,
        refresh_s: if job.finish_ms.is_some() { 0 } else { 2 },
        stock: Some(format!("/jobdetails.jsp?jobid={}", job.id)),
        ..Page::default()
    })
}

pub(super) fn task_page(view: &View, task: TaskId, job: &JobSnapshot, detail: &JobDetail) -> Result<Page, Refused> {
    let mut attempts: Vec<&AttemptDetail> =
        detail.attempts.iter().filter(|attempt| attempt.attempt.task == task).collect();
    if attempts.is_empty() {
        return Err(Refused::unknown("attempt of task", &task.to_string(), Some(format!("/jobs/{}", task.job))));
    }
    attempts.sort_by_key(|attempt| attempt.attempt);
    let mut blocks = vec![Block::Table(attempt_table("Attempts of the task", attempts.iter().copied(), view.at_ms()))];
    for attempt in attempts.iter().filter(|attempt| !attempt.diagnostics.trim().is_empty()) {
        blocks.push(Block::Line(vec![attempt_link(attempt), Piece::text(" said:")]));
        blocks.push(Block::words(&attempt.diagnostics));
    }
    Ok(Page {
        title: format!("{} attempts · {task}", attempts.len()),
        heading: vec![Piece::text("Task "), Piece::code(task.to_string()), Piece::text(" of "), job_link(job)],
        entry: "/jobs",
        sections: vec![Section::new("attempts", "Attempts", blocks)],
        refresh_s: if job.finish_ms.is_some() { 0 } else { 2 },
        ..Page::default()
    })
}

pub(super) fn attempt_page(view: &View, id: AttemptId, job: &JobSnapshot, detail: &JobDetail) -> Result<Page, Refused> {
    let Some(attempt) = detail.attempts.iter().find(|attempt| attempt.attempt == id) else {
        return Err(Refused::unknown("attempt", &id.to_string(), Some(format!("/jobs/{}/tasks", id.task.job))));
    };
    let state = attempt_state(attempt);
    let mut summary = vec![
        ("State", vec![Piece::State(state)]),
        ("Task", vec![task_link(id.task)]),
        ("Job", vec![job_link(job), Piece::text(" "), Piece::foreign(&job.name)]),
        ("Worker", vec![worker_link(&attempt.tracker)]),
        ("Launched", vec![Piece::moment(attempt.launch_ms)]),
        (
            "Took",
            vec![Piece::shown(
                "took_ms",
                length_ms(attempt, view.at_ms()),
                format_duration(length_ms(attempt, view.at_ms())),
            )],
        ),
        ("Slots", vec![Piece::number("slots", attempt.slots)]),
    ];
    for (name, moment) in [("Copied", attempt.shuffle_ms), ("Merged", attempt.sort_ms), ("Ended", attempt.finish_ms)] {
        summary.extend(moment.map(|moment| (name, vec![Piece::moment(moment)])));
    }
    let mut blocks = vec![Block::Summary(summary)];
    for (name, words) in [("Its diagnostics:", &attempt.diagnostics), ("Its last status:", &attempt.status)] {
        if !words.trim().is_empty() {
            blocks.push(Block::line(name));
            blocks.push(Block::words(words));
        }
    }
    blocks.push(Block::line("Its logs are on its worker:"));
    blocks.push(Block::Commands(vec![format!("jobtracker job logs {id}")]));
    Ok(Page {
        title: format!("{} · {id}", state.word),
        heading: vec![Piece::text("Attempt "), Piece::code(id.to_string()), Piece::text(" "), Piece::State(state)],
        entry: "/jobs",
        sections: vec![Section::new("attempt", "The attempt", blocks)],
        refresh_s: if attempt.is_live() { 2 } else { 0 },
        ..Page::default()
    })
}

pub(super) fn attempts_page(
    view: &View,
    asked: &mut Asked,
    details: &[(JobSnapshot, JobDetail)],
) -> Result<Page, Refused> {
    let attempts: Vec<AttemptDetail> = details.iter().flat_map(|(_, detail)| detail.attempts.iter().cloned()).collect();
    let (mut found, form) = filtered(&attempts, asked)?;
    found.sort_by_key(|attempt| std::cmp::Reverse((attempt.finish_ms.unwrap_or(i64::MAX), attempt.attempt)));
    let mut words: BTreeMap<&str, usize> = BTreeMap::new();
    for attempt in found.iter().filter(|attempt| attempt_state(attempt).word == "failed") {
        *words.entry(attempt.diagnostics.lines().next().unwrap_or_default()).or_default() += 1;
    }
    let mut words: Vec<_> = words.into_iter().collect();
    words.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rows = words
        .into_iter()
        .take(20)
        .map(|(words, count)| vec![vec![Piece::foreign(words)], vec![Piece::number("attempts.failed", count)]]);
    let groups = Table::new(
        "Failures by the first line of their words",
        vec![Column::text("Words"), Column::number("Attempts")],
        rows.collect(),
    );
    let count = found.len();
    let table = attempt_table("Attempts, the latest first", found.into_iter(), view.at_ms()).cut();
    let mut blocks = vec![
        form,
        Block::line(format!("Of the {} newest jobs; /attempts?job=JOB has those of one.", details.len())),
        Block::Table(table),
    ];
    if !groups.rows.is_empty() {
        blocks.push(Block::Table(groups));
    }
    Ok(Page {
        title: format!("{count} attempts"),
        heading: vec![Piece::text("Attempts")],
        entry: "/jobs",
        sections: vec![Section::new("attempts", "Attempts", blocks)],
        refresh_s: 2,
        ..Page::default()
    })
}

/// The timeline of a job, between `since` and `until` if they are asked for.
pub(super) fn timeline_page(
    view: &View,
    asked: &mut Asked,
    job: &JobSnapshot,
    detail: &JobDetail,
) -> Result<Page, Refused> {
    let mut moment = |name: &'static str, usual: i64| match asked.take(name) {
        None => Ok(usual),
        Some(text) => text.parse().map_err(|_| Refused::unknown("moment, in ms since 1970,", &text, None)),
    };
    let end_ms = job.finish_ms.unwrap_or(view.at_ms()).max(job.submit_ms + 1);
    let (since_ms, until_ms): (i64, i64) = (moment("since", job.submit_ms)?, moment("until", end_ms)?);
    if since_ms >= until_ms {
        return Err(Refused::unknown(
            "span of time",
            &format!("from {since_ms} to {until_ms}"),
            Some(asked.path.clone()),
        ));
    }
    let end_of = |attempt: &AttemptDetail| attempt.finish_ms.unwrap_or(end_ms);
    let within = detail.attempts.iter().filter(|attempt| attempt.launch_ms < until_ms && end_of(attempt) > since_ms);
    let bars: Vec<GanttBar> = within
        .map(|attempt| GanttBar {
            worker: attempt.tracker.to_string(),
            name: attempt.attempt.to_string(),
            class: attempt_state(attempt).class,
            from_ms: attempt.launch_ms,
            to_ms: end_of(attempt).max(attempt.launch_ms),
        })
        .collect();
    let slowest = bars.iter().max_by_key(|bar| bar.to_ms - bar.from_ms);
    let title = match slowest {
        Some(bar) => {
            format!("{} attempts, the longest {}: {} s", bars.len(), bar.name, (bar.to_ms - bar.from_ms) / 1_000)
        }
        None => "No attempt ran in this span".to_owned(),
    };
    let ranges = span_links(&asked.path, since_ms, until_ms);
    let mut blocks = vec![Block::Line(ranges), Block::Picture(gantt(title, bars, (since_ms, until_ms)))];
    if detail.attempts_left_out > 0 {
        blocks.push(Block::line(format!(
            "{} attempts that have succeeded are not among them.",
            detail.attempts_left_out
        )));
    }
    Ok(Page {
        title: format!("Timeline · {}", job.id),
        heading: vec![
            Piece::text("Timeline of "),
            job_link(job),
            Piece::text(" "),
            Piece::State(ShownState::of_job(job.state)),
        ],
        entry: "/jobs",
        sections: vec![Section::new("timeline", "Timeline", blocks)],
        refresh_s: if job.finish_ms.is_some() { 0 } else { 2 },
        ..Page::default()
    })
}

/// Links from a span of time to those around it, to its middle, and to all.
fn span_links(path: &str, since_ms: i64, until_ms: i64) -> Cell {
    let span = until_ms - since_ms;
    let range = |words: &str, since: i64, until: i64| Piece::link(format!("{path}?since={since}&until={until}"), words);
    vec![
        range("Earlier", since_ms - span / 2, until_ms - span / 2),
        Piece::text(" · "),
        range("Later", since_ms + span / 2, until_ms + span / 2),
        Piece::text(" · "),
        range("Closer", since_ms + span / 4, until_ms - span / 4),
        Piece::text(" · "),
        Piece::link(path.to_owned(), "All"),
    ]
}

fn attempt_state(attempt: &AttemptDetail) -> ShownState {
    let state = match attempt.state {
        AttemptState::Succeeded => TaskState::Succeeded,
        AttemptState::Failed | AttemptState::FailedUnclean => TaskState::Failed,
        AttemptState::Killed | AttemptState::KilledUnclean if attempt.is_preempted => TaskState::Preempted,
        AttemptState::Killed | AttemptState::KilledUnclean => TaskState::Killed,
        AttemptState::Unassigned => TaskState::Waiting,
        AttemptState::Running | AttemptState::CommitPending => TaskState::Running,
    };
    ShownState::of_task(state)
}

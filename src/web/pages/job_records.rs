//! Counters, configuration and completion events of a job, the first two beside those of another job: did it do what I meant?

use std::collections::BTreeMap;

use crate::api::{JobCounter, JobEvent};
use crate::engine::JobSnapshot;
use crate::model::JobId;

use super::super::time_text::format_duration;
use super::asked::Asked;
use super::block::{Block, Column, Field, Form, Section, Table};
use super::job_rows::job_link;
use super::page::Page;
use super::piece::{Cell, Foreign, Piece};

pub(super) const MOST_EVENTS: usize = 500;
/// Rows of counters and of configurations.
const MOST_VALUES: usize = 5_000;

/// Another job that one is held beside, and what it has.
pub(super) type Beside<T> = Option<(JobId, T)>;

fn page(job: &JobSnapshot, what: &'static str, sections: Vec<Section>) -> Page {
    Page {
        title: format!("{what} · {} · {}", Foreign::new(&job.name).shown, job.id),
        heading: vec![Piece::text(format!("{what} of ")), job_link(job)],
        entry: "/jobs",
        sections,
        ..Page::default()
    }
}

/// The form that holds it beside another job.
fn form(asked: &Asked, beside: Option<JobId>) -> Block {
    Block::Form(Form {
        action: asked.path.clone(),
        label: "Compare",
        fields: vec![Field::text("with", "Compare with job", beside.map(|job| job.to_string()).unwrap_or_default())],
        button: "Compare",
        ..Form::default()
    })
}

/// The counters; `is_over`: of all of it.
pub(super) fn counters_page(
    asked: &Asked,
    job: &JobSnapshot,
    counters: &[JobCounter],
    beside: &Beside<Vec<JobCounter>>,
) -> Page {
    let mut blocks = vec![form(asked, beside.as_ref().map(|(other, _)| *other))];
    if job.finish_ms.is_none() {
        blocks.push(Block::line("It runs: these are the counters of the attempts that are done."));
    }
    blocks.push(Block::Table(match beside {
        None => counter_table(counters),
        Some((other, theirs)) => compared_counters(*other, counters, theirs),
    }));
    let section = Section::new("counters", "Counters", blocks);
    Page { stock: Some(format!("/jobdetails.jsp?jobid={}", job.id)), ..page(job, "Counters", vec![section]) }
}

fn counter_table(counters: &[JobCounter]) -> Table {
    let mut columns = vec![Column::text("Counter"), Column::text("Group"), Column::number("Value")];
    columns.extend([Column::number("Smallest task"), Column::number("Median"), Column::number("Largest task")]);
    let rows = counters.iter().map(|counter| {
        let of_tasks = |metric: &'static str, value: Option<i64>| -> Cell {
            value.map(|value| Piece::number(metric, value)).into_iter().collect()
        };
        let tasks = counter.tasks;
        vec![
            vec![Piece::foreign(&counter.name)],
            vec![Piece::foreign(&counter.group)],
            vec![Piece::number("counter", counter.value)],
            of_tasks("counter.smallest", tasks.map(|tasks| tasks.smallest)),
            of_tasks("counter.median", tasks.map(|tasks| tasks.median)),
            of_tasks("counter.largest", tasks.map(|tasks| tasks.largest)),
        ]
    });
    let caption =
        "Counters, over all tasks, and of the tasks that are done the smallest, the middle and the largest value";
    Table::new(caption, columns, rows.take(MOST_VALUES).collect())
        .or_empty(vec![Piece::text("It has none yet: the first come with the first attempt that is done.")])
}

/// What has changed most comes first: by the part of the larger value that the difference is.
fn compared_counters(other: JobId, counters: &[JobCounter], theirs: &[JobCounter]) -> Table {
    let mut by_name: BTreeMap<(&str, &str), [Option<&JobCounter>; 2]> = BTreeMap::new();
    for (place, all) in [counters, theirs].into_iter().enumerate() {
        for counter in all {
            by_name.entry((&counter.group_id, &counter.id)).or_default()[place] = Some(counter);
        }
    }
    let value = |counter: Option<&JobCounter>| counter.map_or(0, |counter| counter.value);
    let permille = |own: i64, their: i64| {
        let most = i128::from(own.unsigned_abs().max(their.unsigned_abs())).max(1);
        (i128::from(own) - i128::from(their)).abs() * 1_000 / most
    };
    let mut pairs: Vec<_> = by_name.into_values().collect();
    pairs.sort_by_key(|[own, their]| std::cmp::Reverse(permille(value(*own), value(*their))));
    let rows = pairs.into_iter().take(MOST_VALUES).filter_map(|[own, their]| {
        let named = own.or(their)?;
        let shown = |metric: &'static str, counter: Option<&JobCounter>| match counter {
            Some(counter) => vec![Piece::number(metric, counter.value)],
            None => vec![Piece::text("–")],
        };
        let difference = i128::from(value(own)) - i128::from(value(their));
        Some(vec![
            vec![Piece::foreign(&named.name)],
            vec![Piece::foreign(&named.group)],
            shown("counter", own),
            shown("counter.other", their),
            vec![Piece::number("counter.difference", difference)],
        ])
    });
    let mut columns = vec![Column::text("Counter"), Column::text("Group"), Column::number("Here")];
    columns.extend([Column::number("There"), Column::number("Difference")]);
    let caption = format!("Counters beside those of {other}, what differs most first");
    Table::new(caption, columns, rows.collect()).or_empty(vec![Piece::text("Neither has any.")])
}

/// The configuration, secrets blanked.
pub(super) fn conf_page(
    asked: &Asked,
    job: &JobSnapshot,
    conf: &[(String, String)],
    beside: &Beside<Vec<(String, String)>>,
) -> Page {
    let table = match beside {
        None => {
            let rows = conf.iter().map(|(key, value)| vec![vec![Piece::foreign(key)], vec![Piece::foreign(value)]]);
            let columns = vec![Column::text("Key"), Column::text("Value")];
            Table::new("Configuration, by key", columns, rows.take(MOST_VALUES).collect())
                .or_empty(vec![Piece::text("It is not kept any more: it goes with the job's history.")])
        }
        Some((other, theirs)) => compared_conf(*other, conf, theirs),
    };
    let blocks = vec![form(asked, beside.as_ref().map(|(other, _)| *other)), Block::Table(table)];
    let section = Section::new("conf", "Configuration", blocks);
    Page { stock: Some(format!("/jobconf.jsp?jobid={}", job.id)), ..page(job, "Configuration", vec![section]) }
}

fn compared_conf(other: JobId, conf: &[(String, String)], theirs: &[(String, String)]) -> Table {
    let mut by_key: BTreeMap<&str, [Option<&str>; 2]> = BTreeMap::new();
    for (place, all) in [conf, theirs].into_iter().enumerate() {
        for (key, value) in all {
            by_key.entry(key).or_default()[place] = Some(value);
        }
    }
    let mut pairs: Vec<_> = by_key.into_iter().collect();
    pairs.sort_by_key(|(_, [own, their])| own == their);
    let rows = pairs.into_iter().take(MOST_VALUES).map(|(key, [own, their])| {
        let shown =
            |value: Option<&str>| value.map_or_else(|| vec![Piece::text("–")], |value| vec![Piece::foreign(value)]);
        let same = if own == their { "same" } else { "differs" };
        vec![vec![Piece::foreign(key)], vec![Piece::text(same)], shown(own), shown(their)]
    });
    let columns = vec![Column::text("Key"), Column::text("Differs"), Column::text("Here"), Column::text("There")];
    let caption = format!("Configuration beside that of {other}, what differs first");
    Table::new(caption, columns, rows.collect()).or_empty(vec![Piece::text("Neither is kept any more.")])
}

/// The completion events from a number on.
pub(super) fn events_page(asked: &Asked, job: &JobSnapshot, first: usize, events: &[JobEvent]) -> Page {
    let rows = events.iter().take(MOST_EVENTS).map(|event| {
        let attempt = event.attempt.to_string();
        vec![
            vec![Piece::number("event", event.number)],
            vec![Piece::link(format!("/attempts/{attempt}"), &attempt)],
            vec![Piece::text(event.task)],
            vec![Piece::text(event.status)],
            vec![Piece::foreign(&event.tracker)],
            vec![Piece::shown("took_ms", event.run_time_ms, format_duration(event.run_time_ms.into()))],
        ]
    });
    let mut columns = vec![Column::number("Event"), Column::text("Attempt"), Column::text("Kind")];
    columns.extend([Column::text("Status"), Column::text("Worker"), Column::text("Took")]);
    let table = Table::new(format!("Completion events from number {first} on"), columns, rows.collect())
        .or_empty(vec![Piece::text("No attempt has ended from there on, or the events are not kept any more.")]);
    let mut links: Cell = Vec::new();
    if first > 0 {
        let before = first.saturating_sub(MOST_EVENTS);
        links.extend([Piece::link(asked.with("from", &before.to_string()), "Earlier"), Piece::text(" ")]);
    }
    if events.len() > MOST_EVENTS {
        links.push(Piece::link(asked.with("from", &(first + MOST_EVENTS).to_string()), "Later"));
    }
    page(
        job,
        "Completion events",
        vec![Section::new("events", "Completion events", vec![Block::Table(table), Block::Line(links)])],
    )
}

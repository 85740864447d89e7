//! Applications: in lists beside jobs, and one of them with the grid of its items.

use std::collections::BTreeMap;

use crate::api::TaskState;
use crate::api::applications::{ApplicationState, ItemCounts};
use crate::engine::{Container, ItemStanding, Items, RequestType};
use crate::model::ApplicationId;
use crate::views::{ApplicationView, RequestView};

use super::super::pictures::grid;
use super::super::time_text::format_duration;
use super::block::{Block, Column, Section, Table};
use super::error::Refused;
use super::job_filter::JobFilter;
use super::job_rows::{queue_link, user_link, worker_link};
use super::page::Page;
use super::piece::{Cell, Foreign, Piece, ShownState};
use super::viewer::View;

/// Most parts of a list of items.
const MOST_PARTS: usize = 200;

fn shown_state(state: ApplicationState) -> ShownState {
    match state {
        ApplicationState::Accepted => ShownState::of_named_task(TaskState::Running, "accepted"),
        ApplicationState::Running => ShownState::of_task(TaskState::Running),
        ApplicationState::Finished => ShownState::of_named_task(TaskState::Succeeded, "finished"),
        ApplicationState::Failed => ShownState::of_task(TaskState::Failed),
        ApplicationState::Killed => ShownState::of_task(TaskState::Killed),
    }
}

/// Whether an application passes the filter of a list of jobs; `word`: the state that is asked for.
pub(super) fn passes(filter: &JobFilter, word: &str, application: &ApplicationView) -> bool {
    let (submitted, state) = (application.submitted(), application.standing().outcome());
    let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
    let is_state = match word {
        "" => true,
        "live" => !state.is_over(),
        "over" => state.is_over(),
        "running" => state == ApplicationState::Running || state == ApplicationState::Accepted,
        "succeeded" => state == ApplicationState::Finished,
        "failed" => state == ApplicationState::Failed,
        "killed" => state == ApplicationState::Killed,
        _ => false,
    };
    let has_name = |part: &String| submitted.name.to_lowercase().contains(&part.to_lowercase());
    is_state
        && is(&filter.user, &submitted.user)
        && is(&filter.queue, &submitted.queue)
        && filter.name.as_ref().is_none_or(has_name)
}

/// How many items are done, of all.
fn items_done(ItemCounts { total, done }: ItemCounts) -> [Piece; 3] {
    [Piece::number("items.done", done), Piece::text(" of "), Piece::number("items", total)]
}

pub(super) fn application_table<'a>(
    caption: &str,
    applications: impl Iterator<Item = &'a ApplicationView>,
    view: &View,
) -> Table {
    let mut columns: Vec<Column> = ["Application", "Name", "User", "Queue", "State"].map(Column::text).into();
    columns.extend(["Containers running", "Wanted", "Complete", "Failed", "Items done"].map(Column::number));
    columns.extend([Column::text("Submitted"), Column::text("Took")]);
    if view.shows_costs() {
        columns.push(Column::number("Cost"));
    }
    let rows = applications.map(|application| {
        let (submitted, standing, totals) = (application.submitted(), application.standing(), application.totals());
        let took_ms = standing.finished_ms.unwrap_or(view.at_ms()).saturating_sub(submitted.submitted_ms).max(0);
        let mut row: Vec<Cell> = vec![
            vec![Piece::link(format!("/applications/{}", application.id()), &application.id().to_string())],
            vec![Piece::foreign(&submitted.name)],
            vec![user_link(&submitted.user)],
            vec![queue_link(&submitted.queue)],
            vec![Piece::State(shown_state(standing.outcome()))],
            vec![Piece::number("containers.running", application.live_count())],
            vec![Piece::number("containers.wanted", application.wanted())],
            vec![Piece::number("containers.complete", totals.complete)],
            vec![Piece::number("containers.failed", totals.failed)],
            application.item_counts().map_or_else(Vec::new, |counts| items_done(counts).into()),
            vec![Piece::moment(submitted.submitted_ms)],
            vec![Piece::shown("took_ms", took_ms, format_duration(took_ms))],
        ];
        if view.shows_costs() {
            let is_shown = view.shows_cost_of(&submitted.user, &submitted.queue);
            let cost = || Piece::number("cost", application.cost().cost);
            row.push(vec![if is_shown { cost() } else { Piece::text("–") }]);
        }
        row
    });
    let empty = vec![Piece::text("No application is here. Run a command: "), Piece::code("jobtracker run -- hostname")];
    Table::new(caption, columns, rows.collect()).or_empty(empty).cut()
}

/// The page of an application.
pub(super) fn application_page(view: &View, id: ApplicationId) -> Result<Page, Refused> {
    let Some(application) = view.views().application(id) else {
        return Err(Refused::unknown("application", &id.to_string(), Some(format!("jobtracker app status {id}"))));
    };
    let (submitted, standing) = (application.submitted(), application.standing());
    let is_over = standing.state.is_over();
    let shows_details = view.shows_details_of(&submitted.user);
    let mut sections = Vec::new();
    if !standing.diagnostics.is_empty() && shows_details {
        sections.push(Section::new("words", "What it said at its end", vec![Block::words(&standing.diagnostics)]));
    }
    sections.push(Section::new("now", "Now", vec![Block::Summary(summary(view, application))]));
    let item_blocks = item_blocks(application);
    if !item_blocks.is_empty() && shows_details {
        sections.push(Section::new("items", "Items", item_blocks));
    }
    if shows_details {
        sections.push(Section::new(
            "containers",
            "Containers",
            vec![Block::Table(container_table(application, view.at_ms()))],
        ));
    } else {
        sections.push(Section::new(
            "containers",
            "Containers",
            vec![Block::line("Access lists are on: not open to this request.")],
        ));
    }
    let mut commands = vec![format!("jobtracker app status {id}"), format!("jobtracker app logs {id}")];
    if !is_over {
        commands.push(format!("jobtracker app kill {id}"));
    }
    sections.push(Section::new("commands", "Commands", vec![Block::Commands(commands)]));
    let state = shown_state(standing.outcome());
    Ok(Page {
        title: format!("{} · {} · {id}", state.word, Foreign::new(&submitted.name).shown),
        heading: vec![Piece::foreign(&submitted.name), Piece::text(" "), Piece::State(state)],
        entry: "/jobs",
        sections,
        refresh_s: if is_over { 0 } else { 1 },
        ..Page::default()
    })
}

fn summary(view: &View, application: &ApplicationView) -> Vec<(&'static str, Cell)> {
    let (submitted, standing, totals, sums) =
        (application.submitted(), application.standing(), application.totals(), application.live_sums());
    let took_ms = standing.finished_ms.unwrap_or(view.at_ms()).saturating_sub(submitted.submitted_ms).max(0);
    let mut summary = vec![
        ("Application", vec![Piece::code(application.id().to_string())]),
        ("State", vec![Piece::State(shown_state(standing.outcome()))]),
        (
            "Containers",
            vec![
                Piece::number("containers.running", application.live_count()),
                Piece::text(" live, "),
                Piece::number("containers.wanted", application.wanted()),
                Piece::text(" wanted, "),
                Piece::number("containers.complete", totals.complete),
                Piece::text(" complete, "),
                Piece::number("containers.failed", totals.failed),
                Piece::text(" of them failed, "),
                Piece::number("containers.preempted", totals.preempted),
                Piece::text(" preempted"),
            ],
        ),
        (
            "They hold",
            vec![
                Piece::number("memory_mb", sums.memory_mb),
                Piece::text(" MB, "),
                Piece::number("cores", sums.cores),
                Piece::text(" cores"),
            ],
        ),
        ("User", vec![user_link(&submitted.user)]),
        ("Queue", vec![queue_link(&submitted.queue)]),
        ("Submitted", vec![Piece::moment(submitted.submitted_ms)]),
        (
            if standing.finished_ms.is_some() { "Took" } else { "Since" },
            vec![Piece::shown("took_ms", took_ms, format_duration(took_ms))],
        ),
    ];
    if let Some(counts) = application.item_counts() {
        summary.push(("Items done", items_done(counts).into()));
    }
    if view.shows_cost_of(&submitted.user, &submitted.queue) {
        summary.push(("Cost so far", vec![Piece::number("cost", application.cost().cost), Piece::text(" credits")]));
    }
    summary
}

/// The grids of items, and those that failed, to run them again: these are known also where the others are not any more.
fn item_blocks(application: &ApplicationView) -> Vec<Block> {
    let with_items = application.requests().filter_map(|(request, wanted)| Some((request, wanted, wanted.items()?)));
    let grid_of = |(request, wanted, items): (&RequestType, &RequestView, &Items)| {
        Block::Picture(grid("items", "items", &item_runs(application, *request, wanted, items)))
    };
    let mut blocks: Vec<Block> = with_items.map(grid_of).collect();
    let failed: Vec<u32> = application.failed_items().collect();
    if !failed.is_empty() {
        let parts = Items::shown(failed.iter().copied(), MOST_PARTS);
        blocks.push(Block::Line(vec![
            Piece::number("items.failed", failed.len()),
            Piece::text(match failed.len() {
                1 => " item failed for good. To run it again: ",
                _ => " items failed for good. To run them again: ",
            }),
            Piece::code(format!("--array {parts}")),
        ]));
    }
    blocks
}

/// The states of items in the order in which they are written, as lengths of runs of one state.
fn item_runs(
    application: &ApplicationView,
    request: RequestType,
    wanted: &RequestView,
    items: &Items,
) -> Vec<(TaskState, u32)> {
    let running: BTreeMap<u32, ()> = application
        .live()
        .filter(|container| container.request == request)
        .filter_map(|container| Some((container.launch?.item?, ())))
        .collect();
    let is_over = application.standing().state.is_over();
    let mut runs: Vec<(TaskState, u32)> = Vec::new();
    for place in 0..items.len() {
        let item = items.at(place).unwrap_or(place);
        let trouble = application.trouble(request, item).map(|trouble| trouble.standing);
        let state = match trouble {
            Some(ItemStanding::Failed) => TaskState::Failed,
            _ if running.contains_key(&item) => TaskState::Running,
            Some(_) if is_over => TaskState::Killed,
            Some(ItemStanding::Waits(_)) => TaskState::Waiting,
            // What is held and not launched waits for its worker.
            Some(ItemStanding::Held) => TaskState::Running,
            None if place < wanted.taken() && !application.may_be_cut() => TaskState::Succeeded,
            None if is_over => TaskState::Killed,
            None => TaskState::Waiting,
        };
        match runs.last_mut() {
            Some((last, length)) if *last == state => *length += 1,
            _ => runs.push((state, 1)),
        }
    }
    runs
}

fn container_table(application: &ApplicationView, at_ms: i64) -> Table {
    let mut columns =
        vec![Column::text("Container"), Column::text("State"), Column::text("Worker"), Column::number("Item")];
    columns.extend([
        Column::number("Memory, MB"),
        Column::number("Cores"),
        Column::text("Granted"),
        Column::text("Held for"),
    ]);
    let row = |container: &Container| {
        let age_ms = at_ms.saturating_sub(container.granted_ms).max(0);
        let item = container.launch.and_then(|launch| launch.item);
        vec![
            vec![Piece::code(container.id.to_string())],
            vec![Piece::text(format!("{:?}", container.state).to_lowercase())],
            vec![worker_link(&container.node.tracker)],
            item.map_or_else(Vec::new, |item| vec![Piece::number("item", item)]),
            vec![Piece::number("memory_mb", container.request.capability.memory_mb)],
            vec![Piece::number("cores", container.request.capability.vcores)],
            vec![Piece::moment(container.granted_ms)],
            vec![Piece::shown("age_ms", age_ms, format_duration(age_ms))],
        ]
    };
    Table::new("Live containers", columns, application.live().map(row).collect())
        .or_empty(vec![Piece::text("No container of it lives.")])
        .cut()
}

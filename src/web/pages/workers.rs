//! Workers, one of them, and the slots of all: which machine is sick, who holds which slot?

use std::collections::BTreeMap;

use crate::api::LiveAttempt;
use crate::engine::{ClusterSnapshot, TrackerSnapshot};
use crate::model::{Kind, PerKind, counted};

use super::super::pictures::{LegendLine, SlotRow, slot_map};
use super::super::time_text::format_duration;
use super::super::worker_health::WorkerHealth;
use super::asked::Asked;
use super::block::{Block, Column, Section, Table};
use super::error::Refused;
use super::job_rows::{queue_link, user_link, worker_link};
use super::page::Page;
use super::piece::{Cell, Piece, ShownState};
use super::queue_colours::{Colours, OTHERS};
use super::viewer::View;

/// What the cells of the slot map are coloured by.
const BY: [&str; 3] = ["queue", "user", "kind"];

fn states(tracker: &TrackerSnapshot) -> Cell {
    let mut states = Vec::new();
    if tracker.is_silent {
        states.push(ShownState::of_health(false, "silent"));
    } else if !tracker.is_draining {
        states.push(match (tracker.healthy, tracker.is_short) {
            (true, false) => ShownState::of_health(true, "healthy"),
            (true, true) => ShownState::of_note("short"),
            (false, _) => ShownState::of_health(false, "unhealthy"),
        });
    }
    if tracker.is_draining {
        states.push(ShownState::of_note("draining"));
    }
    if tracker.graylisted {
        states.push(ShownState::of_note("graylisted"));
    }
    states.into_iter().flat_map(|state| [Piece::State(state), Piece::text(" ")]).collect()
}

pub(super) fn workers_page(view: &View) -> Page {
    let overview = view.overview();
    let health = WorkerHealth::of(overview).counts;
    let unwell = overview.trackers.len() - health.healthy;
    let containers = view.views().containers_by_tracker();
    let live_on = |tracker: &TrackerSnapshot| containers.get(&*tracker.name).copied().unwrap_or(0);
    let mut racks: BTreeMap<&str, Vec<&TrackerSnapshot>> = BTreeMap::new();
    for tracker in &overview.trackers {
        racks.entry(&tracker.rack).or_default().push(tracker);
    }
    let rows: Vec<SlotRow> = racks
        .iter()
        .map(|(rack, trackers)| SlotRow {
            worker: (*rack).to_owned(),
            cells: trackers.iter().map(|tracker| load_class(tracker, live_on(tracker))).collect(),
            row: vec![
                (*rack).to_owned(),
                trackers.len().to_string(),
                trackers.iter().filter(|tracker| !is_well(tracker)).count().to_string(),
                trackers.iter().map(|tracker| tracker.running.map + tracker.running.reduce).sum::<u32>().to_string(),
                trackers.iter().map(|tracker| tracker.slots.map + tracker.slots.reduce).sum::<u32>().to_string(),
                trackers.iter().map(|tracker| live_on(tracker)).sum::<u64>().to_string(),
            ],
        })
        .collect();
    let legend = [
        ("cell load0", "idle"),
        ("cell load1", "below half"),
        ("cell load2", "half or more"),
        ("cell load3", "full"),
        ("cell unwell", "not well"),
    ];
    let legend = legend.map(|(class, words)| LegendLine::new(class, words)).into();
    let title = format!(
        "{} in {}, {unwell} not well",
        counted(overview.trackers.len(), "worker"),
        counted(racks.len(), "rack")
    );
    let heads = vec!["Rack", "Workers", "Not well", "Slots in use", "Slots", "Containers"];
    let map = slot_map(title.clone(), &rows, legend, heads);
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        blocks.push(Block::Picture(super::super::pictures::Picture { name: "racks", ..map }));
    }
    blocks.push(Block::Table(worker_table(view)));
    Page {
        title: format!("{title} · workers"),
        heading: vec![
            Piece::text("Workers: "),
            Piece::number("workers.healthy", health.healthy),
            Piece::text(" healthy of "),
            Piece::number("workers", overview.trackers.len()),
        ],
        entry: "/workers",
        sections: vec![Section::new("workers", "Workers", blocks)],
        refresh_s: 1,
        ..Page::default()
    }
}

fn is_well(tracker: &TrackerSnapshot) -> bool {
    !tracker.is_silent && tracker.healthy && !tracker.is_draining
}

/// Each container counts as a slot in use.
fn load_class(tracker: &TrackerSnapshot, containers: u64) -> String {
    let sum = |slots: PerKind<u32>| u64::from(slots.map) + u64::from(slots.reduce);
    let (used, slots) = (sum(tracker.running) + containers, sum(tracker.slots));
    let load = match used {
        _ if !is_well(tracker) => "unwell",
        0 => "load0",
        used if used >= slots => "load3",
        used if used * 2 >= slots => "load2",
        _ => "load1",
    };
    load.to_owned()
}

fn worker_table(view: &View) -> Table {
    let (overview, containers) = (view.overview(), view.views().containers_by_tracker());
    let has_containers = overview.containers.is_some();
    let mut columns = vec![Column::text("Worker"), Column::text("State"), Column::text("Host"), Column::text("Rack")];
    columns.extend([Column::text("Map slots in use"), Column::text("Reduce slots in use")]);
    columns.extend(has_containers.then(|| Column::number("Containers")));
    columns.extend([Column::text("Last heartbeat"), Column::text("Complaints")]);
    let rows = overview.trackers.iter().map(|tracker| {
        let silent_ms = i64::try_from(tracker.silent_ms).unwrap_or(i64::MAX);
        let live = containers.get(&*tracker.name).copied().unwrap_or(0);
        let mut row = vec![
            vec![worker_link(&tracker.worker)],
            states(tracker),
            vec![host_piece(tracker)],
            vec![Piece::foreign(&tracker.rack)],
            vec![Piece::part("slots.map", tracker.running.map, tracker.slots.map, "map slots in use")],
            vec![Piece::part("slots.reduce", tracker.running.reduce, tracker.slots.reduce, "reduce slots in use")],
        ];
        row.extend(has_containers.then(|| vec![Piece::number("containers", live)]));
        row.extend([
            vec![Piece::shown("silent_ms", silent_ms, format!("{} ago", format_duration(silent_ms)))],
            vec![Piece::foreign(&tracker.complaints)],
        ]);
        row
    });
    let empty = vec![Piece::text("No worker is connected. Start one: "), Piece::code("jobtracker tasktracker")];
    Table::new("Workers with their slots and health", columns, rows.collect()).or_empty(empty).cut()
}

/// A worker's host, as a link to its own page where it has one.
fn host_piece(tracker: &TrackerSnapshot) -> Piece {
    let is_port = (1..=i32::from(u16::MAX)).contains(&tracker.http_port);
    match is_port {
        true => Piece::link(format!("http://{}:{}/", tracker.host, tracker.http_port), &tracker.host),
        false => Piece::foreign(&tracker.host),
    }
}

/// One worker, by the name it was given or that of its tracker.
pub(super) fn worker_page(view: &View, name: &str, live: &[LiveAttempt]) -> Result<Page, Refused> {
    let overview = view.overview();
    let found = overview.trackers.iter().find(|tracker| tracker.worker == name || tracker.name == name);
    let Some(tracker) = found else {
        return Err(Refused::unknown("worker", name, Some("jobtracker workers list".to_owned())));
    };
    let silent_ms = i64::try_from(tracker.silent_ms).unwrap_or(i64::MAX);
    let mut summary = vec![
        ("State", states(tracker)),
        (
            "Map slots in use",
            vec![Piece::part("slots.map", tracker.running.map, tracker.slots.map, "map slots in use")],
        ),
        (
            "Reduce slots in use",
            vec![Piece::part("slots.reduce", tracker.running.reduce, tracker.slots.reduce, "reduce slots in use")],
        ),
        ("Host", vec![host_piece(tracker)]),
        ("Rack", vec![Piece::foreign(&tracker.rack)]),
        ("Last heartbeat", vec![Piece::shown("silent_ms", silent_ms, format!("{} ago", format_duration(silent_ms)))]),
    ];
    if overview.containers.is_some() {
        let live = view.views().containers_by_tracker().get(&*tracker.name).copied().unwrap_or(0);
        summary.push(("Containers", vec![Piece::number("containers", live)]));
    }
    if tracker.name != tracker.worker {
        summary.push(("Tracker", vec![Piece::foreign(&tracker.name)]));
    }
    let mut blocks = vec![Block::Summary(summary)];
    blocks.extend(tracker.complaints.lines().map(|line| Block::Complaint(vec![Piece::foreign(line)])));
    let own: Vec<&LiveAttempt> = live.iter().filter(|attempt| *attempt.tracker == *tracker.name).collect();
    let attempts = live_block("Attempts that hold its slots", &own, view);
    let commands = vec![
        format!("jobtracker workers drain {}", tracker.worker),
        format!("jobtracker workers resume {}", tracker.worker),
    ];
    Ok(Page {
        title: format!("{} attempts · worker {name}", own.len()),
        heading: vec![Piece::text("Worker "), Piece::foreign(&tracker.worker)],
        entry: "/workers",
        sections: vec![
            Section::new("now", "Now", blocks),
            Section::new("attempts", "What runs on it", vec![attempts]),
            Section::new("commands", "Commands", vec![Block::Commands(commands)]),
        ],
        refresh_s: 1,
        ..Page::default()
    })
}

/// Attempts are parts of their jobs: where access lists are on, a request that names no user sees none.
fn live_block(caption: &str, live: &[&LiveAttempt], view: &View) -> Block {
    match view.shows_all_details() {
        true => Block::Table(live_table(caption, live, view.at_ms())),
        false => Block::line("Access lists are on: which attempts run is not open to this request."),
    }
}

fn live_table(caption: &str, live: &[&LiveAttempt], at_ms: i64) -> Table {
    let columns = vec![
        Column::text("Attempt"),
        Column::text("Job"),
        Column::text("User"),
        Column::text("Queue"),
        Column::text("Runs for"),
        Column::number("Slots"),
    ];
    let rows = live.iter().map(|attempt| {
        let (id, age_ms) = (attempt.attempt, at_ms.saturating_sub(attempt.launch_ms).max(0));
        vec![
            vec![Piece::link(format!("/attempts/{id}"), &id.to_string())],
            vec![Piece::link(format!("/jobs/{}", id.task.job), &id.task.job.to_string())],
            vec![user_link(&attempt.user)],
            vec![queue_link(&attempt.queue)],
            vec![Piece::shown("age_ms", age_ms, format_duration(age_ms))],
            vec![Piece::number("slots", attempt.slots)],
        ]
    });
    Table::new(caption, columns, rows.collect()).or_empty(vec![Piece::text("No attempt runs.")]).cut()
}

/// The slots of all workers by who holds them.
pub(super) fn slots_page(view: &View, asked: &mut Asked, live: &[LiveAttempt]) -> Result<Page, Refused> {
    let overview = view.overview();
    let by = asked.take("by").unwrap_or_else(|| BY[0].to_owned());
    if !BY.contains(&&*by) {
        return Err(Refused::unknown("colour by", &by, Some("/slots?by=user".to_owned())));
    }
    let key = |attempt: &LiveAttempt| match &*by {
        "user" => attempt.user.to_string(),
        "kind" => if attempt.attempt.task.kind == Kind::Map { "map" } else { "reduce" }.to_owned(),
        _ => attempt.queue.to_string(),
    };
    let keys: Vec<String> = live.iter().map(key).collect();
    let colours = match &*by {
        "queue" => Colours::of_queues(overview),
        _ => Colours::of(keys.iter().map(String::as_str)),
    };
    let mut held: BTreeMap<&str, u64> = BTreeMap::new();
    for (attempt, key) in live.iter().zip(&keys) {
        *held.entry(key).or_default() += u64::from(attempt.slots);
    }
    let rows = slot_rows(view.overview(), live.iter().zip(&keys), &colours);
    let used: u64 = held.values().sum();
    let all = u64::from(overview.slots.map) + u64::from(overview.slots.reduce);
    let title = match held.iter().max_by_key(|(_, count)| **count) {
        Some((name, count)) => format!("{used} of {all} slots are held, {count} of them by {by} {name}"),
        None => format!("None of {all} slots is held"),
    };
    let legend = slot_legend(&held, &colours);
    let links = BY
        .iter()
        .flat_map(|word| [Piece::link(format!("/slots?by={word}"), &format!("by {word}")), Piece::text(" · ")]);
    let mut blocks = vec![Block::Line(links.chain([Piece::link("/workers", "workers")]).collect())];
    if rows.is_empty() {
        blocks.push(Block::Line(vec![
            Piece::text("No worker is connected. Start one: "),
            Piece::code("jobtracker tasktracker"),
        ]));
    } else {
        blocks.push(Block::Picture(slot_map(title.clone(), &rows, legend, vec!["Worker", "Held", "Slots"])));
    }
    let newest: Vec<&LiveAttempt> = {
        let mut newest: Vec<&LiveAttempt> = live.iter().collect();
        newest.sort_by_key(|attempt| (attempt.launch_ms, attempt.attempt));
        newest
    };
    blocks.push(live_block("What holds slots, the oldest first", &newest, view));
    Ok(Page {
        title,
        heading: vec![Piece::text("Slots")],
        entry: "/slots",
        sections: vec![Section::new("slots", "Slots by worker", blocks)],
        refresh_s: 1,
        ..Page::default()
    })
}

/// A row a worker: its attempts in order of their launches, then its free slots.
fn slot_rows<'a>(
    overview: &ClusterSnapshot,
    live: impl Iterator<Item = (&'a LiveAttempt, &'a String)>,
    colours: &Colours<'_>,
) -> Vec<SlotRow> {
    let mut of_tracker: BTreeMap<&str, Vec<(&LiveAttempt, &String)>> = BTreeMap::new();
    for (attempt, key) in live {
        of_tracker.entry(&attempt.tracker).or_default().push((attempt, key));
    }
    overview
        .trackers
        .iter()
        .map(|tracker| {
            let mut attempts = of_tracker.remove(&*tracker.name).unwrap_or_default();
            attempts.sort_by_key(|(attempt, _)| (attempt.launch_ms, attempt.attempt));
            let cells = attempts
                .iter()
                .flat_map(|(attempt, key)| (0..attempt.slots.min(1_000)).map(|_| colours.class(key).to_owned()));
            let mut cells: Vec<String> = cells.collect();
            let used = cells.len();
            let all = (tracker.slots.map + tracker.slots.reduce) as usize;
            cells.extend((used..all.min(10_000)).map(|_| "free".to_owned()));
            SlotRow {
                worker: tracker.worker.clone(),
                cells,
                row: vec![tracker.worker.clone(), used.to_string(), all.to_string()],
            }
        })
        .collect()
}

fn slot_legend(held: &BTreeMap<&str, u64>, colours: &Colours<'_>) -> Vec<LegendLine> {
    let mut legend: Vec<LegendLine> = held
        .iter()
        .filter(|(name, _)| colours.class(name) != OTHERS)
        .map(|(name, count)| LegendLine::new(format!("cell {}", colours.class(name)), format!("{name} {count}")))
        .collect();
    if held.keys().any(|name| colours.class(name) == OTHERS) {
        legend.push(LegendLine::new(format!("cell {OTHERS}"), "others"));
    }
    legend.push(LegendLine::new("cell free", "free"));
    legend
}

//! The overview: is it well, what is it doing, what does a slot cost?

use std::collections::BTreeMap;

use crate::api::PriceHistory;
use crate::engine::{ClusterSnapshot, JobSnapshot};
use crate::model::{Kind, RunState};
use crate::views::{SAMPLE_MS, Sample};

use super::super::pictures::{Picture, StackLayer, StackPoint, stack};
use super::super::time_text::format_duration;
use super::super::worker_health::WorkerHealth;
use super::applications::application_table;
use super::block::{Block, Column, Section, Table};
use super::job::reasons;
use super::job_rows::{SUBMIT, job_link, job_table, took_ms, user_link};
use super::market::price_picture;
use super::page::Page;
use super::piece::{Cell, Piece, ShownState, iso_text};
use super::queue_colours::{Colours, OTHERS};
use super::queues::{queue_picture, queue_table};
use super::viewer::View;

/// Live jobs on the page, and those that wait longest.
const LIVE: usize = 10;
const WAITING: usize = 5;
/// Ends are shown for so long, ms.
pub(super) const ENDED_MS: i64 = 3_600_000;
/// Queues on the page; `/queues` has all.
const QUEUES: usize = 50;

/// What the page is made of beside the cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct OverviewJobs {
    /// Jobs that are not over, newest first, and how many more there are.
    pub(super) live: (Vec<JobSnapshot>, u64),
    /// Jobs that ended in the last hour.
    pub(super) ended: (Vec<JobSnapshot>, u64),
}

pub(super) fn overview_page(view: &View, host: &str, jobs: &OverviewJobs, prices: Option<&PriceHistory>) -> Page {
    let overview = view.overview();
    let complaints = view.complaints();
    let used = overview.running.map + overview.running.reduce;
    let slots = overview.slots.map + overview.slots.reduce;
    let finding = match complaints.len() {
        0 => match overview.containers.map_or(0, |containers| containers.held_slots) {
            0 => format!("{used} of {slots} slots in use"),
            held => format!("{used} of {slots} slots in use by tasks, {held} by containers"),
        },
        1 => "1 complaint".to_owned(),
        count => format!("{count} complaints"),
    };
    let mut sections = Vec::new();
    if !complaints.is_empty() {
        let mut blocks: Vec<Block> =
            complaints.iter().map(|text| Block::Complaint(vec![Piece::sentence(text)])).collect();
        blocks.push(Block::Line(vec![Piece::link("/health", "What to do")]));
        sections.push(Section::new("complaints", "What is wrong", blocks));
    }
    sections.push(Section::new("now", "Now", vec![Block::Summary(summary(view))]));
    sections.push(Section::new("slots", "Slots by queue", slots_blocks(view)));
    if let Some(prices) = prices {
        let blocks = vec![
            price_picture(prices, (view.at_ms() - ENDED_MS, view.at_ms())),
            Block::Line(vec![Piece::link("/market", "Market")]),
        ];
        sections.push(Section::new("price", "What a slot costs", blocks));
    }
    sections.push(Section::new("live", "Live jobs", live_blocks(view, jobs)));
    sections.push(Section::new("waiting", "Waiting longest", vec![waiting_block(view, &jobs.live.0)]));
    sections.push(Section::new("ended", "Ended in the last hour", vec![ended_block(view, &jobs.ended)]));
    Page {
        title: format!("{finding} · JobTracker on {host}"),
        heading: vec![Piece::foreign(&format!("JobTracker on {host}"))],
        entry: "/",
        sections,
        refresh_s: 1,
        ..Page::default()
    }
}

fn summary(view: &View) -> Vec<(&'static str, Cell)> {
    let overview = view.overview();
    let health = WorkerHealth::of(overview).counts;
    let mut summary = vec![
        (
            "Map slots in use",
            vec![Piece::part("slots.map", overview.running.map, overview.slots.map, "map slots in use")],
        ),
        (
            "Reduce slots in use",
            vec![Piece::part("slots.reduce", overview.running.reduce, overview.slots.reduce, "reduce slots in use")],
        ),
        (
            "Waiting tasks",
            vec![
                Piece::number("tasks.map.waiting", overview.waiting.map),
                Piece::text(" maps, "),
                Piece::number("tasks.reduce.waiting", overview.waiting.reduce),
                Piece::text(" reduces"),
            ],
        ),
    ];
    summary.extend(jobs_of(overview));
    summary.extend([
        (
            "Workers",
            vec![
                Piece::number("workers.healthy", health.healthy),
                Piece::text(" healthy of "),
                Piece::number("workers", overview.trackers.len()),
            ],
        ),
        ("Scheduler", vec![Piece::link("/policy", &overview.scheduler)]),
    ]);
    if view.is_live() {
        summary.push(("Up", time_up(overview)));
    }
    if view.has_market() {
        let price = overview.price.as_ref().map_or_else(|| Piece::text("–"), |price| Piece::number("price", price));
        summary.push(("Price", vec![price, Piece::text(" credits, the sum of the active rates")]));
    }
    if let Some(containers) = &overview.containers {
        summary.push((
            "Containers",
            vec![
                Piece::number("containers.waiting", containers.waiting),
                Piece::text(" waiting, "),
                Piece::number("containers.held_slots", containers.held_slots),
                Piece::text(" slots held"),
            ],
        ));
    }
    summary
}

fn time_up(overview: &ClusterSnapshot) -> Cell {
    let up_ms = overview.at_ms.saturating_sub(overview.start_ms);
    vec![
        Piece::shown("started_ms", overview.start_ms, format_duration(up_ms)),
        Piece::text(" since "),
        Piece::moment(overview.start_ms),
    ]
}

fn jobs_of(overview: &ClusterSnapshot) -> [(&'static str, Cell); 2] {
    [
        (
            "Jobs now",
            vec![
                Piece::number("jobs.running", overview.running_jobs),
                Piece::text(" running, "),
                Piece::number("jobs.preparing", overview.preparing_jobs),
                Piece::text(" preparing"),
            ],
        ),
        (
            "Jobs since the start",
            vec![
                Piece::number("jobs.accepted", overview.jobs_accepted),
                Piece::text(" accepted, "),
                Piece::number("jobs.succeeded", overview.jobs_ended[0]),
                Piece::text(" succeeded, "),
                Piece::number("jobs.failed", overview.jobs_ended[1]),
                Piece::text(" failed, "),
                Piece::number("jobs.killed", overview.jobs_ended[2]),
                Piece::text(" killed"),
            ],
        ),
    ]
}

fn slots_blocks(view: &View) -> Vec<Block> {
    let overview = view.overview();
    let mut blocks: Vec<Block> = slots_picture(view).map(Block::Picture).into_iter().collect();
    if !overview.queues.is_empty() {
        blocks.push(Block::Picture(queue_picture(view)));
    }
    blocks.push(Block::Table(queue_table(view, QUEUES)));
    blocks
}

fn live_blocks(view: &View, jobs: &OverviewJobs) -> Vec<Block> {
    let (live, more) = &jobs.live;
    let shown = live.get(..live.len().min(LIVE)).unwrap_or_default();
    let mut table = job_table("Jobs that are not over, the newest first", shown, view, None);
    table.left_out = (live.len() - shown.len()) as u64 + more;
    if live.is_empty() && view.overview().jobs.is_empty() {
        table.empty = vec![Piece::text("No job has been submitted yet. Submit one: "), Piece::code(SUBMIT)];
    } else {
        table.empty = vec![Piece::text("No job runs or waits.")];
    }
    let mut blocks = vec![Block::Table(table)];
    let applications = view.views().applications().rev().filter(|application| !application.standing().state.is_over());
    let table = application_table(
        "Applications that are not over, the newest first",
        applications.take(LIVE).map(|live| &**live),
        view,
    );
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks.push(Block::Line(vec![Piece::link("/jobs", "All jobs and applications")]));
    blocks
}

fn waiting_block(view: &View, live: &[JobSnapshot]) -> Block {
    let waiting_of = |job: &JobSnapshot| {
        let not_done =
            |kind: Kind| job.tasks[kind].saturating_sub(job.finished[kind]).saturating_sub(job.running[kind]);
        not_done(Kind::Map) + not_done(Kind::Reduce)
    };
    let mut waiting: Vec<&JobSnapshot> = live.iter().filter(|job| waiting_of(job) > 0).collect();
    waiting.sort_by_key(|job| (job.running.map + job.running.reduce > 0, job.submit_ms, job.id));
    let columns = ["Job", "Name", "User", "Since", "Waiting tasks", "Why"].map(Column::text);
    let rows = waiting.iter().take(WAITING).map(|job| {
        let why =
            reasons(view, job).into_iter().next().unwrap_or_else(|| "Not known: ask jobtracker explain.".to_owned());
        vec![
            vec![job_link(job)],
            vec![Piece::foreign(&job.name)],
            vec![user_link(&job.user)],
            vec![Piece::shown("waited_ms", took_ms(job, view.at_ms()), format_duration(took_ms(job, view.at_ms())))],
            vec![Piece::number("tasks.waiting", waiting_of(job))],
            vec![Piece::sentence(&why)],
        ]
    });
    let table = Table::new(
        "Jobs with waiting tasks: those without a slot first, the oldest first",
        columns.into(),
        rows.collect(),
    );
    Block::Table(table.or_empty(vec![Piece::text("No task waits.")]))
}

fn ended_block(view: &View, (ended, more): &(Vec<JobSnapshot>, u64)) -> Block {
    let mut ended: Vec<&JobSnapshot> = ended.iter().collect();
    ended.sort_by_key(|job| {
        (job.state == RunState::Succeeded, job.state == RunState::Killed, job.finish_ms.map(i64::saturating_neg))
    });
    let columns = ["Job", "Name", "User", "State", "Ended", "Took", "Why"].map(Column::text);
    let rows = ended.iter().take(LIVE).map(|job| {
        vec![
            vec![job_link(job)],
            vec![Piece::foreign(&job.name)],
            vec![user_link(&job.user)],
            vec![Piece::State(ShownState::of_job(job.state))],
            vec![Piece::moment(job.finish_ms.unwrap_or(0))],
            vec![Piece::shown("took_ms", took_ms(job, view.at_ms()), format_duration(took_ms(job, view.at_ms())))],
            vec![Piece::foreign(&job.failure_info)],
        ]
    });
    let mut table = Table::new("Jobs that ended in the last hour, failures first", columns.into(), rows.collect());
    table.left_out = ended.len().saturating_sub(LIVE) as u64 + more;
    Block::Table(table.or_empty(vec![Piece::text("No job has ended in the last hour.")]))
}

const SHOWN_MS: i64 = 3_600_000;
const POINTS: usize = 120;
/// Layers with a name of their own, those of the largest area.
const LAYERS: usize = 6;

/// The picture; none before the second sample.
pub(super) fn slots_picture(view: &View) -> Option<Picture> {
    let (since_ms, until_ms) = (view.at_ms() - SHOWN_MS, view.at_ms());
    let shown: Vec<&Sample> = view.samples().slots().filter(|sample| sample.time_ms >= since_ms).collect();
    let every = shown.len().div_ceil(POINTS).max(1);
    let mut points: Vec<&Sample> = shown.iter().rev().step_by(every).copied().collect();
    points.reverse();
    let (first, last) = (points.first()?, points.last().filter(|_| points.len() > 1)?);
    let mut areas: BTreeMap<&str, u64> = BTreeMap::new();
    for queue in points.iter().flat_map(|sample| &sample.queues).filter(|queue| queue.used > 0) {
        *areas.entry(&queue.queue).or_default() += queue.used;
    }
    let mut named: Vec<(&str, u64)> = areas.into_iter().collect();
    named.sort_by_key(|(name, area)| (std::cmp::Reverse(*area), *name));
    named.truncate(LAYERS);
    named.sort_unstable();
    let colours = Colours::of(named.iter().map(|(name, _)| *name));
    let layer = |name: &str, class: &str| StackLayer { name: name.to_owned(), class: class.to_owned() };
    let mut layers: Vec<StackLayer> = named.iter().map(|(name, _)| layer(name, colours.class(name))).collect();
    layers.push(layer("others", OTHERS));
    let point = |sample: &&Sample| {
        let all = u64::from(sample.used.map) + u64::from(sample.used.reduce) + sample.containers;
        let of = |name: &str| sample.queues.iter().find(|queue| &*queue.queue == name).map_or(0, |queue| queue.used);
        let mut values: Vec<u64> = named.iter().map(|(name, _)| of(name)).collect();
        let others = all.saturating_sub(values.iter().sum());
        values.push(others);
        let capacity = u64::from(sample.slots.map) + u64::from(sample.slots.reduce);
        let by_queue = sample.queues.iter().filter(|queue| queue.used > 0);
        let by_queue = by_queue.map(|queue| format!("{} {}", queue.queue, queue.used)).collect::<Vec<_>>().join(", ");
        let row = vec![iso_text(sample.time_ms), capacity.to_string(), all.to_string(), by_queue];
        StackPoint { time_ms: sample.time_ms, values, capacity, row }
    };
    let points: Vec<StackPoint> = points.iter().map(point).collect();
    let used = |point: &StackPoint| point.values.iter().sum::<u64>();
    let most = points.iter().map(used).max().unwrap_or(0);
    let (now, capacity) = points.last().map(|point| (used(point), point.capacity))?;
    let title = format!("Slots in use by queue, last hour: {now} of {capacity} now, {most} at most");
    let span = (first.time_ms.max(since_ms), until_ms.max(last.time_ms));
    let gap_ms = i64::try_from(SAMPLE_MS).unwrap_or(i64::MAX).saturating_mul(every as i64).saturating_mul(3);
    let heads = vec!["Time", "Slots", "In use", "By queue"];
    Some(stack("slots_over_time", title, (&layers, heads), &points, span, gap_ms))
}

//! The page of a job: how far it is, when it is done, why it is not faster, and what failed.

use std::collections::BTreeMap;

use crate::api::{AttemptDetail, JobDetail};
use crate::engine::JobSnapshot;
use crate::model::{Kind, RunState};

use super::super::pictures::{LegendLine, Picture, SpanLine, grid, span_lines};
use super::super::time_text::format_duration;
use super::attempt_rows::{attempt_link, attempt_table};
use super::block::{Block, Column, Section, Table};
use super::job_rows::{permille, queue_link, took_ms, user_link};
use super::page::Page;
use super::piece::{Cell, Foreign, Piece, ShownState};
use super::reasons::reasons;
use super::viewer::View;

/// Running attempts on the page, the oldest first.
const RUNNING: usize = 20;
/// Groups of failures on the page.
const GROUPS: usize = 20;

/// Most spans of time, about.
const MOST_SPANS: usize = 200;

/// A span of time: class, words, from and to, epoch ms.
type Span = (String, String, i64, i64);

/// The details of a job, or who keeps them from the request.
pub(super) type Details = Result<JobDetail, String>;

pub(super) fn job_page(view: &View, job: &JobSnapshot, details: &Details) -> Page {
    let state = ShownState::of_job(job.state);
    let is_over = job.finish_ms.is_some();
    let finding = if is_over { state.word.to_owned() } else { format!("{} %", permille(job) / 10) };
    let mut sections = Vec::new();
    if job.state == RunState::Failed || (!is_over && !job.failure_info.is_empty()) {
        sections.push(Section::new("failure", "What went wrong", failure_blocks(job, details)));
    }
    sections.push(Section::new("now", "Now", vec![Block::Summary(summary(view, job, details))]));
    if !is_over {
        let why = reasons(view, job);
        let mut blocks = vec![match why.is_empty() {
            true => Block::line("Nothing is known that holds it back."),
            false => Block::List(why.iter().map(|reason| vec![Piece::sentence(reason)]).collect()),
        }];
        blocks.push(Block::Line(vec![
            Piece::text("With numbers of its queue and the rate that would buy more: "),
            Piece::code(format!("jobtracker explain {}", job.id)),
        ]));
        sections.push(Section::new("why", "Why it has no more slots", blocks));
    }
    match details {
        Ok(detail) => detail_sections(view, job, detail, &mut sections),
        Err(why) => sections.push(Section::new(
            "tasks",
            "Tasks",
            vec![
                Block::Line(vec![Piece::text("Not open to this request: "), Piece::sentence(why)]),
                Block::Commands(vec![format!("jobtracker job tasks {}", job.id)]),
            ],
        )),
    }
    sections.push(Section::new("commands", "Commands", vec![Block::Commands(commands(job, is_over))]));
    Page {
        title: format!("{finding} · {} · {}", Foreign::new(&job.name).shown, job.id),
        heading: vec![Piece::foreign(&job.name), Piece::text(" "), Piece::State(state)],
        entry: "/jobs",
        sections,
        refresh_s: if is_over { 0 } else { 1 },
        stock: Some(format!("/jobdetails.jsp?jobid={}", job.id)),
        ..Page::default()
    }
}

/// The words of the first failed attempt, then Hadoop's.
fn failure_blocks(job: &JobSnapshot, details: &Details) -> Vec<Block> {
    let mut blocks = Vec::new();
    let failures = details.as_ref().map(JobDetail::failures).unwrap_or_default();
    if let Some(first) = failures.first() {
        let words = [&*first.diagnostics, &*first.status].into_iter().find(|words| !words.trim().is_empty());
        blocks.push(Block::Line(vec![
            Piece::text("The first attempt that failed, "),
            attempt_link(first),
            Piece::text(" on "),
            Piece::foreign(&first.tracker),
            Piece::text(", said:"),
        ]));
        blocks.push(Block::words(words.unwrap_or("nothing")));
    }
    if !job.failure_info.is_empty() {
        blocks.push(Block::Line(vec![Piece::text("Of the job it is recorded: "), Piece::sentence(&job.failure_info)]));
    }
    blocks
}

fn summary(view: &View, job: &JobSnapshot, details: &Details) -> Vec<(&'static str, Cell)> {
    let of_kind = |finished, total, running, metrics: [&'static str; 2], label| {
        vec![
            Piece::part(metrics[0], finished, total, label),
            Piece::text(", "),
            Piece::number(metrics[1], running),
            Piece::text(" running"),
        ]
    };
    let mut summary = vec![
        ("Job", vec![Piece::code(job.id.to_string())]),
        ("State", vec![Piece::State(ShownState::of_job(job.state))]),
        (
            "Maps done",
            of_kind(
                job.finished.map,
                job.tasks.map,
                job.running.map,
                ["tasks.map.finished", "tasks.map.running"],
                "maps done",
            ),
        ),
        (
            "Reduces done",
            of_kind(
                job.finished.reduce,
                job.tasks.reduce,
                job.running.reduce,
                ["tasks.reduce.finished", "tasks.reduce.running"],
                "reduces done",
            ),
        ),
        ("User", vec![user_link(&job.user)]),
        ("Queue", vec![queue_link(&job.queue)]),
        ("Priority", vec![Piece::text(job.priority.name())]),
        ("Submitted", vec![Piece::moment(job.submit_ms)]),
        (
            if job.finish_ms.is_some() { "Took" } else { "Since" },
            vec![Piece::shown("took_ms", took_ms(job, view.at_ms()), format_duration(took_ms(job, view.at_ms())))],
        ),
    ];
    if let Some(end_ms) = job.finish_ms {
        summary.push(("Ended", vec![Piece::moment(end_ms)]));
    }
    if let Some(cost) = view.cost(job) {
        summary.push(("Cost so far", vec![Piece::number("cost", cost), Piece::text(" credits")]));
    }
    if let Some(output) = details.as_ref().ok().and_then(|detail| detail.output.as_ref()) {
        summary.push(("Output", vec![Piece::foreign(output)]));
    }
    let reported = view.overview().report.jobs.iter().find(|reported| reported.job == job.id);
    if let Some(deadline) = reported.and_then(|reported| reported.deadline.as_ref()) {
        summary.push((
            "Deadline",
            vec![
                Piece::moment(deadline.deadline_at_ms),
                Piece::text(" "),
                Piece::foreign(reported.map_or("", |reported| &reported.state)),
            ],
        ));
    }
    summary
}

fn detail_sections(view: &View, job: &JobSnapshot, detail: &JobDetail, sections: &mut Vec<Section>) {
    let mut blocks = Vec::new();
    for (kind, noun) in [(Kind::Map, "maps"), (Kind::Reduce, "reduces")] {
        if !detail.runs[kind].is_empty() {
            blocks.push(Block::Picture(grid("grid", noun, &detail.runs[kind])));
            if job.tasks[kind] > 2_500 {
                blocks.push(Block::line(format!(
                    "A cell is {} {noun}; it has the state that asks for most attention.",
                    job.tasks[kind].div_ceil(2_500)
                )));
            }
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::line("It has no maps and no reduces."));
    }
    blocks.push(Block::Line(vec![
        Piece::link(format!("/jobs/{}/tasks", job.id), "Attempts and how long they took"),
        Piece::text(" · "),
        Piece::link(format!("/jobs/{}/timeline", job.id), "Timeline by worker"),
        Piece::text(" · "),
        Piece::link(format!("/jobs/{}/counters", job.id), "Counters"),
        Piece::text(" · "),
        Piece::link(format!("/jobs/{}/conf", job.id), "Configuration"),
        Piece::text(" · "),
        Piece::link(format!("/jobs/{}/events", job.id), "Completion events"),
    ]));
    sections.push(Section::new("tasks", "Tasks", blocks));
    if let Some(picture) = waits_picture(job, detail, view.at_ms()) {
        sections.push(Section::new("waits", "Where the time went", vec![Block::Picture(picture)]));
    }
    let groups = failure_table(detail);
    if !groups.rows.is_empty() {
        sections.push(Section::new("failed", "What failed", vec![Block::Table(groups)]));
    }
    let preempted: Vec<&AttemptDetail> = detail.attempts.iter().filter(|attempt| attempt.is_preempted).collect();
    if !preempted.is_empty() {
        let table = attempt_table(
            "Attempts that gave way to others with a right to their slots",
            preempted.iter().copied(),
            view.at_ms(),
        );
        sections.push(Section::new("preempted", "Preempted", vec![Block::Table(table.cut())]));
    }
    let mut running: Vec<&AttemptDetail> =
        detail.attempts.iter().filter(|attempt| job.finish_ms.is_none() && attempt.is_live()).collect();
    if !running.is_empty() {
        running.sort_by_key(|attempt| (attempt.launch_ms, attempt.attempt));
        let mut table =
            attempt_table("Attempts that run, the oldest first", running.iter().copied().take(RUNNING), view.at_ms());
        table.left_out = running.len().saturating_sub(RUNNING) as u64;
        sections.push(Section::new("running", "Running", vec![Block::Table(table)]));
    }
}

/// Failed attempts by the first line of their words.
fn failure_table(detail: &JobDetail) -> Table {
    let mut groups: BTreeMap<&str, Vec<&AttemptDetail>> = BTreeMap::new();
    for attempt in detail.failures() {
        let words = [&*attempt.diagnostics, &*attempt.status]
            .into_iter()
            .find_map(|words| words.lines().find(|line| !line.trim().is_empty()));
        groups.entry(words.unwrap_or("no words")).or_default().push(attempt);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, attempts)| std::cmp::Reverse(attempts.len()));
    let left_out = groups.len().saturating_sub(GROUPS) as u64;
    let rows = groups.into_iter().take(GROUPS).map(|(words, attempts)| {
        let mut workers: Vec<&str> = attempts.iter().map(|attempt| &*attempt.tracker).collect();
        workers.sort_unstable();
        workers.dedup();
        let count = workers.len();
        let named = workers.into_iter().take(3).collect::<Vec<_>>().join(", ");
        let workers = if count > 3 { format!("{named} and {} more", count - 3) } else { named };
        let first = attempts.first().map(|attempt| attempt_link(attempt));
        vec![
            vec![Piece::foreign(words)],
            vec![Piece::number("attempts.failed", attempts.len())],
            vec![Piece::foreign(&workers)],
            first.into_iter().collect(),
        ]
    });
    let columns =
        vec![Column::text("Words"), Column::number("Attempts"), Column::text("Workers"), Column::text("First")];
    Table { left_out, ..Table::new("Failed attempts by the first line of their words", columns, rows.collect()) }
}

/// Where the time went: spans that cover it from its submission to its end or now.
pub(super) fn waits_picture(job: &JobSnapshot, detail: &JobDetail, at_ms: i64) -> Option<Picture> {
    if detail.attempts_left_out > 0 {
        return None;
    }
    let (from_ms, to_ms) = (job.submit_ms, job.finish_ms.unwrap_or(at_ms));
    let spans = spans(job, detail, (from_ms, to_ms));
    let longest = spans.iter().max_by_key(|(_, _, from, to)| to - from)?;
    let seconds = |span: &Span| (span.3 - span.2) / 1_000;
    let title = format!(
        "{} s in all, the longest span {} s: {}",
        (to_ms - from_ms).max(0) / 1_000,
        seconds(longest),
        longest.1
    );
    let legend = [
        ("fill waiting", "waits"),
        ("fill preempted", "setup, cleanup"),
        ("fill others", "some run, some wait"),
        ("fill running", "all that is left runs"),
    ];
    let legend = legend.map(|(class, words)| LegendLine::new(class, words));
    Some(span_lines(
        "waits",
        title,
        &[SpanLine { name: String::new(), spans, marks: Vec::new() }],
        (from_ms, to_ms),
        legend.into(),
    ))
}

/// Spans by what runs and what has not been launched.
fn spans(job: &JobSnapshot, detail: &JobDetail, (from_ms, to_ms): (i64, i64)) -> Vec<Span> {
    let end_of = |attempt: &AttemptDetail| attempt.finish_ms.unwrap_or(to_ms).clamp(from_ms, to_ms.max(from_ms));
    let mut changes = vec![from_ms, to_ms];
    for attempt in &detail.attempts {
        changes.extend([attempt.launch_ms.clamp(from_ms, to_ms.max(from_ms)), end_of(attempt)]);
    }
    changes.sort_unstable();
    changes.dedup();
    let total = u64::from(job.tasks.map) + u64::from(job.tasks.reduce);
    let mut first_launches: BTreeMap<_, i64> = BTreeMap::new();
    let is_work = |attempt: &&AttemptDetail| matches!(attempt.task, "map" | "reduce");
    for attempt in detail.attempts.iter().filter(is_work) {
        let first = first_launches.entry(attempt.attempt.task).or_insert(attempt.launch_ms);
        *first = (*first).min(attempt.launch_ms);
    }
    let mut launches: Vec<i64> = first_launches.into_values().collect();
    launches.sort_unstable();
    // Running attempts at each change, by a walk over begins and ends.
    let mut events: Vec<(i64, i64, bool)> = Vec::new();
    for attempt in &detail.attempts {
        let is_work = matches!(attempt.task, "map" | "reduce");
        events.extend([
            (attempt.launch_ms.clamp(from_ms, to_ms.max(from_ms)), 1, is_work),
            (end_of(attempt), -1, is_work),
        ]);
    }
    events.sort_unstable_by_key(|(at_ms, change, _)| (*at_ms, *change));
    let (mut next, mut work, mut housekeeping) = (0, 0, 0);
    let mut spans: Vec<Span> = Vec::new();
    for pair in changes.windows(2) {
        let [begin, end] = *pair else { continue };
        while let Some((_, change, is_work)) = events.get(next).filter(|(at_ms, _, _)| *at_ms <= begin) {
            if *is_work {
                work += change
            } else {
                housekeeping += change
            }
            next += 1;
        }
        let launched = launches.partition_point(|launch_ms| *launch_ms <= begin) as u64;
        let (class, words) = match (work > 0, housekeeping > 0) {
            (true, _) if launched < total => ("fill others", "some run, some wait"),
            (true, _) => ("fill running", "all that is left runs"),
            (false, true) if launched == 0 => ("fill preempted", "setup"),
            (false, true) => ("fill preempted", "cleanup"),
            (false, false) => ("fill waiting", "waits"),
        };
        match spans.last_mut() {
            Some((_, known, _, until)) if known == words => *until = end,
            _ => spans.push((class.to_owned(), words.to_owned(), begin, end)),
        }
    }
    if spans.len() > MOST_SPANS { without_short(spans) } else { spans }
}

/// Spans of which those that are too short to be seen count to the one before.
fn without_short(spans: Vec<Span>) -> Vec<Span> {
    let all_ms = spans.last().map_or(0, |last| last.3) - spans.first().map_or(0, |first| first.2);
    let least_ms = all_ms / MOST_SPANS as i64;
    let mut kept: Vec<Span> = Vec::new();
    for span in spans {
        match kept.last_mut() {
            Some((_, known, _, until)) if *known == span.1 || span.3 - span.2 < least_ms => *until = span.3,
            _ => kept.push(span),
        }
    }
    kept
}

fn commands(job: &JobSnapshot, is_over: bool) -> Vec<String> {
    let id = job.id;
    let mut commands = vec![
        format!("jobtracker job status {id}"),
        format!("jobtracker job tasks {id}"),
        format!("jobtracker job logs {id}"),
    ];
    if !is_over {
        commands.extend([
            format!("jobtracker explain {id}"),
            format!("jobtracker job priority {id} HIGH"),
            format!("jobtracker job hold {id}"),
            format!("jobtracker job kill {id}"),
        ]);
    }
    commands
}

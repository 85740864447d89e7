//! The page of a job: how far it is, when it is done, why it is not faster, and what failed.

use std::collections::BTreeMap;

use crate::api::{AttemptDetail, JobDetail, PendingReason, ReportedGroup, ReportedJob, says_paused};
use crate::engine::JobSnapshot;
use crate::model::{Kind, RunState};

use super::super::pictures::{LegendLine, Picture, SpanLine, grid, span_lines};
use super::super::time_text::format_duration;
use super::super::waits::{TimedJob, WaitSpan, WaitState, waits};
use super::attempt_rows::{attempt_link, attempt_table};
use super::block::{Block, Column, Section, Table};
use super::decisions::decisions_of_job;
use super::job_rows::{permille, queue_link, took_ms, user_link};
use super::page::Page;
use super::piece::{Cell, Foreign, Piece, ShownState};
use super::viewer::View;

/// Running attempts on the page, the oldest first.
const RUNNING: usize = 20;
const GROUPS: usize = 20;

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
    sections.extend(decisions_of_job(view, job.id));
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
    summary.extend(deadlines(view, job));
    summary
}

/// When it is due: by an order of the market, and under the constraint scheduler.
fn deadlines(view: &View, job: &JobSnapshot) -> Vec<(&'static str, Cell)> {
    let mut deadlines = Vec::new();
    if let Some((_, order)) = view.views().market().orders().find(|(_, order)| order.job == job.id) {
        let words = "slots are bought for it until then; how it stands: ";
        let command = Piece::code(format!("jobtracker job status {}", job.id));
        deadlines.push((
            "Deadline order",
            vec![Piece::moment(order.deadline_ms), Piece::text(format!(", {words}")), command],
        ));
    }
    let reported = view.overview().report.jobs.iter().find(|reported| reported.job == job.id);
    if let Some(deadline) = reported.and_then(|reported| reported.deadline.as_ref()) {
        deadlines.push((
            "Deadline",
            vec![
                Piece::moment(deadline.deadline_at_ms),
                Piece::text(" "),
                Piece::foreign(reported.map_or("", |reported| &reported.state)),
            ],
        ));
    }
    deadlines
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
    if let Some(picture) = waits_picture(view, job, detail) {
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
pub(super) fn waits_picture(view: &View, job: &JobSnapshot, detail: &JobDetail) -> Option<Picture> {
    if detail.attempts_left_out > 0 {
        return None;
    }
    let (from_ms, to_ms) = (job.submit_ms, job.finish_ms.unwrap_or(view.at_ms()));
    let timed = TimedJob {
        submit_ms: from_ms,
        to_ms,
        tasks: u64::from(job.tasks.map) + u64::from(job.tasks.reduce),
        has_begun: job.state != RunState::Prep,
        attempts: &detail.attempts,
    };
    let spans = waits(&timed, view.wait_reasons(job.id), view.hides_money_of(&job.queue));
    let longest = spans.iter().max_by_key(|span| span.to_ms - span.from_ms)?;
    let words = |span: &WaitSpan| match &span.reason {
        Some(reason) => format!("{}: {}", span.state.words(), reason.replace('_', " ")),
        None => span.state.words().to_owned(),
    };
    let title = format!(
        "{} s in all, the longest span {} s: {}",
        (to_ms - from_ms).max(0) / 1_000,
        (longest.to_ms - longest.from_ms) / 1_000,
        words(longest)
    );
    let legend = [
        ("fill waiting", "nothing runs"),
        ("fill preempted", "setup, cleanup"),
        ("fill others", "some run, some wait"),
        ("fill running", "all that is left runs"),
    ];
    let legend = legend.map(|(class, words)| LegendLine::new(class, words));
    let class = |state| match state {
        WaitState::Prep | WaitState::Waits => "fill waiting",
        WaitState::Setup | WaitState::Cleanup => "fill preempted",
        WaitState::Limited => "fill others",
        WaitState::Runs => "fill running",
    };
    let spans =
        spans.iter().map(|span| (class(span.state).to_owned(), words(span), span.from_ms, span.to_ms)).collect();
    Some(span_lines(
        "waits",
        title,
        &[SpanLine { name: String::new(), spans, marks: Vec::new() }],
        (from_ms, to_ms),
        legend.into(),
    ))
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

/// The sentences, the most important first; none of a job that is over.
pub(super) fn reasons(view: &View, job: &JobSnapshot) -> Vec<String> {
    if !matches!(job.state, RunState::Prep | RunState::Running) {
        return Vec::new();
    }
    let overview = view.overview();
    let mut sentences = Vec::new();
    if says_paused(&job.failure_info) {
        sentences.push(sentence(&job.failure_info));
    }
    if overview.trackers.is_empty() {
        sentences.push(sentence(&PendingReason::NoWorker.to_string()));
    }
    let Some(reported) = overview.report.jobs.iter().find(|reported| reported.job == job.id) else { return sentences };
    let mut reasons = view.held_back_by(reported);
    let group = overview.report.groups.iter().find(|group| group.name == reported.group);
    let waits = |kind| reported.waiting[kind] > 0;
    if reported.has_begun && job.state == RunState::Prep && reasons.is_empty() {
        let is_running = Kind::ALL.into_iter().any(|kind| job.running[kind] > 0);
        reasons.push(if is_running { PendingReason::SetupRuns } else { PendingReason::SetupWaits });
    }
    for kind in Kind::ALL.into_iter().filter(|kind| waits(*kind)) {
        reasons.extend(group.and_then(|group| bought_reason(view, group, kind)));
        reasons.extend(place_reason(view, reported, kind));
        if overview.running[kind] >= overview.slots[kind] && overview.slots[kind] > 0 {
            reasons.push(PendingReason::NoneFree { kind });
        }
    }
    if reasons.is_empty() && job.state == RunState::Running && !Kind::ALL.into_iter().any(waits) {
        reasons.push(PendingReason::NothingWaits);
    }
    sentences.extend(reasons.iter().map(|reason| sentence(&reason.to_string())));
    sentences
}

fn bought_reason(view: &View, group: &ReportedGroup, kind: Kind) -> Option<PendingReason> {
    let bought = view.bought(group)?;
    let (quota, held) = (bought.quota.slots()[kind], group.held[kind]);
    Some(if bought.rate.units() == 0 {
        unpaid_reason(view, &group.name)
    } else if held >= quota {
        PendingReason::QuotaFull { kind, quota, held }
    } else {
        PendingReason::BelowQuota { kind, quota, held }
    })
}

/// Why a queue has no rate: it bids nothing, or cannot pay for what it bids.
fn unpaid_reason(view: &View, queue: &str) -> PendingReason {
    let Some(bid) = view.views().market().bid(queue).filter(|bid| bid.units() > 0) else { return PendingReason::NoBid };
    let is_funded = view.quote(queue, bid).and_then(|quote| quote.is_funded).unwrap_or(true);
    match view.balance(queue) {
        Some(budget) if !is_funded => PendingReason::NotFunded { budget, bid },
        _ => PendingReason::NotBoughtYet,
    }
}

fn place_reason(view: &View, job: &ReportedJob, kind: Kind) -> Option<PendingReason> {
    let place = view.place(job)[kind]?;
    if place.groups_before > 0 {
        Some(PendingReason::EarlierGroups { kind, groups: place.groups_before })
    } else if place.jobs_before > 0 {
        Some(PendingReason::EarlierJobs { kind, jobs: place.jobs_before })
    } else {
        None
    }
}

pub(super) fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

//! Decisions: what the scheduler and its administrators did, and why.

use crate::api::Decision;
use crate::model::{FactNumber, JobId};

use super::asked::Asked;
use super::block::{Block, Column, Field, Form, MOST_ROWS, Section, Table};
use super::error::Refused;
use super::job_rows::{queue_link, user_link};
use super::page::Page;
use super::piece::{Cell, Piece};
use super::viewer::View;

/// The kinds that a list may be asked for.
const KINDS: &[&str] = &[
    "",
    "preempted",
    "policy",
    "killed",
    "drained",
    "paused",
    "listed",
    "reload",
    "safe_mode",
    "order",
    "money",
    "changed",
];
const MOST_OF_JOB: usize = 20;

pub(super) fn decisions_page(view: &View, asked: &mut Asked) -> Page {
    let mut filter = |name| asked.take(name).unwrap_or_default();
    let [kind, job, queue, user, worker] = ["kind", "job", "queue", "user", "worker"].map(&mut filter);
    let is = |wanted: &str, found: Option<&str>| wanted.is_empty() || found == Some(wanted);
    let passes = |decision: &Decision| {
        is(&kind, Some(decision.kind))
            && is(&job, decision.job.map(|job| job.to_string()).as_deref())
            && is(&queue, decision.queue.as_deref())
            && is(&user, decision.user.as_deref())
            && is(&worker, decision.worker.as_deref())
    };
    let mut found: Vec<Decision> = view.decisions().filter(passes).take(MOST_ROWS + 1).collect();
    let title = match found.len() {
        0 => "No decisions".to_owned(),
        1 => "1 decision".to_owned(),
        more if more > MOST_ROWS => format!("The newest {MOST_ROWS} decisions"),
        count => format!("{count} decisions"),
    };
    found.truncate(MOST_ROWS);
    let preempted = found.iter().filter(|decision| decision.kind == "preempted").count();
    let field = |name, label, value: &str, choices| Field::choice(name, label, value, choices);
    let fields = vec![
        field("kind", "Kind", &kind, KINDS),
        field("job", "Job", &job, &[]),
        field("queue", "Queue", &queue, &[]),
        field("user", "User", &user, &[]),
        field("worker", "Worker", &worker, &[]),
    ];
    let form =
        Form { action: "/decisions".to_owned(), label: "Which decisions", fields, button: "Show", ..Form::default() };
    let empty = vec![Piece::text(
        "None yet: what gives way to others, and what administrators and users change, is kept here with its reason.",
    )];
    Page {
        title: format!("{title}, {preempted} preempted · decisions"),
        heading: vec![Piece::text("Decisions")],
        entry: "/decisions",
        sections: vec![Section::new(
            "decisions",
            "What was decided, the newest first",
            vec![Block::Form(form), Block::Table(table("Decisions, the newest first", &found).or_empty(empty))],
        )],
        refresh_s: 2,
        ..Page::default()
    }
}

/// One decision.
pub(super) fn decision_page(view: &View, text: &str) -> Result<Page, Refused> {
    let number = text.parse().ok().map(FactNumber);
    let row = number.and_then(|number| view.decision(number));
    let row = row.ok_or_else(|| Refused::unknown("decision", text, Some("/decisions".to_owned())))?;
    let mut summary: Vec<(&'static str, Cell)> = vec![
        ("When", vec![Piece::moment(row.at_ms)]),
        ("Kind", vec![Piece::text(row.kind.replace('_', " "))]),
        ("About", about(&row)),
    ];
    summary.extend(row.user.as_deref().map(|user| ("Decided by", vec![user_link(user)])));
    let mut blocks = vec![Block::Line(vec![Piece::sentence(&row.text)])];
    if let Some(numbers) = &row.numbers {
        summary.extend([
            ("Slots given up", vec![Piece::number("slots", numbers.slots)]),
            ("Held for", seconds("age_ms", numbers.age_ms)),
            ("Work lost", seconds("lost_ms", numbers.lost_ms)),
        ]);
        summary.extend(numbers.rate.map(|rate| ("Its queue paid", vec![Piece::number("rate", rate)])));
        if let Some(short) = &numbers.short {
            let rows = short.iter().map(|short| {
                let rate = short.rate.map_or_else(|| Piece::text("–"), |rate| Piece::number("for_rate", rate));
                vec![vec![queue_link(&short.queue)], vec![Piece::number("missing", short.missing)], vec![rate]]
            });
            let columns =
                vec![Column::text("Queue"), Column::number("Slots it lacked"), Column::number("Paid for a slot")];
            blocks.push(Block::Table(Table::new("Queues that lacked slots due to them then", columns, rows.collect())));
        }
    }
    blocks.insert(1, Block::Summary(summary));
    Ok(Page {
        title: format!("{} · decision {}", row.kind.replace('_', " "), row.number),
        heading: vec![Piece::text(format!("Decision {}", row.number))],
        entry: "/decisions",
        sections: vec![Section::new("decision", "What was decided, and on what it rested", blocks)],
        ..Page::default()
    })
}

/// The decisions about a job; none where there are none.
pub(super) fn decisions_of_job(view: &View, job: JobId) -> Option<Section> {
    let found: Vec<Decision> = view.decisions_of(job).take(MOST_OF_JOB + 1).collect();
    if found.is_empty() {
        return None;
    }
    let shown = &found[..found.len().min(MOST_OF_JOB)];
    let mut blocks = vec![Block::Table(table("Decisions about this job, the newest first", shown))];
    if found.len() > MOST_OF_JOB {
        blocks.push(Block::Line(vec![Piece::link(format!("/decisions?job={job}"), "All of them")]));
    }
    Some(Section::new("decisions", "What was decided about it", blocks))
}

fn table(caption: &str, decisions: &[Decision]) -> Table {
    let rows = decisions.iter().map(|decision| {
        vec![
            vec![Piece::link(format!("/decisions/{}", decision.number), &decision.number.to_string())],
            vec![Piece::moment(decision.at_ms)],
            vec![Piece::text(decision.kind.replace('_', " "))],
            about(decision),
            vec![Piece::sentence(&decision.text)],
        ]
    });
    let columns = vec![
        Column::number("Number"),
        Column::text("When"),
        Column::text("Kind"),
        Column::text("About"),
        Column::text("What was decided"),
    ];
    Table::new(caption, columns, rows.collect())
}

/// What it is about, with a link to its page.
fn about(decision: &Decision) -> Cell {
    let link = |page: &str, name: &str| vec![Piece::link(format!("/{page}/{}", super::asked::encoded(name)), name)];
    match decision {
        Decision { attempt: Some(attempt), .. } => link("attempts", &attempt.to_string()),
        Decision { application: Some(application), .. } => link("applications", &application.to_string()),
        Decision { job: Some(job), .. } => link("jobs", &job.to_string()),
        Decision { worker: Some(worker), .. } => link("workers", worker),
        Decision { queue: Some(queue), .. } => vec![queue_link(queue)],
        _ => vec![Piece::text("the cluster")],
    }
}

fn seconds(metric: &'static str, ms: u64) -> Cell {
    vec![Piece::shown(metric, ms, format!("{} s", ms / 1_000))]
}

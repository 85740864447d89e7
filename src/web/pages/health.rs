//! Health, and reports: what is wrong and what to do; who used what.

use crate::api::{Report, ReportSubject};
use crate::model::Credits;

use super::super::time_text::format_duration;
use super::super::worker_health::WorkerHealth;
use super::block::{Block, Column, Section, Table};
use super::job_rows::{queue_link, user_link};
use super::page::Page;
use super::piece::{Cell, Piece, ShownState};
use super::viewer::View;

/// Complaints and what is counted of the daemon's own work.
pub(super) fn health_page(view: &View) -> Page {
    let complaints = view.complaints();
    let mut blocks: Vec<Block> = complaints.iter().map(|text| Block::Complaint(vec![Piece::sentence(text)])).collect();
    if complaints.is_empty() {
        blocks.push(Block::Line(vec![
            Piece::State(ShownState::of_health(true, "well")),
            Piece::text(" Jobs can be submitted and run."),
        ]));
    } else {
        blocks.push(Block::Line(vec![
            Piece::text("What to do for each of them is in docs/operate.md; the configuration is looked at by "),
            Piece::code("jobtracker check-config"),
        ]));
    }
    let count = complaints.len();
    Page {
        title: if count == 0 { "Well · health".to_owned() } else { format!("{count} complaints · health") },
        heading: vec![Piece::text("Health")],
        entry: "/health",
        sections: vec![
            Section::new("complaints", "What is wrong", blocks),
            Section::new(
                "numbers",
                "Numbers",
                vec![
                    Block::Summary(health_numbers(view)),
                    Block::Line(vec![
                        Piece::link("/readyz", "Ready?"),
                        Piece::text(" · "),
                        Piece::link("/healthz", "Alive?"),
                        Piece::text(" · "),
                        Piece::link("/metrics", "Metrics"),
                        Piece::text(" · "),
                        Piece::link("/status", "Status as JSON"),
                    ]),
                ],
            ),
        ],
        refresh_s: 2,
        ..Page::default()
    }
}

fn health_numbers(view: &View) -> Vec<(&'static str, Cell)> {
    let (overview, health) = (view.overview(), &view.health);
    let WorkerHealth { counts: workers, draining } = WorkerHealth::of(overview);
    let age_ms = health.at_ms.saturating_sub(overview.at_ms).max(0);
    vec![
        (
            "Alive",
            vec![Piece::State(ShownState::of_health(health.is_alive, if health.is_alive { "yes" } else { "no" }))],
        ),
        (
            "Jobs can be submitted",
            vec![Piece::State(ShownState::of_health(health.is_ready, if health.is_ready { "yes" } else { "no" }))],
        ),
        ("Age of what is shown", vec![Piece::shown("views_lag_ms", age_ms, format_duration(age_ms))]),
        (
            "Workers",
            vec![
                Piece::number("workers.healthy", workers.healthy),
                Piece::text(" healthy, "),
                Piece::number("workers.short", workers.short),
                Piece::text(" of them short, "),
                Piece::number("workers.unhealthy", workers.unhealthy),
                Piece::text(" unhealthy, "),
                Piece::number("workers.draining", draining),
                Piece::text(" draining, "),
                Piece::number("workers.silent", workers.silent),
                Piece::text(" silent"),
            ],
        ),
        ("Heartbeats", vec![Piece::number("heartbeats", overview.heartbeats)]),
        (
            "Attempts launched",
            vec![
                Piece::number("attempts.launched", overview.attempts_launched),
                Piece::text(", "),
                Piece::number("attempts.preempted", overview.attempts_preempted),
                Piece::text(" preempted"),
            ],
        ),
        (
            "Histories",
            vec![
                Piece::number("histories.written", health.histories.written),
                Piece::text(" written, "),
                Piece::number("histories.waiting", health.histories.waiting),
                Piece::text(" waiting, "),
                Piece::number("histories.failures", health.histories.failures),
                Piece::text(" failed"),
            ],
        ),
        ("Broken invariants", vec![Piece::number("invariant_violations", health.invariant_violations)]),
        ("Facts without a row", vec![Piece::number("rowless_updates", health.rowless_updates)]),
        ("Calls that wait", vec![Piece::number("waiting_calls", health.waiting_calls)]),
    ]
}

/// In place of a report that only signed requests get.
pub(super) fn private_report_page(kind: &str) -> Page {
    let blocks = vec![
        Block::line(
            "Where there is a market a report is for its signer alone: users see what is theirs, administrators all.",
        ),
        Block::Commands(vec![
            format!("jobtracker report {kind}"),
            format!("jobtracker report {kind} --since 7d --json"),
        ]),
    ];
    Page {
        title: format!("Report of {kind}"),
        heading: vec![Piece::text("Report of "), Piece::text(kind)],
        entry: "/reports/users",
        sections: vec![Section::new("report", "Who used what", blocks)],
        ..Page::default()
    }
}

/// What users, queues or jobs used.
pub(super) fn report_page(report: &Report) -> Page {
    let kind = report.report.as_str();
    let kinds = ["users", "queues", "jobs"]
        .iter()
        .flat_map(|word| [Piece::link(format!("/reports/{word}"), word), Piece::text(" · ")]);
    let mut blocks = vec![
        Block::Line(kinds.collect()),
        Block::Table(report_table(report).or_empty(vec![Piece::text("No job has been submitted yet.")])),
    ];
    if let Some(since_ms) = report.complete_since_ms {
        blocks.push(Block::Line(vec![
            Piece::text("Jobs were removed: complete only since "),
            Piece::moment(since_ms),
            Piece::text("."),
        ]));
    }
    if report.next.is_some() {
        blocks
            .push(Block::Line(vec![Piece::text("There are more: "), Piece::code(format!("jobtracker report {kind}"))]));
    }
    Page {
        title: format!("Report of {} {kind}", report.rows.len()),
        heading: vec![Piece::text("Report of "), Piece::text(kind)],
        entry: "/reports/users",
        sections: vec![Section::new("report", "Who used what", blocks)],
        ..Page::default()
    }
}

fn report_table(report: &Report) -> Table {
    let mut columns = vec![
        Column::text("Name"),
        Column::number("Jobs"),
        Column::number("Failed"),
        Column::number("Map slot hours"),
        Column::number("Reduce slot hours"),
        Column::number("Container slot hours"),
        Column::number("Waited, s"),
    ];
    let has_charges = report.rows.iter().any(|row| row.charged != Credits::ZERO);
    if has_charges {
        columns.push(Column::number("Charged"));
    }
    let hours = |metric, seconds: u64| {
        vec![Piece::shown(metric, seconds, format!("{}.{:02}", seconds / 3_600, seconds % 3_600 * 100 / 3_600))]
    };
    let rows = report.rows.iter().map(|row| {
        let name = row.subject.name();
        let link = match &row.subject {
            ReportSubject::User(_) => user_link(name),
            ReportSubject::Queue(_) => queue_link(name),
            ReportSubject::Job(_) if name.starts_with("job_") => Piece::link(format!("/jobs/{name}"), name),
            ReportSubject::Job(_) => Piece::foreign(name),
        };
        let mut cells = vec![
            vec![link],
            vec![Piece::number("jobs", row.jobs)],
            vec![Piece::number("failed", row.failed)],
            hours("map_slot_seconds", row.map_slot_seconds),
            hours("reduce_slot_seconds", row.reduce_slot_seconds),
            hours("container_slot_seconds", row.container_slot_seconds),
            vec![Piece::number("waited_s", row.waited_s)],
        ];
        if has_charges {
            cells.push(vec![Piece::number("charged", row.charged)]);
        }
        cells
    });
    Table::new("Jobs that ended, and those that have not ended, with the slots that they used", columns, rows.collect())
        .cut()
}

//! The ruling policy: what are the rules now, and do they hold? And the deadlines, where the policy has them.

use std::collections::BTreeMap;

use crate::api::{JobDeadline, PolicyName, ReportedJob, SchedulerReport};
use crate::model::{Kind, PerKind};

use super::super::pictures::{Bar, LegendLine, SpanLine, bars, span_lines};
use super::super::time_text::format_duration;
use super::asked::Asked;
use super::block::{Block, Column, Field, Form, Section, Table};
use super::deadline_answer::question_form;
use super::error::Refused;
use super::job_rows::{SUBMIT, part, queue_link, user_link};
use super::page::Page;
use super::piece::{Cell, Piece};
use super::queue_colours::Colours;
use super::queues::{pool_table, private_line};
use super::viewer::View;

/// The policies that may be chosen.
pub(super) const POLICIES: [&str; 5] = ["fifo", "capacity", "fair", "constraint", "dynamic"];
pub(super) const PLAN_COMMAND: &str = "jobtracker scheduler plan POLICY";

fn policy_word(policy: PolicyName) -> &'static str {
    match policy {
        PolicyName::Fifo => "fifo",
        PolicyName::Dynamic => "dynamic",
        PolicyName::Capacity => "capacity",
        PolicyName::Fair => "fair",
        PolicyName::Constraint => "constraint",
    }
}

fn rule(policy: PolicyName) -> &'static str {
    match policy {
        PolicyName::Fifo => "Jobs are served by priority, then in the order of their submission.",
        PolicyName::Dynamic => {
            "Each interval the slots are divided among the queues in proportion to what they bid; a queue pays its rate for each slot that it uses."
        }
        PolicyName::Capacity => {
            "Each queue has a part of the cluster; what one leaves free others may use, up to their maximum."
        }
        PolicyName::Fair => "Each pool gets its fair share of the slots, and before that its minimum.",
        PolicyName::Constraint => {
            "A job with a deadline gets the least slots that keep it; what no deadline needs goes to the others."
        }
    }
}

/// Asks what a switch to a policy would do, and moving jobs to a queue; for those who are always refused, the command.
pub(super) fn plan_blocks(view: &View, asked: &Asked, to: &str, move_to: &str) -> Vec<Block> {
    if view.viewer().is_administrator() == Some(false) {
        return vec![
            Block::line(
                "What a switch would do is shown here to administrators. On the machine of the JobTracker the command says it:",
            ),
            Block::Commands(vec![PLAN_COMMAND.to_owned()]),
        ];
    }
    let mut fields = vec![
        Field::choice("to", "To the policy", to, &POLICIES),
        Field::text("move_to", "Jobs whose queue it lacks move to", move_to),
    ];
    fields.extend(asked.hidden_user());
    vec![Block::Form(Form {
        action: "/policy/plan".to_owned(),
        label: "Plan a switch",
        fields,
        button: "Plan",
        ..Form::default()
    })]
}

pub(super) fn policy_page(view: &View, asked: &Asked) -> Page {
    let report = &view.overview().report;
    let word = policy_word(report.policy);
    let mut summary = vec![
        ("Policy", vec![Piece::text(word)]),
        ("Since", vec![Piece::moment(report.since_ms)]),
        (
            "Chosen by",
            report.by.as_ref().map_or_else(|| vec![Piece::text("the configuration")], |by| vec![user_link(by)]),
        ),
        (
            "Slots",
            vec![
                Piece::number("slots.map", report.slots.map),
                Piece::text(" map, "),
                Piece::number("slots.reduce", report.slots.reduce),
                Piece::text(" reduce"),
            ],
        ),
    ];
    summary.extend(report.price.as_ref().map(|price| ("Price", vec![Piece::number("price", price)])));
    let mut sections =
        vec![Section::new("rule", "The rule", vec![Block::line(rule(report.policy)), Block::Summary(summary)])];
    sections.push(Section::new("groups", "Queues and pools", group_blocks(view, report)));
    sections.push(Section::new("line", "Jobs as the policy has them", line_blocks(view, report)));
    if view.is_live() {
        sections.push(Section::new("plan", "Plan a switch", plan_blocks(view, asked, "", "")));
    }
    let mut blocks = vec![Block::Commands(vec![
        "jobtracker scheduler show".to_owned(),
        PLAN_COMMAND.to_owned(),
        "jobtracker scheduler use POLICY".to_owned(),
    ])];
    if matches!(report.policy, PolicyName::Capacity | PolicyName::Fair | PolicyName::Constraint) {
        blocks.push(Block::Line(vec![
            Piece::link("/scheduler", "Hadoop's page of this scheduler"),
            Piece::text(", which has its forms"),
        ]));
    }
    sections.push(Section::new("commands", "Commands", blocks));
    Page {
        title: format!("{word} · policy"),
        heading: vec![Piece::text("Policy: "), Piece::text(word)],
        entry: "/policy",
        sections,
        refresh_s: 2,
        ..Page::default()
    }
}

fn group_blocks(view: &View, report: &SchedulerReport) -> Vec<Block> {
    let mut blocks = Vec::from_iter(group_bars(view, report));
    if let Some(table) = pool_table(view) {
        blocks.push(Block::Table(table));
        return blocks;
    }
    blocks.push(Block::Table(group_table(view, report)));
    blocks.extend(private_line(view, "/policy"));
    blocks
}

/// What each group holds of what it has a right to.
fn group_bars(view: &View, report: &SchedulerReport) -> Option<Block> {
    let sum = |counts: PerKind<u32>| u64::from(counts.map) + u64::from(counts.reduce);
    let colours = Colours::of(report.groups.iter().map(|group| &*group.name));
    let right = |group: &crate::api::ReportedGroup| match (&group.capacity, &group.pool, view.bought(group)) {
        (Some(capacity), _, _) => Some(sum(capacity.slots)),
        (None, Some(pool), _) => Some(pool.fair_share.map.0.0 / 1_000_000 + pool.fair_share.reduce.0.0 / 1_000_000),
        (None, None, bought) => bought.map(|bought| sum(bought.quota.slots())),
    };
    let all: Vec<Bar> = report
        .groups
        .iter()
        .map(|group| Bar {
            name: group.name.clone(),
            class: colours.class(&group.name).to_owned(),
            used: sum(group.held),
            right: right(group),
            waiting: sum(group.waiting),
        })
        .collect();
    let beyond = all.iter().filter(|bar| bar.right.is_some_and(|right| bar.used > right)).count();
    if all.is_empty() {
        return None;
    }
    let words = match report.policy {
        PolicyName::Capacity => "Capacity",
        PolicyName::Fair => "Fair share",
        _ => "Bought",
    };
    Some(Block::Picture(bars(
        "queue_slots",
        format!("{} queues or pools, {beyond} hold more than they have a right to", all.len()),
        &all,
        words,
    )))
}

fn group_table(view: &View, report: &SchedulerReport) -> Table {
    let mut columns = vec![
        Column::text("Name"),
        Column::number("Jobs"),
        Column::number("Maps held"),
        Column::number("Reduces held"),
        Column::number("Maps waiting"),
        Column::number("Reduces waiting"),
    ];
    let has_capacity = report.groups.iter().any(|group| group.capacity.is_some());
    if has_capacity {
        columns.extend([
            Column::number("Capacity, %"),
            Column::number("Map slots"),
            Column::number("Reduce slots"),
            Column::number("Maximum, %"),
        ]);
    }
    if view.shows_money() {
        columns.extend([Column::number("Rate"), Column::number("Maps bought"), Column::number("Reduces bought")]);
    }
    let rows = report.groups.iter().map(|group| {
        let mut row = vec![
            vec![queue_link(&group.name)],
            vec![Piece::number("jobs", group.jobs)],
            vec![Piece::number("held.map", group.held.map)],
            vec![Piece::number("held.reduce", group.held.reduce)],
            vec![Piece::number("waiting.map", group.waiting.map)],
            vec![Piece::number("waiting.reduce", group.waiting.reduce)],
        ];
        let number = |metric, value: Option<String>| {
            vec![value.map_or_else(|| Piece::text("–"), |value| Piece::number(metric, value))]
        };
        if has_capacity {
            let capacity = group.capacity.as_ref();
            row.push(number("percent", capacity.map(|capacity| capacity.percent.clone())));
            row.push(number("capacity.map", capacity.map(|capacity| capacity.slots.map.to_string())));
            row.push(number("capacity.reduce", capacity.map(|capacity| capacity.slots.reduce.to_string())));
            row.push(number("maximum_percent", capacity.and_then(|capacity| capacity.maximum_percent.clone())));
        }
        if view.shows_money() {
            let bought = view.bought(group);
            row.push(number("rate", bought.map(|bought| bought.rate.to_string())));
            row.push(number("quota.map", bought.map(|bought| bought.quota.map.to_string())));
            row.push(number("quota.reduce", bought.map(|bought| bought.quota.reduce.to_string())));
        }
        row
    });
    Table::new("Queues as the policy has them", columns, rows.collect())
        .cut()
        .or_empty(vec![Piece::text("No queue has work.")])
}

fn line_blocks(view: &View, report: &SchedulerReport) -> Vec<Block> {
    let mut columns = vec![
        Column::text("Job"),
        Column::text("User"),
        Column::text("Queue or pool"),
        Column::text("State"),
        Column::number("Maps held"),
        Column::number("Reduces held"),
        Column::number("Maps waiting"),
        Column::number("Reduces waiting"),
    ];
    columns.extend([Column::text("Before it in line"), Column::text("Held back by")]);
    let rows = report.jobs.iter().map(|job| {
        vec![
            vec![Piece::link(format!("/jobs/{}", job.job), &job.job.to_string())],
            vec![user_link(&job.user)],
            vec![queue_link(&job.group)],
            vec![Piece::text(job.state.replace('_', " ").to_lowercase())],
            vec![Piece::number("held.map", job.held.map)],
            vec![Piece::number("held.reduce", job.held.reduce)],
            vec![Piece::number("waiting.map", job.waiting.map)],
            vec![Piece::number("waiting.reduce", job.waiting.reduce)],
            place_cell(view, job),
            vec![Piece::foreign(
                &view.held_back_by(job).iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            )],
        ]
    });
    let mut table = Table::new("Jobs that are not over, the newest first", columns, rows.collect())
        .cut()
        .or_empty(vec![Piece::text("No job runs or waits.")]);
    table.left_out += report.jobs_left_out;
    vec![Block::Table(table)]
}

fn place_cell(view: &View, job: &ReportedJob) -> Cell {
    let place = view.place(job);
    let of_kind = |kind: Kind, word: &str| {
        let place = place[kind]?;
        let groups = if place.groups_before > 0 { format!("{} queues, ", place.groups_before) } else { String::new() };
        Some(format!("{word}: {groups}{} jobs", place.jobs_before))
    };
    let texts: Vec<String> =
        [of_kind(Kind::Map, "maps"), of_kind(Kind::Reduce, "reduces")].into_iter().flatten().collect();
    vec![Piece::text(texts.join("; "))]
}

/// The jobs with deadlines.
pub(super) fn deadlines_page(view: &View) -> Result<Page, Refused> {
    let report = &view.overview().report;
    if report.policy != PolicyName::Constraint {
        let policy = policy_word(report.policy);
        let detail = format!("The {policy} policy rules; deadlines belong to the constraint policy.");
        return Err(Refused {
            try_commands: ["plan", "use"].map(|verb| format!("jobtracker scheduler {verb} constraint")).to_vec(),
            ..Refused::not_now("There are no deadlines now", detail)
        });
    }
    let mut due: Vec<(&ReportedJob, &JobDeadline)> =
        report.jobs.iter().filter_map(|job| Some((job, job.deadline.as_ref()?))).collect();
    due.sort_by_key(|(job, deadline)| (deadline.deadline_at_ms, job.submit_ms, job.job));
    let late = due.iter().filter(|(job, _)| job.state != "ON_TIME").count();
    let at_ms = report.at_ms;
    let title = format!("{} jobs with a deadline, {late} of them at risk or late", due.len());
    let mut blocks = Vec::new();
    let (first, last) =
        (due.iter().map(|(job, _)| job.submit_ms).min(), due.iter().map(|(_, deadline)| deadline.deadline_at_ms).max());
    if let (Some(first), Some(last)) = (first, last) {
        let lines: Vec<SpanLine> = due
            .iter()
            .take(50)
            .map(|(job, deadline)| SpanLine {
                name: job.name.clone(),
                spans: vec![(
                    format!("fill {}", if job.state == "ON_TIME" { "succeeded" } else { "failed" }),
                    format!("{}: {}", job.job, job.state.replace('_', " ").to_lowercase()),
                    job.submit_ms,
                    deadline.deadline_at_ms,
                )],
                marks: deadline
                    .planned_start_ms
                    .map(|start_ms| ("median", start_ms))
                    .into_iter()
                    .chain([("right", at_ms)])
                    .collect(),
            })
            .collect();
        let legend = deadline_legend();
        blocks.push(Block::Picture(span_lines("deadlines", title.clone(), &lines, (first, last.max(at_ms)), legend)));
    }
    blocks.push(Block::Table(deadline_table(&due)));
    let mut sections = vec![Section::new("deadlines", "Jobs with a deadline", blocks)];
    if view.is_live() {
        let about = Block::line("Whether it would be accepted now. Asking changes nothing.");
        sections.push(Section::new("ask", "Would a job be in time?", vec![about, question_form(&BTreeMap::new())]));
    }
    Ok(Page {
        title: format!("{title} · deadlines"),
        heading: vec![Piece::text("Deadlines")],
        entry: "/deadlines",
        sections,
        refresh_s: 1,
        ..Page::default()
    })
}

fn deadline_legend() -> Vec<LegendLine> {
    vec![
        LegendLine::new("fill succeeded", "on time, from submission to deadline"),
        LegendLine::new("fill failed", "at risk or late"),
        LegendLine::new("right", "now"),
        LegendLine::new("median", "planned start"),
    ]
}

fn deadline_table(due: &[(&ReportedJob, &JobDeadline)]) -> Table {
    let columns = vec![
        Column::text("Job"),
        Column::text("Name"),
        Column::text("User"),
        Column::text("Deadline"),
        Column::text("Left"),
        Column::text("State"),
        Column::number("Maps running / least"),
        Column::number("Reduces running / least"),
        Column::text("A map costs"),
        Column::text("A reduce costs"),
    ];
    let cost = |cost: &crate::api::TaskCost| vec![Piece::text(format!("{} ms ({})", cost.ms, cost.source.name()))];
    let rows = due.iter().map(|(job, deadline)| {
        let left = if deadline.left_ms < 0 {
            format!("{} late", format_duration(deadline.left_ms.saturating_neg()))
        } else {
            format_duration(deadline.left_ms)
        };
        vec![
            vec![Piece::link(format!("/jobs/{}", job.job), &job.job.to_string())],
            vec![Piece::foreign(&job.name)],
            vec![user_link(&job.user)],
            vec![Piece::moment(deadline.deadline_at_ms)],
            vec![Piece::shown("left_ms", deadline.left_ms, left)],
            vec![Piece::text(job.state.replace('_', " ").to_lowercase())],
            part("tasks.map.running", job.running.map, deadline.min_maps),
            part("tasks.reduce.running", job.running.reduce, deadline.min_reduces),
            cost(&deadline.map_cost),
            cost(&deadline.reduce_cost),
        ]
    });
    Table::new("Jobs with a deadline, the earliest first", columns, rows.collect()).cut().or_empty(vec![
        Piece::text("No job has a deadline. Submit one: "),
        Piece::code(format!("{SUBMIT} --deadline 20m")),
    ])
}

//! Renders two plays side by side: as tables for people, as JSON for programs.

use crate::api::{ComparedGroup, ComparedJob, PlayComparison, PlayFigures, PlaySettings, tenths_text};
use crate::model::counted;

use super::market_text::{columns, json, lines};
use super::time_text::format_time;

/// Both plays.
pub(super) fn render(answer: &PlayComparison, is_json: bool) -> String {
    if is_json { json(answer) } else { render_text(answer) }
}

fn render_text(answer: &PlayComparison) -> String {
    let PlayComparison { configured, asked, .. } = answer;
    let mut text = format!(
        "{} from {} on; {} that are not finished are left out\n",
        counted(answer.jobs_played, "job"),
        format_time(answer.from_ms),
        answer.jobs_not_finished
    );
    text.push_str(&format!(
        "as configured: {}, {} TaskTrackers{}\n",
        configured.scheduler,
        configured.nodes,
        moved(configured)
    ));
    let set: String = asked.set.iter().map(|set| format!(", {set}")).collect();
    let orders = if asked.orders { "" } else { ", without deadline orders" };
    text.push_str(&format!(
        "as asked:      {}, {} TaskTrackers{set}{orders}{}\n\nAssumed:\n",
        asked.scheduler,
        asked.nodes,
        moved(asked)
    ));
    answer.assumed.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
    let heads = [
        "queue",
        "run",
        "jobs",
        "ended well",
        "waiting",
        "p95",
        "running",
        "p95",
        "slot hours",
        "kills",
        "deadlines met",
        "cost",
    ];
    let mut table = columns(&heads, 2);
    for ComparedGroup { group, jobs, configured, asked } in &answer.groups {
        let group = group.as_deref().unwrap_or("(all)");
        table.add_row(row(group, "configured", *jobs, configured));
        table.add_row(row("", "asked", *jobs, asked));
    }
    text.push_str(&format!("\n{}", lines(&table)));
    if let Some(jobs) = &answer.jobs {
        text.push_str(&format!("\n{}", jobs_table(jobs)));
    }
    if let Some(sentence) = answer.refusal_sentence() {
        text.push_str(&format!("\n{sentence}\n"));
    }
    text
}

fn moved(settings: &PlaySettings) -> String {
    match settings.moved_jobs {
        0 => String::new(),
        moved => format!(", {} in its first queue, for theirs does not exist under it", counted(moved, "job")),
    }
}

fn row(group: &str, run: &str, jobs: usize, figures: &PlayFigures) -> [String; 12] {
    let PlayFigures { succeeded, waiting_ms, running_ms, kills, cost, .. } = figures;
    [
        group.to_owned(),
        run.to_owned(),
        jobs.to_string(),
        succeeded.to_string(),
        tenths_text(waiting_ms.median),
        tenths_text(waiting_ms.p95),
        tenths_text(running_ms.median),
        tenths_text(running_ms.p95),
        figures.slot_hours_text(),
        kills.to_string(),
        figures.deadlines_text(),
        cost.to_string(),
    ]
}

fn jobs_table(jobs: &[ComparedJob]) -> String {
    let heads = [
        "job",
        "user",
        "submitted",
        "took",
        "as configured",
        "as asked",
        "deadline",
        "met then",
        "configured",
        "asked",
    ];
    let mut table = columns(&heads, 2);
    for job in jobs {
        table.add_row([
            job.job.to_string(),
            job.user.clone(),
            format_time(job.submitted_ms),
            job.end_text(&job.recorded),
            job.end_text(&job.configured),
            job.end_text(&job.asked),
            job.deadline_text(),
            job.recorded.met_text().to_owned(),
            job.configured.met_text().to_owned(),
            job.asked.met_text().to_owned(),
        ]);
    }
    lines(&table)
}

//! Renders two plays side by side: as tables for people, as JSON for programs.

use serde::Serialize;

use crate::model::{JobId, RunState, counted};
use crate::sim::what_if::{Compared, Figures, Played, PlayedJob, RecordedJob, Recording, is_met};

use super::market_text::{columns, json, lines};
use super::time_text::format_time;

/// Two plays, and what they are of.
pub(super) struct Answer<'a> {
    pub(super) recording: &'a Recording,
    /// TaskTrackers of the second play.
    pub(super) asked_nodes: usize,
    /// Classes of the schedulers of both plays.
    pub(super) schedulers: [String; 2],
    pub(super) set: &'a [String],
    pub(super) without_orders: bool,
    pub(super) configured: &'a Played,
    pub(super) asked: &'a Played,
    pub(super) shows_jobs: bool,
}

/// What both plays assume.
const ASSUMED: [&str; 6] = [
    "task times as recorded, scaled by nothing; tasks that never succeeded take the mean of their like",
    "a job killed then is killed as long after its submission; one that failed fails by the tasks that failed",
    "reduces copy as long after the last map as they did; TaskTrackers come and go as they did until the last job was over, and speak at heartbeats only, in long plays more seldom",
    "bids, money, orders and changes of deadlines come when they came; priorities and pools are as submitted or last changed",
    "costs of classes of jobs are learned in each play from the start; access lists and signatures are not asked for",
    "jobs that were rejected then, and jobs that are not finished, are left out",
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonAnswer<'a> {
    assumed: [&'static str; 6],
    from_ms: i64,
    jobs_played: usize,
    jobs_not_finished: usize,
    configured: JsonRun<'a>,
    asked: JsonRun<'a>,
    groups: Vec<Compared>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<Vec<JsonJob>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonRun<'a> {
    scheduler: &'a str,
    nodes: usize,
    set: &'a [String],
    orders: bool,
    moved_jobs: usize,
    end_ms: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonJob {
    job: JobId,
    recorded: JsonEnd,
    configured: JsonEnd,
    asked: JsonEnd,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonEnd {
    /// None: not over, or not accepted.
    end_ms: Option<i64>,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    met: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
}

/// Both plays.
pub(super) fn render(answer: &Answer<'_>, is_json: bool) -> String {
    let groups = Compared::of(answer.recording, answer.configured, answer.asked, |job| job.spec.queue.clone());
    if is_json { render_json(answer, groups) } else { render_text(answer, &groups) }
}

fn render_json(answer: &Answer<'_>, groups: Vec<Compared>) -> String {
    let Answer { recording, configured, asked, .. } = answer;
    let jobs = recording.jobs.iter().zip(configured.jobs.iter().zip(&asked.jobs)).map(|(job, (configured, asked))| {
        let deadline_ms = job.deadline_ms;
        let end = |played: &PlayedJob| JsonEnd {
            end_ms: played.end.map(|(_, end_ms)| end_ms),
            state: state_of(played),
            met: deadline_ms.map(|deadline_ms| is_met(played, deadline_ms)),
            cost: Some(played.cost.to_string()),
            refusal: played.refusal.clone(),
        };
        let recorded = as_recorded(job);
        let recorded = JsonEnd { cost: None, ..end(&recorded) };
        JsonJob { job: job.id, recorded, configured: end(configured), asked: end(asked), deadline_ms }
    });
    let run = |place: usize, nodes, played: &Played, set, orders| JsonRun {
        scheduler: &answer.schedulers[place],
        nodes,
        set,
        orders,
        moved_jobs: played.moved,
        end_ms: played.end_ms,
    };
    json(&JsonAnswer {
        assumed: ASSUMED,
        from_ms: recording.start_ms,
        jobs_played: recording.jobs.len(),
        jobs_not_finished: recording.unfinished,
        configured: run(0, recording.nodes(), configured, &[], true),
        asked: run(1, answer.asked_nodes, asked, answer.set, !answer.without_orders),
        groups,
        jobs: answer.shows_jobs.then(|| jobs.collect()),
    })
}

fn render_text(answer: &Answer<'_>, groups: &[Compared]) -> String {
    let Answer { recording, configured, asked, .. } = answer;
    let mut text = format!(
        "{} from {} on; {} that are not finished are left out\n",
        counted(recording.jobs.len(), "job"),
        format_time(recording.start_ms),
        recording.unfinished
    );
    text.push_str(&format!(
        "as configured: {}, {} TaskTrackers{}\n",
        answer.schedulers[0],
        recording.nodes(),
        moved(configured)
    ));
    let set: String = answer.set.iter().map(|set| format!(", {set}")).collect();
    let orders = if answer.without_orders { ", without deadline orders" } else { "" };
    text.push_str(&format!(
        "as asked:      {}, {} TaskTrackers{set}{orders}{}\n\nAssumed:\n",
        answer.schedulers[1],
        answer.asked_nodes,
        moved(asked)
    ));
    ASSUMED.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
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
    for Compared { group, jobs, configured, asked } in groups {
        let group = group.as_deref().unwrap_or("(all)");
        table.add_row(row(group, "configured", *jobs, configured));
        table.add_row(row("", "asked", *jobs, asked));
    }
    text.push_str(&format!("\n{}", lines(&table)));
    if answer.shows_jobs {
        text.push_str(&format!("\n{}", jobs_table(answer)));
    }
    let refused = asked.jobs.iter().filter_map(|job| job.refusal.as_ref());
    if let Some(why) = refused.clone().next() {
        let (refused, are) = match refused.count() {
            1 => ("1 job".to_owned(), "is"),
            count => (counted(count, "job"), "are"),
        };
        text.push_str(&format!("\nAs asked, {refused} {are} refused; the first: {why}\n"));
    }
    text
}

fn moved(played: &Played) -> String {
    match played.moved {
        0 => String::new(),
        moved => format!(", {} in its first queue, for theirs does not exist under it", counted(moved, "job")),
    }
}

fn row(group: &str, run: &str, jobs: usize, figures: &Figures) -> [String; 12] {
    let Figures { succeeded, waiting_ms, running_ms, slot_ms, kills, deadlines_met, deadlines, cost, .. } = figures;
    let deadlines = if *deadlines == 0 { "-".to_owned() } else { format!("{deadlines_met} of {deadlines}") };
    [
        group.to_owned(),
        run.to_owned(),
        jobs.to_string(),
        succeeded.to_string(),
        seconds(waiting_ms.median),
        seconds(waiting_ms.p95),
        seconds(running_ms.median),
        seconds(running_ms.p95),
        format!("{}.{:02}", slot_ms / 3_600_000, slot_ms % 3_600_000 / 36_000),
        kills.to_string(),
        deadlines,
        cost.to_string(),
    ]
}

/// A time, s with one decimal.
fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

fn jobs_table(answer: &Answer<'_>) -> String {
    let Answer { recording, configured, asked, .. } = answer;
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
    for (job, (configured, asked)) in recording.jobs.iter().zip(configured.jobs.iter().zip(&asked.jobs)) {
        let took = |end_ms: i64| seconds(u64::try_from(end_ms.saturating_sub(job.submit_ms)).unwrap_or(0));
        let end = |played: &PlayedJob| match played.end {
            Some((RunState::Succeeded, end_ms)) => took(end_ms),
            Some((_, end_ms)) => format!("{} {}", took(end_ms), state_of(played)),
            None => state_of(played),
        };
        let deadline_ms = job.deadline_ms;
        let met = |played: &PlayedJob| match deadline_ms.map(|deadline_ms| is_met(played, deadline_ms)) {
            None => "-".to_owned(),
            Some(true) => "met".to_owned(),
            Some(false) => "missed".to_owned(),
        };
        let recorded = as_recorded(job);
        table.add_row([
            job.id.to_string(),
            job.spec.user.clone(),
            format_time(job.submit_ms),
            end(&recorded),
            end(configured),
            end(asked),
            deadline_ms.map_or_else(|| "-".to_owned(), took),
            met(&recorded),
            met(configured),
            met(asked),
        ]);
    }
    lines(&table)
}

/// A job as if the recording had been a play.
fn as_recorded(job: &RecordedJob) -> PlayedJob {
    PlayedJob { end: Some((job.state, job.finish_ms)), ..PlayedJob::default() }
}

/// How a job ended, or that it did not.
fn state_of(played: &PlayedJob) -> String {
    match (played.end, &played.refusal) {
        (Some((state, _)), _) => format!("{state:?}").to_uppercase(),
        (None, Some(_)) => "REFUSED".to_owned(),
        (None, None) => "NOT OVER".to_owned(),
    }
}

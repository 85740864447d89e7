//! The parts of a job: attempts, tasks, a grid of their states, where its time went, counters, events and configuration.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::api::TaskAttempt;
use crate::engine::{ClusterSnapshot, TrackerSnapshot};
use crate::model::{AttemptState, Kind, PerKind, RunState};
use crate::views::{AttemptView, JobView};

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::{Owner, OwnerGone};
use super::super::state::ANSWER_TIMEOUT;
use super::super::waits::{TimedJob, waits};
use super::answer::{Content, lasting};
use super::ask::{Ask, ended_job, found, known_job};
use super::grid::{Grid, cells};
use super::grid::{STATES, kind_word, place_of};
use super::listing::Listing;

/// States of attempts, in Hadoop's spelling.
const ATTEMPT_STATES: [&str; 8] =
    ["UNASSIGNED", "RUNNING", "COMMIT_PENDING", "SUCCEEDED", "FAILED", "KILLED", "FAILED_UNCLEAN", "KILLED_UNCLEAN"];
/// What an attempt is for, in the order of lists.
const TASKS: [&str; 4] = ["setup", "map", "reduce", "cleanup"];
/// Tasks up to which a grid is made on the thread of the web server.
const FEW_TASKS: u32 = 20_000;

#[derive(Clone, Debug, PartialEq, Serialize)]
struct TaskRow {
    task: String,
    kind: &'static str,
    state: &'static str,
    attempts: usize,
    worker: Option<String>,
    started_ms: Option<i64>,
    finish_ms: Option<i64>,
    status: Option<String>,
}

/// The job of the path with its attempts, and whether it is over.
pub(super) async fn with_attempts<O: Owner>(ask: &Ask<'_, O>) -> Result<(Arc<JobView>, bool), Problem> {
    let job = known_job(ask)?;
    ask.check_parts_of_job(&job).await?;
    if job.finish_ms().is_none() {
        return Ok((job, false));
    }
    let ended = ended_job(ask, job.id()).await?;
    let gone = || {
        let detail = format!("the attempts of {} are not kept any more", job.id());
        Problem::new(ProblemName::NoSuchJob, detail).with_try("/api/v1/history/jobs")
    };
    Ok((ended.ok_or_else(gone)?, true))
}

/// Answers `/jobs/{job}/attempts`: setup, maps, reduces, cleanup, each by number.
pub(super) async fn attempts<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    let one_of = |known: &'static [&'static str]| move |text: &str| known.iter().copied().find(|word| *word == text);
    let states = format!("one of {}", ATTEMPT_STATES.join(", "));
    let states = parameters.parsed_all("state", &states, one_of(&ATTEMPT_STATES));
    let tasks = parameters.parsed_all("task", "setup, map, reduce or cleanup", one_of(&TASKS));
    parameters.end()?;
    let (job, _) = with_attempts(ask).await?;
    let passes = |attempt: &AttemptView, task: &'static str| {
        (states.is_empty() || states.contains(&attempt.state().name())) && (tasks.is_empty() || tasks.contains(&task))
    };
    let of_class = |class: usize| {
        let job = &job;
        Kind::ALL.into_iter().flat_map(move |kind| {
            let all = job.tasks(kind).iter().filter(move |attempt| TASKS[class] == word_of(job, kind, attempt));
            all.map(move |attempt| (position(class, kind, attempt), (kind, attempt)))
        })
    };
    let all = (0..TASKS.len()).flat_map(|class| {
        of_class(class).filter(move |(_, (_, attempt))| passes(attempt, TASKS[class])).collect::<Vec<_>>()
    });
    let overview = &ask.shown.overview;
    Ok(listing.page_in_order(all, |(kind, attempt)| attempt_row(&job, *kind, attempt, overview)))
}

/// What an attempt is for: the cleanup's number follows those of the tasks, then the setup's.
fn word_of(job: &JobView, kind: Kind, attempt: &AttemptView) -> &'static str {
    match i64::from(attempt.task()) - i64::from(job.total()[kind]) {
        ..0 => kind_word(kind),
        0 => "cleanup",
        _ => "setup",
    }
}

/// A number that orders the attempts of a job.
fn position(class: usize, kind: Kind, attempt: &AttemptView) -> i64 {
    let number = i64::from(attempt.number()).min((1 << 20) - 1);
    let kind = i64::from(kind == Kind::Reduce);
    ((class as i64) << 55) | (kind << 54) | (i64::from(attempt.task()) << 20) | number
}

fn attempt_row(job: &JobView, kind: Kind, attempt: &AttemptView, overview: &ClusterSnapshot) -> Value {
    let texts = attempt.texts();
    let tracker = tracker_of(overview, attempt.tracker());
    let number = i32::try_from(attempt.task()).unwrap_or(i32::MAX);
    let row = TaskAttempt {
        attempt: job.id().task(kind, number).attempt(attempt.number()),
        task: word_of(job, kind, attempt).to_owned(),
        state: attempt.state().name().to_owned(),
        worker: tracker.map(|tracker| tracker.worker.clone()),
        http: tracker.map(|tracker| format!("http://{}:{}", tracker.host, tracker.http_port)),
        input: None,
        since_ms: attempt.launch_ms(),
        finish_ms: attempt.finish_ms(),
        percent: if attempt.state() == AttemptState::Succeeded { 100 } else { 0 },
        status: texts.status.to_string(),
        diagnostics: TaskAttempt::shown_diagnostics(texts.diagnostics.to_string()),
    };
    let mut row = lasting(&row);
    if let Some(members) = row.as_object_mut().filter(|_| attempt.is_live()) {
        // How far it is while it runs is no fact.
        members.remove("percent");
    }
    row
}

pub(super) fn tracker_of<'a>(overview: &'a ClusterSnapshot, name: &str) -> Option<&'a TrackerSnapshot> {
    let place = overview.trackers.binary_search_by(|tracker| tracker.name.as_str().cmp(name)).ok()?;
    overview.trackers.get(place)
}

/// Answers `/jobs/{job}/tasks`: maps, then reduces, each by number.
pub(super) async fn tasks<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    let expected = format!("one of {}", STATES.join(", "));
    let wanted = parameters.parsed_all("state", &expected, |text| STATES.into_iter().find(|state| *state == text));
    let kinds = [Kind::Map, Kind::Reduce];
    let kind =
        parameters.parsed("kind", "map or reduce", |text| kinds.into_iter().find(|kind| kind_word(*kind) == text));
    parameters.end()?;
    let (job, is_over) = with_attempts(ask).await?;
    let first = listing.after_number().map_or(0, |after| after.saturating_add(1));
    let total = PerKind::new(i64::from(job.total().map), i64::from(job.total().reduce));
    let rows = (first.max(0)..total.map + total.reduce).filter_map(|place| {
        let (of, number) = if place < total.map { (Kind::Map, place) } else { (Kind::Reduce, place - total.map) };
        let task = u32::try_from(number).ok().filter(|_| kind.is_none_or(|kind| kind == of))?;
        let state = STATES[place_of(job.task_state(of, task, is_over))];
        (wanted.is_empty() || wanted.contains(&state)).then_some((place, (of, task, state)))
    });
    let overview = &ask.shown.overview;
    Ok(listing.page_in_order(rows, |(of, task, state)| lasting(&task_row(&job, *of, *task, state, overview))))
}

fn task_row(job: &JobView, kind: Kind, task: u32, state: &'static str, overview: &ClusterSnapshot) -> TaskRow {
    let attempts = job.tasks(kind).of(task);
    let succeeded = attempts.iter().find(|attempt| attempt.state() == AttemptState::Succeeded);
    let shown = succeeded.or(attempts.last());
    let number = i32::try_from(task).unwrap_or(i32::MAX);
    TaskRow {
        task: job.id().task(kind, number).to_string(),
        kind: kind_word(kind),
        state,
        attempts: attempts.len(),
        worker: shown.and_then(|attempt| tracker_of(overview, attempt.tracker())).map(|tracker| tracker.worker.clone()),
        started_ms: attempts.first().map(AttemptView::launch_ms),
        finish_ms: shown.and_then(AttemptView::finish_ms),
        status: shown.map(|attempt| attempt.texts().status.to_string()).filter(|status| !status.is_empty()),
    }
}

pub(super) async fn grid<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let cells = cells(&mut parameters);
    parameters.end()?;
    let (job, is_over) = with_attempts(ask).await?;
    let total = job.total();
    let grid = move |kind| {
        let runs = job.task_runs(kind, is_over).into_iter().map(|(state, tasks)| (place_of(state), tasks)).collect();
        Grid::new(kind_word(kind), STATES, runs, cells)
    };
    let make = move || Kind::ALL.map(grid);
    let grids = match total.map.saturating_add(total.reduce) {
        ..=FEW_TASKS => make(),
        _ => {
            let made = tokio::task::spawn_blocking(make).await;
            made.map_err(|error| Problem::new(ProblemName::InternalError, error.to_string()))?
        }
    };
    Ok(Content::one(&serde_json::json!({ "grids": grids })))
}

/// Answers `/jobs/{job}/waits`: where its time went.
pub(super) async fn job_waits<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    let (job, is_over) = with_attempts(ask).await?;
    let (state, finish_ms) = match ask.shown.views.job(job.id()) {
        Some(known) => ask.shown.views.shown_end(known),
        None => (job.state(), job.finish_ms()),
    };
    let samples = ask.shown.samples.clone();
    // Also of times when the market ruled, while another scheduler does.
    let hides_market = !ask.viewer.sees_money_of(&job.spec().queue);
    // While it runs, up to the last change of it: the answer does not depend on when it is read.
    let made = tokio::task::spawn_blocking(move || {
        let detail = job.detail(is_over, usize::MAX);
        let moments = detail.attempts.iter().map(|attempt| attempt.finish_ms.unwrap_or(attempt.launch_ms));
        let sampled = samples.reasons(job.id()).and_then(|reasons| reasons.spans().last()).map(|span| span.to_ms);
        let last_ms = moments.chain(sampled).max().unwrap_or(job.submit_ms());
        let timed = TimedJob {
            submit_ms: job.submit_ms(),
            to_ms: finish_ms.unwrap_or(last_ms),
            tasks: u64::from(job.total().map) + u64::from(job.total().reduce),
            has_begun: state != RunState::Prep,
            attempts: &detail.attempts,
        };
        waits(&timed, samples.reasons(job.id()), hides_market)
    });
    let spans = made.await.map_err(|error| Problem::new(ProblemName::InternalError, error.to_string()))?;
    Ok(Content::one(&serde_json::json!({ "spans": spans })))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ConfRow {
    key: String,
    /// `<redacted>` of what is secret.
    value: String,
}

/// Answers `/jobs/{job}/counters`: by group and name.
pub(super) async fn counters<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    parameters.end()?;
    let job = known_job(ask)?;
    ask.check_parts_of_job(&job).await?;
    let counters = found(timeout(ANSWER_TIMEOUT, ask.web.owner.job_counters(job.id())).await)?;
    Ok(listing.page_in_order((0..).zip(counters.unwrap_or_default()), lasting))
}

/// Answers `/jobs/{job}/events`: by number.
pub(super) async fn events<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    parameters.end()?;
    let job = known_job(ask)?;
    ask.check_parts_of_job(&job).await?;
    let after = listing.after_number().and_then(|after| usize::try_from(after).ok());
    let first = after.map_or(0, |after| after.saturating_add(1));
    let read = ask.web.owner.job_events(job.id(), first, listing.limit() + 1);
    let events = found(timeout(ANSWER_TIMEOUT, read).await)?;
    Ok(listing.page_in_order(events.into_iter().map(|event| (event.number.into(), event)), lasting))
}

/// Answers `/jobs/{job}/conf`: by key.
pub(super) async fn conf<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    parameters.end()?;
    let job = known_job(ask)?;
    ask.check_parts_of_job(&job).await?;
    // Without a viewer the owner is not asked: who may see it was judged above.
    let read = timeout(ANSWER_TIMEOUT, ask.web.owner.stock_conf(job.id(), None)).await;
    let conf = read.unwrap_or(Err(OwnerGone))?.ok().flatten().unwrap_or_default();
    let rows = conf.into_iter().map(|(key, value)| ConfRow { key, value });
    Ok(listing.page_in_order((0..).zip(rows), lasting))
}

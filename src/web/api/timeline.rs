//! The attempts of a job over time, by worker: its size depends on what is asked for.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use serde::Serialize;
use tokio::task::spawn_blocking;

use crate::engine::ClusterSnapshot;
use crate::model::{AttemptId, Kind};
use crate::views::{AttemptView, JobView};

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::Owner;
use super::answer::Content;
use super::ask::Ask;
use super::job_parts::{tracker_of, with_attempts};

/// Bars unless they are given.
const BARS: usize = 1_000;
const MOST_BARS: u64 = 10_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Timeline {
    /// By worker.
    rows: Vec<TimelineRow>,
    left_out: LeftOut,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct TimelineRow {
    worker: String,
    /// By their begin.
    bars: Vec<AttemptBar>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct AttemptBar {
    attempt: AttemptId,
    state: &'static str,
    from_ms: i64,
    /// None: it runs.
    to_ms: Option<i64>,
    /// When copying and merging ended, of reduces.
    shuffle_ms: Option<i64>,
    sort_ms: Option<i64>,
}

/// Attempts without a bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct LeftOut {
    bars: u64,
    /// How long those of them took that have ended.
    total_ms: u64,
}

/// What orders attempts: those that run come first, then the longest, then the earliest.
type Rank = (Reverse<i64>, i64, Kind, u32, i32);

/// Answers `/jobs/{job}/timeline`: the longest attempts, and what the others took in all.
pub(super) async fn timeline<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let most = parameters.whole("bars", 1..=MOST_BARS).unwrap_or(BARS);
    parameters.end()?;
    let (job, _) = with_attempts(ask).await?;
    let end_ms = ask.shown.views.job(job.id()).and_then(|known| ask.shown.views.shown_end(known).1);
    let overview = ask.shown.overview.clone();
    let made = spawn_blocking(move || Content::one(&timeline_of(&job, end_ms, most, &overview))).await;
    made.map_err(|error| Problem::new(ProblemName::InternalError, error.to_string()))
}

/// `end_ms`: of a job that is over; what has not ended by itself has ended with it.
fn timeline_of(job: &JobView, end_ms: Option<i64>, most: usize, overview: &ClusterSnapshot) -> Timeline {
    let to_ms = |attempt: &AttemptView| attempt.finish_ms().or(end_ms);
    let length_ms =
        |attempt: &AttemptView| to_ms(attempt).map(|to_ms| to_ms.saturating_sub(attempt.launch_ms()).max(0));
    let mut left_out = LeftOut::default();
    let mut kept: BinaryHeap<Rank> = BinaryHeap::new();
    let mut leave_out = |Reverse(length_ms): Reverse<i64>| {
        left_out.bars += 1;
        if length_ms < i64::MAX {
            left_out.total_ms = left_out.total_ms.saturating_add(length_ms.unsigned_abs());
        }
    };
    for kind in Kind::ALL {
        for attempt in job.tasks(kind).iter() {
            let length_ms = length_ms(attempt).unwrap_or(i64::MAX);
            kept.push((Reverse(length_ms), attempt.launch_ms(), kind, attempt.task(), attempt.number()));
            if kept.len() > most
                && let Some((length_ms, ..)) = kept.pop()
            {
                leave_out(length_ms);
            }
        }
    }
    let mut rows: BTreeMap<String, Vec<AttemptBar>> = BTreeMap::new();
    for (_, _, kind, task, number) in kept {
        let Some(attempt) = job.tasks(kind).of(task).iter().find(|attempt| attempt.number() == number) else {
            continue;
        };
        let moment = |ms: i64| (ms != 0).then_some(ms);
        let texts = attempt.texts();
        let bar = AttemptBar {
            attempt: job.id().task(kind, i32::try_from(task).unwrap_or(i32::MAX)).attempt(number),
            state: attempt.state().name(),
            from_ms: attempt.launch_ms(),
            to_ms: to_ms(attempt),
            shuffle_ms: moment(texts.shuffle_finish_ms),
            sort_ms: moment(texts.sort_finish_ms),
        };
        // One that is gone has no other name.
        let worker = tracker_of(overview, attempt.tracker()).map_or(&**attempt.tracker(), |tracker| &tracker.worker);
        rows.entry(worker.to_owned()).or_default().push(bar);
    }
    let row = |(worker, mut bars): (String, Vec<AttemptBar>)| {
        bars.sort_unstable_by_key(|bar| (bar.from_ms, bar.attempt));
        TimelineRow { worker, bars }
    };
    Timeline { rows: rows.into_iter().map(row).collect(), left_out }
}

//! Where the time of a job went: spans that cover it from its submission to its end or now, without a gap.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::api::AttemptDetail;
use crate::model::{AttemptState, TaskId};
use crate::views::{ReasonLog, ReasonSpan};

/// About the most spans; shorter ones join the one before.
const MOST_SPANS: i64 = 199;
/// The reason of a span of which no sample says why.
const NOT_SAMPLED: &str = "not_sampled";
/// The reason of a span whose reason is not for this viewer: it says what a queue has bought.
const NOT_SHOWN: &str = "not_shown";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct WaitSpan {
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
    pub(super) state: WaitState,
    /// Why it waited, by the name that `explain` has for it; none where nothing waited for a slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WaitState {
    /// Its setup has not begun.
    Prep,
    /// Its setup runs, or is to run again.
    Setup,
    /// Nothing of it runs.
    Waits,
    /// Some of its tasks run, some wait.
    Limited,
    /// All that is left of it runs.
    Runs,
    Cleanup,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TimedJob<'a> {
    /// Epoch ms.
    pub(super) submit_ms: i64,
    /// Its end, or now, epoch ms.
    pub(super) to_ms: i64,
    /// Maps and reduces.
    pub(super) tasks: u64,
    /// Whether it has been set up.
    pub(super) has_begun: bool,
    pub(super) attempts: &'a [AttemptDetail],
}

/// What runs of a job, while its attempts begin and end.
#[derive(Debug, Default)]
struct RunningCounts {
    /// Live attempts of each task that was launched, and whether it is done.
    tasks: BTreeMap<TaskId, (u32, bool)>,
    running_tasks: u64,
    done_tasks: u64,
    setups: u32,
    cleanups: u32,
    has_setup: bool,
    is_set_up: bool,
}

impl WaitState {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Prep => "waits for its setup",
            Self::Setup => "setup",
            Self::Waits => "waits",
            Self::Limited => "some run, some wait",
            Self::Runs => "all that is left runs",
            Self::Cleanup => "cleanup",
        }
    }

    const fn has_reason(self) -> bool {
        matches!(self, Self::Prep | Self::Waits | Self::Limited)
    }
}

impl RunningCounts {
    fn begin(&mut self, attempt: &AttemptDetail) {
        match attempt.task {
            "setup" => {
                self.setups += 1;
                self.has_setup = true;
            }
            "cleanup" => self.cleanups += 1,
            _ => {
                let (live, is_done) = self.tasks.entry(attempt.attempt.task).or_default();
                if *live == 0 && !*is_done {
                    self.running_tasks += 1;
                }
                *live += 1;
            }
        }
    }

    fn end(&mut self, attempt: &AttemptDetail) {
        let has_succeeded = attempt.state == AttemptState::Succeeded;
        match attempt.task {
            "setup" => {
                self.setups = self.setups.saturating_sub(1);
                self.is_set_up |= has_succeeded;
            }
            "cleanup" => self.cleanups = self.cleanups.saturating_sub(1),
            _ => {
                let (live, is_done) = self.tasks.entry(attempt.attempt.task).or_default();
                *live = live.saturating_sub(1);
                if *is_done {
                    return;
                }
                if has_succeeded {
                    *is_done = true;
                    self.done_tasks += 1;
                }
                if has_succeeded || *live == 0 {
                    self.running_tasks = self.running_tasks.saturating_sub(1);
                }
            }
        }
    }

    fn state(&self, job: &TimedJob<'_>, has_setups: bool) -> WaitState {
        let waiting = job.tasks.saturating_sub(self.done_tasks).saturating_sub(self.running_tasks);
        match self.running_tasks {
            1.. if waiting > 0 => WaitState::Limited,
            1.. => WaitState::Runs,
            0 if self.cleanups > 0 => WaitState::Cleanup,
            0 if self.setups > 0 => WaitState::Setup,
            0 if !self.tasks.is_empty() || self.is_set_up => WaitState::Waits,
            0 if self.has_setup => WaitState::Setup,
            0 if has_setups || !job.has_begun => WaitState::Prep,
            0 => WaitState::Waits,
        }
    }
}

/// The spans; `hides_market`: reasons of the market are not for this viewer.
pub(super) fn waits(job: &TimedJob<'_>, reasons: Option<&ReasonLog>, hides_market: bool) -> Vec<WaitSpan> {
    let (from_ms, to_ms) = (job.submit_ms, job.to_ms.max(job.submit_ms));
    let within = |ms: i64| ms.clamp(from_ms, to_ms);
    // What ends at a moment does so before what begins.
    let mut changes: Vec<(i64, bool, &AttemptDetail)> = Vec::with_capacity(job.attempts.len() * 2);
    for attempt in job.attempts {
        let begin_ms = within(attempt.launch_ms);
        changes.push((begin_ms, true, attempt));
        // One of no length would end before it begins.
        changes.extend(attempt.finish_ms.map(|finish_ms| (within(finish_ms).max(begin_ms + 1), false, attempt)));
    }
    changes.retain(|(at_ms, ..)| *at_ms < to_ms);
    changes.sort_by_key(|(at_ms, is_begin, attempt)| (*at_ms, *is_begin, attempt.attempt));
    let has_setups = job.attempts.iter().any(|attempt| attempt.task == "setup");
    let mut running = RunningCounts::default();
    let mut spans: Vec<WaitSpan> = Vec::new();
    let mut begin_ms = from_ms;
    for (at_ms, is_begin, attempt) in changes {
        if at_ms > begin_ms {
            push(&mut spans, (begin_ms, at_ms), running.state(job, has_setups), None);
            begin_ms = at_ms;
        }
        match is_begin {
            true => running.begin(attempt),
            false => running.end(attempt),
        }
    }
    if to_ms > begin_ms {
        push(&mut spans, (begin_ms, to_ms), running.state(job, has_setups), None);
    }
    let reasons: Vec<&ReasonSpan> = reasons.into_iter().flat_map(ReasonLog::spans).collect();
    let mut explained: Vec<WaitSpan> = Vec::new();
    for span in spans {
        match span.state.has_reason() {
            true => explain(&mut explained, &span, &reasons, hides_market),
            false => explained.push(span),
        }
    }
    without_short(explained)
}

fn push(spans: &mut Vec<WaitSpan>, (from_ms, to_ms): (i64, i64), state: WaitState, reason: Option<String>) {
    match spans.last_mut() {
        Some(last) if last.state == state && last.reason == reason => last.to_ms = to_ms,
        _ => spans.push(WaitSpan { from_ms, to_ms, state, reason }),
    }
}

/// Adds a span in parts by what was sampled in it.
fn explain(spans: &mut Vec<WaitSpan>, span: &WaitSpan, reasons: &[&ReasonSpan], hides_market: bool) {
    let mut at_ms = span.from_ms;
    let first = reasons.partition_point(|reason| reason.to_ms <= span.from_ms);
    for reason in reasons.iter().skip(first).take_while(|reason| reason.from_ms < span.to_ms) {
        let (from_ms, to_ms) = (reason.from_ms.max(at_ms), reason.to_ms.min(span.to_ms));
        if from_ms > at_ms {
            push(spans, (at_ms, from_ms), span.state, Some(NOT_SAMPLED.to_owned()));
        }
        if to_ms > from_ms {
            let name = if reason.is_of_market && hides_market { NOT_SHOWN } else { &*reason.reason };
            push(spans, (from_ms, to_ms), span.state, Some(name.to_owned()));
            at_ms = to_ms;
        }
    }
    if span.to_ms > at_ms {
        push(spans, (at_ms, span.to_ms), span.state, Some(NOT_SAMPLED.to_owned()));
    }
}

/// The same where spans that are too short to be seen count to the one before.
fn without_short(spans: Vec<WaitSpan>) -> Vec<WaitSpan> {
    if spans.len() as i64 <= MOST_SPANS {
        return spans;
    }
    let all_ms = spans.last().map_or(0, |last| last.to_ms) - spans.first().map_or(0, |first| first.from_ms);
    let least_ms = all_ms / MOST_SPANS + 1;
    let mut kept: Vec<WaitSpan> = Vec::new();
    for span in spans {
        match kept.last_mut() {
            Some(last) if span.to_ms - span.from_ms < least_ms => last.to_ms = span.to_ms,
            _ => push(&mut kept, (span.from_ms, span.to_ms), span.state, span.reason),
        }
    }
    kept
}

#[cfg(test)]
#[path = "tests/waits.rs"]
mod tests;

//! Parts that several of these pages have.

use serde::Serialize;

use crate::model::{JobId, RunState};

use super::data::{StockAttempt, StockPlace};
use super::java_text::{day_and_time, percent};

/// A progress in words, and the whole percent that its bar fills.
#[derive(Clone, Debug)]
pub(super) struct ShownProgress {
    pub(super) text: String,
    pub(super) whole: u32,
}

pub(super) struct Logs {
    pub(super) last_4kb: String,
    pub(super) last_8kb: String,
    pub(super) all: String,
    /// Without a part, which is all of them too.
    pub(super) plain: String,
}

impl ShownProgress {
    /// Of a progress from 0 to 1.
    pub(super) fn of(progress: f32) -> Self {
        let progress = if progress.is_nan() { 0.0 } else { progress.clamp(0.0, 1.0) };
        ShownProgress { text: percent(progress), whole: (progress * 100.0) as u32 }
    }
}

impl Logs {
    /// Of an attempt on a tracker; none if that is not connected.
    pub(super) fn of(attempt: &StockAttempt, place: &StockPlace, is_cleanup: bool) -> Option<Self> {
        let plain = format!("{}/tasklog?attemptid={}", place.url.as_ref()?, attempt.id);
        let cleanup = if is_cleanup { "&cleanup=true" } else { "" };
        Some(Logs {
            last_4kb: format!("{plain}&start=-4097{cleanup}"),
            last_8kb: format!("{plain}&start=-8193{cleanup}"),
            all: format!("{plain}&all=true{cleanup}"),
            plain,
        })
    }
}

/// A moment, and how long something took until then.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Timing {
    timestamp: String,
    duration_secs: i64,
}

impl Timing {
    pub(super) fn new(at_ms: i64, took_ms: i64) -> Self {
        Timing { timestamp: day_and_time(at_ms), duration_secs: took_ms / 1_000 }
    }
}

pub(super) fn new_job_page(id: JobId) -> String {
    format!("/jobs/{id}")
}

/// The state of a job in the words of its page; none while it is prepared.
pub(super) fn state_word(state: RunState) -> Option<&'static str> {
    match state {
        RunState::Prep => None,
        RunState::Running => Some("Running"),
        RunState::Succeeded => Some("Succeeded"),
        RunState::Failed => Some("Failed"),
        RunState::Killed => Some("Killed"),
    }
}

/// The part of a host's name before its first dot.
pub(super) fn simple_host(host: &str) -> &str {
    host.split('.').next().unwrap_or(host)
}

//! What two plays of recorded jobs came to, side by side: what `jobtracker what-if` prints, and its page.

use serde::Serialize;

use crate::model::{Credits, JobId};

/// Two plays, as configured and as asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlayComparison {
    /// What both plays assume.
    pub assumed: &'static [&'static str],
    /// When both begin, epoch ms.
    pub from_ms: i64,
    /// Jobs that are played.
    pub jobs_played: usize,
    /// Jobs of that time that are left out, as they are not finished.
    pub jobs_not_finished: usize,
    /// As a start would be configured now.
    pub configured: PlaySettings,
    /// As asked.
    pub asked: PlaySettings,
    /// Each queue by its name, then all.
    pub groups: Vec<ComparedGroup>,
    /// Each job, in the order of submission; absent unless they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Vec<ComparedJob>>,
}

/// Under what a play was, and when it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaySettings {
    /// Class name of the scheduler.
    pub scheduler: String,
    /// TaskTrackers.
    pub nodes: usize,
    /// Keys with the values that were asked for.
    pub set: Vec<String>,
    /// Whether deadline orders are kept.
    pub orders: bool,
    /// Jobs in its first queue, for theirs does not exist under it.
    pub moved_jobs: usize,
    /// When it was over, epoch ms.
    pub end_ms: i64,
    /// Why the first of the jobs that it refuses is refused; absent: it refuses none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_refusal: Option<String>,
}

/// A group, or all, in both plays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparedGroup {
    /// Its name; none: all.
    pub group: Option<String>,
    /// Its jobs.
    pub jobs: usize,
    /// As configured.
    pub configured: PlayFigures,
    /// As asked.
    pub asked: PlayFigures,
}

/// What the jobs of a group came to in a play.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlayFigures {
    /// Jobs that succeeded.
    pub succeeded: usize,
    /// Jobs that failed or were killed.
    pub failed: usize,
    /// Jobs that were not accepted.
    pub refused: usize,
    /// Jobs that were not over when the play was.
    pub not_over: usize,
    /// From a job's submission to its first task.
    pub waiting_ms: Spread,
    /// From there to its end.
    pub running_ms: Spread,
    /// Time that attempts held slots, ms of one slot.
    pub slot_ms: u64,
    /// Attempts that were killed before their job ended.
    pub kills: u64,
    /// Jobs that succeeded before their deadline.
    pub deadlines_met: usize,
    /// Jobs with a deadline.
    pub deadlines: usize,
    /// What was charged for jobs, credits.
    pub cost: Credits,
}

/// How values spread; 0 of none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spread {
    /// Half of them are no more.
    pub(crate) median: u64,
    /// Nineteen of twenty are no more.
    pub(crate) p95: u64,
}

/// A job as it was, and in both plays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparedJob {
    /// The job.
    pub job: JobId,
    /// Its user.
    pub user: String,
    /// When it was submitted, epoch ms.
    pub submitted_ms: i64,
    /// As it ended then.
    pub recorded: PlayedEnd,
    /// As configured.
    pub configured: PlayedEnd,
    /// As asked.
    pub asked: PlayedEnd,
    /// Its deadline, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<i64>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlayedEnd {
    /// When, epoch ms; none: not over, or not accepted.
    pub end_ms: Option<i64>,
    /// `SUCCEEDED`, `FAILED`, `KILLED`, `REFUSED` or `NOT OVER`.
    pub state: String,
    /// Whether it succeeded by its deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
    /// What its queue was charged for it, credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Credits>,
    /// Why it was not accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

impl PlayComparison {
    /// That jobs are refused as asked, and why the first is; none: none is.
    pub(crate) fn refusal_sentence(&self) -> Option<String> {
        let why = self.asked.first_refusal.as_ref()?;
        let refused = match self.groups.last().map_or(0, |all| all.asked.refused) {
            1 => "1 job is".to_owned(),
            count => format!("{count} jobs are"),
        };
        Some(format!("As asked, {refused} refused; the first: {why}"))
    }
}

impl PlayFigures {
    /// Whether any job came to an end: else there are no times.
    #[must_use]
    pub(crate) const fn has_ended(&self) -> bool {
        self.succeeded + self.failed > 0
    }

    /// The hours of slots, with two decimals.
    pub(crate) fn slot_hours_text(&self) -> String {
        format!("{}.{:02}", self.slot_ms / 3_600_000, self.slot_ms % 3_600_000 / 36_000)
    }

    /// How many deadlines were met, of how many.
    pub(crate) fn deadlines_text(&self) -> String {
        if self.deadlines == 0 { "-".to_owned() } else { format!("{} of {}", self.deadlines_met, self.deadlines) }
    }
}

impl ComparedJob {
    /// How long the job took to an end of it, with the state unless it succeeded.
    pub(crate) fn end_text(&self, end: &PlayedEnd) -> String {
        match end.end_ms {
            Some(end_ms) if end.state == "SUCCEEDED" => self.span_text(end_ms),
            Some(end_ms) => format!("{} {}", self.span_text(end_ms), end.state),
            None => end.state.clone(),
        }
    }

    /// How long after its submission the deadline is.
    pub(crate) fn deadline_text(&self) -> String {
        self.deadline_ms.map_or_else(|| "-".to_owned(), |deadline_ms| self.span_text(deadline_ms))
    }

    fn span_text(&self, until_ms: i64) -> String {
        tenths_text(u64::try_from(until_ms.saturating_sub(self.submitted_ms)).unwrap_or(0))
    }
}

impl PlayedEnd {
    /// Whether the deadline was met.
    pub(crate) const fn met_text(&self) -> &'static str {
        match self.met {
            None => "-",
            Some(true) => "met",
            Some(false) => "missed",
        }
    }
}

/// A time, s with one decimal.
pub(crate) fn tenths_text(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

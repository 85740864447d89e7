//! What two plays came to, side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::{Credits, RunState};

use super::played::{Played, PlayedJob};
use super::recording::{RecordedJob, Recording};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
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
    pub median: u64,
    /// Nineteen of twenty are no more.
    pub p95: u64,
}

/// A group, or all, in both plays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    /// Its name; none: all.
    pub group: Option<String>,
    pub jobs: usize,
    /// As configured.
    pub configured: Figures,
    /// As asked.
    pub asked: Figures,
}

impl Compared {
    /// Each group of jobs by its name, then all.
    pub fn of(
        recording: &Recording,
        configured: &Played,
        asked: &Played,
        group: impl Fn(&RecordedJob) -> String,
    ) -> Vec<Self> {
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, job) in recording.jobs.iter().enumerate() {
            groups.entry(group(job)).or_default().push(place);
        }
        let compare = |group: Option<String>, places: &[usize]| Self {
            group,
            jobs: places.len(),
            configured: Figures::of(recording, configured, places),
            asked: Figures::of(recording, asked, places),
        };
        let all: Vec<usize> = (0..recording.jobs.len()).collect();
        let mut compared: Vec<Self> = groups.into_iter().map(|(group, places)| compare(Some(group), &places)).collect();
        compared.push(compare(None, &all));
        compared
    }
}

impl Figures {
    fn of(recording: &Recording, played: &Played, places: &[usize]) -> Self {
        let mut figures = Self::default();
        let (mut waiting_ms, mut running_ms) = (Vec::new(), Vec::new());
        let mut units = 0;
        for place in places {
            let (Some(recorded), Some(job)) = (recording.jobs.get(*place), played.jobs.get(*place)) else { continue };
            let between = |from: i64, to: i64| u64::try_from(to.saturating_sub(from)).unwrap_or(0);
            waiting_ms.extend(job.first_launch_ms.map(|first_ms| between(recorded.submit_ms, first_ms)));
            running_ms
                .extend(job.first_launch_ms.zip(job.end).map(|(first_ms, (_, end_ms))| between(first_ms, end_ms)));
            match (job.end, &job.refusal) {
                (Some((RunState::Succeeded, _)), _) => figures.succeeded += 1,
                (Some(_), _) => figures.failed += 1,
                (None, Some(_)) => figures.refused += 1,
                (None, None) => figures.not_over += 1,
            }
            figures.slot_ms += job.slot_ms;
            figures.kills += job.kills;
            if let Some(deadline_ms) = recorded.deadline_ms {
                figures.deadlines += 1;
                figures.deadlines_met += usize::from(is_met(job, deadline_ms));
            }
            units += job.cost.units();
        }
        Self {
            waiting_ms: Spread::of(waiting_ms),
            running_ms: Spread::of(running_ms),
            cost: Credits::from_units(units),
            ..figures
        }
    }
}

/// Whether a job has succeeded by a deadline.
pub fn is_met(job: &PlayedJob, deadline_ms: i64) -> bool {
    job.end.is_some_and(|(state, end_ms)| state == RunState::Succeeded && end_ms <= deadline_ms)
}

impl Spread {
    fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let at = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100);
            values.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        Self { median: at(50), p95: at(95) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_values_that_there_are() {
        let spread = |values: &[u64]| Spread::of(values.to_vec());
        assert_eq!(spread(&[]), Spread::default());
        assert_eq!(spread(&[7]), Spread { median: 7, p95: 7 });
        assert_eq!(spread(&[3, 1, 2, 4]), Spread { median: 2, p95: 4 });
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(spread(&hundred), Spread { median: 50, p95: 95 });
    }
}

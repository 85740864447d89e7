//! Two plays as programs and pages read them.

use std::collections::BTreeMap;

use crate::api::{ComparedGroup, ComparedJob, PlayComparison, PlayFigures, PlaySettings, PlayedEnd, Spread};
use crate::model::{Credits, RunState};

use super::recording::{Played, PlayedJob, RecordedJob, Recording};

/// What both plays assume.
const ASSUMED: &[&str] = &[
    "task times as recorded, scaled by nothing; tasks that never succeeded take the mean of their like",
    "a job killed then is killed as long after its submission; one that failed fails by the tasks that failed",
    "reduces copy as long after the last map as they did; TaskTrackers come and go as they did until the last job was over, and speak at heartbeats only, in long plays more seldom",
    "bids, money, orders and changes of deadlines come when they came; priorities and pools are as submitted or last changed",
    "costs of classes of jobs are learned in each play from the start; access lists and signatures are not asked for",
    "jobs that were rejected then, and jobs that are not finished, are left out",
];

#[derive(Clone, Copy, Debug)]
pub(crate) struct PlayedUnder<'a> {
    pub(crate) played: &'a Played,
    /// Class name of the scheduler.
    pub(crate) scheduler: &'a str,
    pub(crate) nodes: usize,
    /// Keys with values.
    pub(crate) set: &'a [String],
    pub(crate) with_orders: bool,
}

/// Both plays of a recording; `shows_jobs`: also job by job.
#[must_use]
pub(crate) fn compare(
    recording: &Recording,
    configured: PlayedUnder<'_>,
    asked: PlayedUnder<'_>,
    shows_jobs: bool,
) -> PlayComparison {
    let places = recording.jobs.iter().zip(configured.played.jobs.iter().zip(&asked.played.jobs));
    PlayComparison {
        assumed: ASSUMED,
        from_ms: recording.start_ms,
        jobs_played: recording.jobs.len(),
        jobs_not_finished: recording.unfinished,
        configured: settings(configured),
        asked: settings(asked),
        groups: groups(recording, configured.played, asked.played),
        jobs: shows_jobs
            .then(|| places.map(|(job, (configured, asked))| compared_job(job, configured, asked)).collect()),
    }
}

fn settings(under: PlayedUnder<'_>) -> PlaySettings {
    PlaySettings {
        scheduler: under.scheduler.to_owned(),
        nodes: under.nodes,
        set: under.set.to_vec(),
        orders: under.with_orders,
        moved_jobs: under.played.moved,
        end_ms: under.played.end_ms,
        first_refusal: under.played.jobs.iter().find_map(|job| job.refusal.clone()),
    }
}

/// Each queue by its name, then all.
fn groups(recording: &Recording, configured: &Played, asked: &Played) -> Vec<ComparedGroup> {
    let mut queues: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, job) in recording.jobs.iter().enumerate() {
        queues.entry(&job.spec.queue).or_default().push(place);
    }
    let compare = |group: Option<&str>, places: &[usize]| ComparedGroup {
        group: group.map(str::to_owned),
        jobs: places.len(),
        configured: figures_of(recording, configured, places),
        asked: figures_of(recording, asked, places),
    };
    let all: Vec<usize> = (0..recording.jobs.len()).collect();
    let mut groups: Vec<_> = queues.into_iter().map(|(queue, places)| compare(Some(queue), &places)).collect();
    groups.push(compare(None, &all));
    groups
}

fn compared_job(job: &RecordedJob, configured: &PlayedJob, asked: &PlayedJob) -> ComparedJob {
    let end = |played: &PlayedJob, cost: Option<Credits>| PlayedEnd {
        end_ms: played.end.map(|(_, end_ms)| end_ms),
        state: state_of(played),
        met: job.deadline_ms.map(|deadline_ms| is_met(played, deadline_ms)),
        cost,
        refusal: played.refusal.clone(),
    };
    // As if the recording had been a play.
    let recorded = PlayedJob { end: Some((job.state, job.finish_ms)), ..PlayedJob::default() };
    ComparedJob {
        job: job.id,
        user: job.spec.user.clone(),
        submitted_ms: job.submit_ms,
        recorded: end(&recorded, None),
        configured: end(configured, Some(configured.cost)),
        asked: end(asked, Some(asked.cost)),
        deadline_ms: job.deadline_ms,
    }
}

fn state_of(played: &PlayedJob) -> String {
    match (played.end, &played.refusal) {
        (Some((state, _)), _) => format!("{state:?}").to_uppercase(),
        (None, Some(_)) => "REFUSED".to_owned(),
        (None, None) => "NOT OVER".to_owned(),
    }
}

/// What the jobs at these places came to in a play.
pub(super) fn figures_of(recording: &Recording, played: &Played, places: &[usize]) -> PlayFigures {
    let mut figures = PlayFigures::default();
    let (mut waiting_ms, mut running_ms) = (Vec::new(), Vec::new());
    let mut units = 0;
    for place in places {
        let (Some(recorded), Some(job)) = (recording.jobs.get(*place), played.jobs.get(*place)) else { continue };
        let between = |from: i64, to: i64| u64::try_from(to.saturating_sub(from)).unwrap_or(0);
        waiting_ms.extend(job.first_launch_ms.map(|first_ms| between(recorded.submit_ms, first_ms)));
        running_ms.extend(job.first_launch_ms.zip(job.end).map(|(first_ms, (_, end_ms))| between(first_ms, end_ms)));
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
    PlayFigures {
        waiting_ms: spread(waiting_ms),
        running_ms: spread(running_ms),
        cost: Credits::from_units(units),
        ..figures
    }
}

pub(crate) fn is_met(job: &PlayedJob, deadline_ms: i64) -> bool {
    job.end.is_some_and(|(state, end_ms)| state == RunState::Succeeded && end_ms <= deadline_ms)
}

fn spread(mut values: Vec<u64>) -> Spread {
    values.sort_unstable();
    let at = |percent: usize| {
        let rank = (values.len() * percent).div_ceil(100);
        values.get(rank.saturating_sub(1)).copied().unwrap_or(0)
    };
    Spread { median: at(50), p95: at(95) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_values_that_there_are() {
        let spread = |values: &[u64]| spread(values.to_vec());
        assert_eq!(spread(&[]), Spread::default());
        assert_eq!(spread(&[7]), Spread { median: 7, p95: 7 });
        assert_eq!(spread(&[3, 1, 2, 4]), Spread { median: 2, p95: 4 });
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(spread(&hundred), Spread { median: 50, p95: 95 });
    }
}

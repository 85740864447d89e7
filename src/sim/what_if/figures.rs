//! What two plays came to, side by side.

use crate::api::{PlayFigures, Spread};
use crate::model::{Credits, RunState};

use super::played::{Played, PlayedJob};
use super::recording::Recording;

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

/// Whether a job has succeeded by a deadline.
pub(crate) fn is_met(job: &PlayedJob, deadline_ms: i64) -> bool {
    job.end.is_some_and(|(state, end_ms)| state == RunState::Succeeded && end_ms <= deadline_ms)
}

/// How values spread.
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

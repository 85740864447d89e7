//! How long tasks ran, and jobs and containers waited, counted since the process began.

use crate::mapreduce::{AttemptRole, JobFact};
use crate::model::{AttemptState, Kind, PerKind};

use super::job_view::JobView;

/// The upper bounds of the classes, s; a last class has no bound.
pub(crate) const DURATION_BOUNDS_S: [u64; 9] = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Durations {
    pub(crate) sum_ms: u64,
    /// One for each bound, then those above all of them.
    pub(crate) counts: [u64; DURATION_BOUNDS_S.len() + 1],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobDurations {
    /// Of tasks that succeeded, from the start of their attempt to its end.
    pub(crate) tasks: PerKind<Durations>,
    /// Of jobs, from their submission to their first task.
    pub(crate) waits: Durations,
    /// Of containers, from the request for them to their grant.
    pub(crate) container_waits: Durations,
}

impl Durations {
    pub(super) fn add(&mut self, ms: i64) {
        let ms = ms.max(0).unsigned_abs();
        self.sum_ms = self.sum_ms.saturating_add(ms);
        let place = DURATION_BOUNDS_S.partition_point(|bound_s| bound_s * 1_000 < ms);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl JobDurations {
    /// Counts a fact about a job, before it is applied to it.
    pub(super) fn count(&mut self, fact: &JobFact, job: &JobView) {
        match fact {
            JobFact::AttemptEnded(ended) if ended.state == AttemptState::Succeeded => {
                let (kind, start_ms) = (ended.attempt.task.kind, ended.start_ms);
                let is_work = u32::try_from(ended.attempt.task.number).is_ok_and(|number| number < job.total()[kind]);
                if is_work && start_ms > 0 {
                    self.tasks[kind].add(ended.finish_ms.saturating_sub(start_ms));
                }
            }
            JobFact::AttemptLaunched { role: AttemptRole::Work, at_ms, .. } if !has_launched(job) => {
                self.waits.add(at_ms.saturating_sub(job.submit_ms()));
            }
            _ => {}
        }
    }
}

/// Whether a task of a job was launched; setup and cleanup follow the tasks in its lists.
fn has_launched(job: &JobView) -> bool {
    let is_work = |kind: Kind| job.tasks(kind).iter().next().is_some_and(|first| first.task() < job.total()[kind]);
    Kind::ALL.into_iter().any(is_work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_class_that_it_does_not_exceed() {
        let mut durations = Durations::default();
        [0, 1_000, 1_001, 90_000_000, -5].into_iter().for_each(|ms| durations.add(ms));
        assert_eq!(durations.counts, [3, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((durations.count(), durations.sum_ms), (5, 90_002_001));
    }
}

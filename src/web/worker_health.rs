//! What is wrong with the workers as a whole: none is connected, some are silent, or none can run a job.

use crate::api::WorkerCounts;
use crate::engine::{ClusterSnapshot, TrackerSnapshot};
use crate::model::counted;

/// How many workers are in which state of health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerHealth {
    /// Without those that are drained.
    pub(super) counts: WorkerCounts,
    /// They call in time and are drained, whatever they report.
    pub(super) draining: usize,
}

impl WorkerHealth {
    /// Counts the workers of a snapshot.
    pub(super) fn of(overview: &ClusterSnapshot) -> Self {
        let count = |is: fn(&&TrackerSnapshot) -> bool| overview.trackers.iter().filter(is).count();
        let counts = WorkerCounts {
            healthy: count(|tracker| !tracker.is_silent && !tracker.is_draining && tracker.healthy),
            short: count(|tracker| !tracker.is_silent && !tracker.is_draining && tracker.is_short),
            unhealthy: count(|tracker| !tracker.is_silent && !tracker.is_draining && !tracker.healthy),
            silent: count(|tracker| tracker.is_silent),
        };
        Self { counts, draining: count(|tracker| !tracker.is_silent && tracker.is_draining) }
    }

    /// What keeps jobs from running, or slows them down, in a snapshot.
    pub(super) fn complaint_of(overview: &ClusterSnapshot) -> Option<String> {
        Self::of(overview)
            .complaint()
            .or_else(|| Self::complaint_of_some(overview))
            .or_else(|| stuck_complaint(overview))
    }

    /// What is wrong with some workers.
    fn complaint_of_some(overview: &ClusterSnapshot) -> Option<String> {
        let is_there = |tracker: &&TrackerSnapshot| !tracker.is_silent && !tracker.is_draining;
        let ill = overview.trackers.iter().filter(is_there).filter(|tracker| !tracker.healthy || tracker.is_short);
        let (ill, all) = (ill.collect::<Vec<_>>(), overview.trackers.len());
        let first = ill.iter().find(|tracker| !tracker.healthy).or(ill.first())?;
        let how = if first.healthy { "short" } else { "unhealthy" };
        let why = first.complaints.lines().next().unwrap_or_default();
        let of_all = match ill.len() {
            _ if all == 1 => String::new(),
            1 => format!("1 of {all} workers is not well: "),
            ill => format!("{ill} of {all} workers are not well: "),
        };
        Some(format!("{of_all}{} is {how}: {why}", first.worker))
    }

    /// What is wrong with the workers as far as their numbers say.
    fn complaint(self) -> Option<String> {
        let Self { counts: WorkerCounts { healthy, unhealthy, silent, short: _ }, draining } = self;
        match (healthy + unhealthy + draining + silent, silent) {
            (0, _) => Some("no worker is connected; start one: jobtracker tasktracker".to_owned()),
            (all, 0) if draining == all => Some("all workers are draining: no task starts".to_owned()),
            (_, 0) => None,
            (1, _) => Some("the only worker is silent".to_owned()),
            (all, silent) => {
                Some(format!("{silent} of {all} workers {} silent", if silent == 1 { "is" } else { "are" }))
            }
        }
    }
}

/// That no worker can run some jobs or applications, with the reason of one.
fn stuck_complaint(overview: &ClusterSnapshot) -> Option<String> {
    let stuck = &overview.stuck;
    let first = stuck.first()?;
    let because = first.because.lines().next().unwrap_or_default();
    let jobs = stuck.iter().filter(|stuck| stuck.holder.job().is_some()).count();
    let what = match (jobs, stuck.len() - jobs) {
        (1, 0) | (0, 1) => return Some(format!("no worker can run {}: {because}", first.holder)),
        (jobs, 0) => format!("{jobs} jobs"),
        (0, applications) => format!("{applications} applications"),
        (jobs, applications) => format!("{} and {}", counted(jobs, "job"), counted(applications, "application")),
    };
    Some(format!("no worker can run {what}, {} among them: {because}", first.holder))
}

#[cfg(test)]
mod tests {
    use crate::engine::Stuck;
    use crate::market::SlotHolder;
    use crate::model::{ApplicationId, JobId};

    use super::*;

    #[test]
    fn complaints_name_what_is_missing() {
        let complaint = |healthy, unhealthy, silent| {
            let counts = WorkerCounts { healthy, short: 0, unhealthy, silent };
            WorkerHealth { counts, draining: 0 }.complaint()
        };
        assert_eq!(complaint(0, 0, 0).unwrap(), "no worker is connected; start one: jobtracker tasktracker");
        assert_eq!(complaint(0, 0, 1).unwrap(), "the only worker is silent");
        assert_eq!(complaint(1, 1, 1).unwrap(), "1 of 3 workers is silent");
        assert_eq!(complaint(0, 0, 2).unwrap(), "2 of 2 workers are silent");
        assert_eq!(complaint(1, 1, 0), None);
        let counts = WorkerCounts { healthy: 1, ..WorkerCounts::default() };
        let draining = WorkerHealth { counts, draining: 1 };
        assert_eq!(draining.complaint(), None);
        let all = WorkerHealth { counts: WorkerCounts::default(), ..draining }.complaint();
        assert_eq!(all.unwrap(), "all workers are draining: no task starts");
    }

    #[test]
    fn what_no_worker_can_run_is_counted_and_one_is_named() {
        let stuck = |holder| Stuck { holder, because: "it needs Java\nforged".to_owned() };
        let job = |number| stuck(SlotHolder::Job(format!("job_202611211200_{number:04}").parse::<JobId>().unwrap()));
        let application = stuck(SlotHolder::Application(ApplicationId::new(1_700_000_000_000, 1)));
        let said = |stuck: Vec<Stuck>| stuck_complaint(&ClusterSnapshot { stuck, ..ClusterSnapshot::default() });
        assert_eq!(said(Vec::new()), None);
        assert_eq!(said(vec![job(2)]).unwrap(), "no worker can run job_202611211200_0002: it needs Java");
        let both = said(vec![job(2), job(1)]).unwrap();
        assert_eq!(both, "no worker can run 2 jobs, job_202611211200_0002 among them: it needs Java");
        let mixed = said(vec![job(1), application]).unwrap();
        assert_eq!(mixed, "no worker can run 1 job and 1 application, job_202611211200_0001 among them: it needs Java");
    }
}

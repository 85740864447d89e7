//! The summary of a job that is over, as one line of the log (1.2.1 `JobInProgress.JobSummary`).

use std::fmt;

use crate::mapreduce::{Job, JobOutcome};
use crate::model::{JobId, Kind, PerKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSummary {
    pub(crate) job: JobId,
    /// When it was submitted, epoch ms.
    pub(crate) submit_ms: i64,
    /// First launch of a map, a reduce, the setup and the cleanup, epoch ms.
    pub(crate) first_launches_ms: [Option<i64>; 4],
    /// When it ended, epoch ms.
    pub(crate) finish_ms: i64,
    pub(crate) tasks: PerKind<u32>,
    /// Slots that one of them takes.
    pub(crate) slots_per_task: PerKind<u32>,
    pub(crate) user: String,
    pub(crate) queue: String,
    pub(crate) outcome: JobOutcome,
    /// Time for which it had slots, ms.
    pub(crate) slot_ms: PerKind<i64>,
    /// Slots of the cluster at its end.
    pub(crate) cluster_slots: PerKind<u32>,
    pub(crate) name: String,
}

/// Words of [`JobSummary::first_launches_ms`] in the line.
const FIRST_LAUNCHES: [&str; 4] = ["Map", "Reduce", "JobSetup", "JobCleanup"];

impl JobSummary {
    /// The summary of a job that has just ended, on a cluster with so many slots.
    pub(crate) fn of(job: &Job, outcome: JobOutcome, cluster_slots: PerKind<u32>) -> Self {
        Self {
            job: job.id,
            submit_ms: job.submit_ms,
            first_launches_ms: [
                job.first_launch_ms(Kind::Map),
                job.first_launch_ms(Kind::Reduce),
                job.first_setup_launch_ms(),
                job.first_cleanup_launch_ms(),
            ],
            finish_ms: job.finish_ms,
            tasks: PerKind::new(job.spec.maps, job.spec.reduces),
            slots_per_task: PerKind::new(job.slots_per_task(Kind::Map), job.slots_per_task(Kind::Reduce)),
            user: job.spec.user.clone(),
            queue: job.spec.queue.clone(),
            outcome,
            slot_ms: PerKind::new(job.slot_time_ms(Kind::Map), job.slot_time_ms(Kind::Reduce)),
            cluster_slots,
            name: job.spec.name.clone(),
        }
    }
}

impl fmt::Display for JobSummary {
    /// Pairs as 1.2.1 writes them. Control characters of names are escaped, so that no name makes a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, submit_ms, tasks, slots_per_task, slot_ms, cluster_slots, .. } = self;
        // A job is launched, in the sense of 1.2.1, as soon as it is accepted.
        write!(f, "jobId={job},submitTime={submit_ms},launchTime={submit_ms}")?;
        for (word, at_ms) in FIRST_LAUNCHES.iter().zip(self.first_launches_ms) {
            if let Some(at_ms) = at_ms {
                write!(f, ",first{word}TaskLaunchTime={at_ms}")?;
            }
        }
        write!(
            f,
            ",finishTime={},numMaps={},numSlotsPerMap={},numReduces={},numSlotsPerReduce={},user={},queue={},status={}",
            self.finish_ms,
            tasks.map,
            slots_per_task.map,
            tasks.reduce,
            slots_per_task.reduce,
            escaped(&self.user),
            escaped(&self.queue),
            match self.outcome {
                JobOutcome::Succeeded => "SUCCEEDED",
                JobOutcome::Failed => "FAILED",
                JobOutcome::Killed => "KILLED",
            },
        )?;
        write!(
            f,
            ",mapSlotSeconds={},reduceSlotsSeconds={},clusterMapCapacity={},clusterReduceCapacity={},jobName={}",
            slot_ms.map / 1_000,
            slot_ms.reduce / 1_000,
            cluster_slots.map,
            cluster_slots.reduce,
            escaped(&self.name),
        )
    }
}

/// A value with a backslash before `,`, `=` and `\` (1.2.1 `JobSummary.charsToEscape`).
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            ',' | '=' | '\\' => text.extend(['\\', character]),
            _ if character.is_control() => text.extend(character.escape_default()),
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_that_of_hadoop() {
        let summary = JobSummary {
            job: "job_202611210909_0001".parse().unwrap(),
            submit_ms: 1,
            first_launches_ms: [Some(5), None, Some(3), Some(9)],
            finish_ms: 12,
            tasks: PerKind::new(4, 0),
            slots_per_task: PerKind::new(1, 2),
            user: "alice".to_owned(),
            queue: "default".to_owned(),
            outcome: JobOutcome::Failed,
            slot_ms: PerKind::new(4_999, 0),
            cluster_slots: PerKind::new(2, 3),
            name: "a=b,c\\d\ne".to_owned(),
        };
        assert_eq!(
            summary.to_string(),
            "jobId=job_202611210909_0001,submitTime=1,launchTime=1,firstMapTaskLaunchTime=5,\
             firstJobSetupTaskLaunchTime=3,firstJobCleanupTaskLaunchTime=9,finishTime=12,numMaps=4,numSlotsPerMap=1,\
             numReduces=0,numSlotsPerReduce=2,user=alice,queue=default,status=FAILED,mapSlotSeconds=4,\
             reduceSlotsSeconds=0,clusterMapCapacity=2,clusterReduceCapacity=3,jobName=a\\=b\\,c\\\\d\\ne"
        );
    }
}

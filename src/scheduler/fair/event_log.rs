//! Lines of the event log (1.2.1 `FairSchedulerEventLog`), without their time: type and parameters, separated by tabs.

use std::fmt;

use crate::model::{AttemptId, JobId, Kind, PartsPerMillion, PerKind, Priority};
use crate::scheduler::Level;

use super::share::FairShare;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LogEvent<'a> {
    Initialized,
    Shutdown,
    JobAdded(JobId),
    JobRemoved(JobId),
    JobUpdated(JobId),
    Heartbeat {
        tracker: &'a str,
    },
    RunnableTasks {
        /// Demand of all pools.
        runnable: PerKind<u64>,
        running: PerKind<u64>,
    },
    Info(&'a str),
    Assign {
        tracker: &'a str,
        kind: Kind,
        job: JobId,
        attempt: AttemptId,
    },
    /// How far from its data a job may run.
    AllowedLocality(JobId, Level),
    /// How far from its data a map runs.
    AssignedLocality(JobId, Level),
    PreemptVars {
        pool: &'a str,
        kind: Kind,
        /// Time since it had its minimum, ms.
        since_min_ms: u64,
        /// Time since it had half its fair share, ms.
        since_half_share_ms: u64,
    },
    /// Slots that starving pools want.
    ShouldPreempt {
        kind: Kind,
        count: u32,
    },
    Preempt {
        attempt: AttemptId,
        tracker: &'a str,
    },
    BeginDump,
    Job(DumpedJob<'a>),
    Pool(PoolLine<'a>),
    EndDump,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DumpedJob<'a> {
    pub(crate) job: JobId,
    pub(crate) name: &'a str,
    pub(crate) user: &'a str,
    pub(crate) priority: Priority,
    pub(crate) pool: &'a str,
    pub(crate) tasks: PerKind<JobLineTasks>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobLineTasks {
    pub(crate) total: u32,
    pub(crate) running: u32,
    pub(crate) demand: u32,
    pub(crate) share: FairShare,
    pub(crate) weight: PartsPerMillion,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolLine<'a> {
    pub(crate) name: &'a str,
    pub(crate) weight: PartsPerMillion,
    pub(crate) jobs: usize,
    pub(crate) min: PerKind<u32>,
    pub(crate) running: PerKind<u32>,
}

impl fmt::Display for LogEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initialized => f.write_str("INITIALIZED"),
            Self::Shutdown => f.write_str("SHUTDOWN"),
            Self::JobAdded(job) => write!(f, "JOB_ADDED\t{job}"),
            Self::JobRemoved(job) => write!(f, "JOB_REMOVED\t{job}"),
            Self::JobUpdated(job) => write!(f, "JOB_UPDATED\t{job}"),
            Self::Heartbeat { tracker } => write!(f, "HEARTBEAT\t{}", LineField(tracker)),
            Self::RunnableTasks { runnable, running } => {
                write!(f, "RUNNABLE_TASKS\t{}\t{}\t{}\t{}", runnable.map, running.map, runnable.reduce, running.reduce)
            }
            Self::Info(text) => write!(f, "INFO\t{}", LineField(text)),
            Self::Assign { tracker, kind, job, attempt } => {
                write!(f, "ASSIGN\t{}\t{}\t{job}\t{attempt}", LineField(tracker), kind_name(*kind))
            }
            Self::AllowedLocality(job, level) => write!(f, "ALLOWED_LOC_LEVEL\t{job}\t{}", level_name(*level)),
            Self::AssignedLocality(job, level) => write!(f, "ASSIGNED_LOC_LEVEL\t{job}\t{}", level_name(*level)),
            Self::PreemptVars { pool, kind, since_min_ms, since_half_share_ms } => {
                write!(
                    f,
                    "PREEMPT_VARS\t{}\t{}\t{since_min_ms}\t{since_half_share_ms}",
                    LineField(pool),
                    kind_name(*kind)
                )
            }
            Self::ShouldPreempt { kind, count } => write!(f, "SHOULD_PREEMPT\t{}\t{count}", kind_name(*kind)),
            Self::Preempt { attempt, tracker } => write!(f, "PREEMPT\t{attempt}\t{}", LineField(tracker)),
            Self::BeginDump => f.write_str("BEGIN_DUMP"),
            Self::Job(line) => line.fmt(f),
            Self::Pool(line) => line.fmt(f),
            Self::EndDump => f.write_str("END_DUMP"),
        }
    }
}

impl fmt::Display for DumpedJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, name, user, priority, pool, tasks } = self;
        write!(f, "JOB\t{job}\t{}\t{}\t{}\t{}", LineField(name), LineField(user), priority.name(), LineField(pool))?;
        for JobLineTasks { total, running, demand, share, weight } in [tasks.map, tasks.reduce] {
            write!(f, "\t{total}\t{running}\t{demand}\t{share}\t{weight}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PoolLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, weight, jobs, min, running } = self;
        write!(f, "POOL\t{}\t{weight}\t{jobs}", LineField(name))?;
        write!(f, "\t{}\t{}\t{}\t{}", min.map, running.map, min.reduce, running.reduce)
    }
}

/// A text of a user, with blanks for what would end the field or the line.
struct LineField<'a>(&'a str);

impl fmt::Display for LineField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| fmt::Write::write_char(f, if c.is_control() { ' ' } else { c }))
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "MAP",
        Kind::Reduce => "REDUCE",
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Node => "NODE",
        Level::Rack => "RACK",
        Level::Any => "ANY",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_parameters_in_their_order() {
        let job: JobId = "job_202601010000_0001".parse().unwrap();
        let attempt = job.task(Kind::Map, 2).attempt(0);
        let tracker = "tracker_a:b";
        let tasks =
            JobLineTasks { total: 9, running: 2, demand: 5, share: FairShare(2_666_666), weight: PartsPerMillion::ONE };
        let line = DumpedJob {
            job,
            name: "word\tcount\n",
            user: "u",
            priority: Priority::High,
            pool: "p",
            tasks: PerKind::new(tasks, JobLineTasks::default()),
        };
        let pool = PoolLine {
            name: "p",
            weight: PartsPerMillion(2_500_000),
            jobs: 3,
            min: PerKind::new(1, 2),
            running: PerKind::new(4, 5),
        };
        for (event, text) in [
            (LogEvent::Initialized, "INITIALIZED"),
            (LogEvent::Shutdown, "SHUTDOWN"),
            (LogEvent::JobAdded(job), "JOB_ADDED\tjob_202601010000_0001"),
            (LogEvent::JobRemoved(job), "JOB_REMOVED\tjob_202601010000_0001"),
            (LogEvent::JobUpdated(job), "JOB_UPDATED\tjob_202601010000_0001"),
            (LogEvent::Heartbeat { tracker }, "HEARTBEAT\ttracker_a:b"),
            (
                LogEvent::RunnableTasks { runnable: PerKind::new(1, 3), running: PerKind::new(2, 4) },
                "RUNNABLE_TASKS\t1\t2\t3\t4",
            ),
            (LogEvent::Info("a\nb"), "INFO\ta b"),
            (
                LogEvent::Assign { tracker, kind: Kind::Map, job, attempt },
                "ASSIGN\ttracker_a:b\tMAP\tjob_202601010000_0001\tattempt_202601010000_0001_m_000002_0",
            ),
            (LogEvent::AllowedLocality(job, Level::Node), "ALLOWED_LOC_LEVEL\tjob_202601010000_0001\tNODE"),
            (LogEvent::AssignedLocality(job, Level::Any), "ASSIGNED_LOC_LEVEL\tjob_202601010000_0001\tANY"),
            (
                LogEvent::PreemptVars { pool: "p", kind: Kind::Reduce, since_min_ms: 5, since_half_share_ms: 6 },
                "PREEMPT_VARS\tp\tREDUCE\t5\t6",
            ),
            (LogEvent::ShouldPreempt { kind: Kind::Map, count: 2 }, "SHOULD_PREEMPT\tMAP\t2"),
            (LogEvent::Preempt { attempt, tracker }, "PREEMPT\tattempt_202601010000_0001_m_000002_0\ttracker_a:b"),
            (LogEvent::BeginDump, "BEGIN_DUMP"),
            (
                LogEvent::Job(line),
                "JOB\tjob_202601010000_0001\tword count \tu\tHIGH\tp\t9\t2\t5\t2.666666\t1.0\t0\t0\t0\t0.0\t0.0",
            ),
            (LogEvent::Pool(pool), "POOL\tp\t2.5\t3\t1\t4\t2\t5"),
            (LogEvent::EndDump, "END_DUMP"),
        ] {
            assert_eq!(event.to_string(), text);
        }
    }
}

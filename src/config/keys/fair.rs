//! Keys of the Fair Scheduler (1.2.1 contrib `FairScheduler`).

use super::Unit::{Count, Milliseconds};
use super::ValueKind::{Class, Flag, LocalPath, Number, OneOf, Ratio, Text};
use super::keys;

const INT: i64 = i32::MAX as i64;
/// Largest factor and difference, millionths.
const MOST: u64 = 1_000_000_000_000;

keys! {
    FAIR;
    FAIR_ALLOCATION_FILE = "mapred.fairscheduler.allocation.file", LocalPath, None,
        "The allocation file: pools with minimums, maximums, weights and limits. Unset: `fair-scheduler.xml` in the conf folder; without that no pool is declared.";
    FAIR_POOL_NAME_PROPERTY = "mapred.fairscheduler.poolnameproperty", Text, Some("user.name"),
        "Key of job.xml that names a job's pool, unless `mapred.fairscheduler.pool` does.";
    JOB_POOL = "mapred.fairscheduler.pool", Text, None,
        "Set by a job: its pool, whatever property the JobTracker takes pools from.";
    JOB_MAX_MAPS = "mapred.fairscheduler.job.max.maps", Number(Count, -1, INT), Some("-1"),
        "Set by a job: maximum number of its maps that run at a time. -1: no limit.";
    JOB_MAX_REDUCES = "mapred.fairscheduler.job.max.reduces", Number(Count, -1, INT), Some("-1"),
        "Set by a job: maximum number of its reduces that run at a time. -1: no limit.";
    FAIR_ALLOW_UNDECLARED_POOLS = "mapred.fairscheduler.allow.undeclared.pools", Flag, Some("true"),
        "Whether a job may name a pool that the allocation file does not declare; else it is refused.";
    FAIR_ASSIGN_MULTIPLE = "mapred.fairscheduler.assignmultiple", Flag, Some("true"),
        "Whether one heartbeat is given several tasks.";
    FAIR_ASSIGN_MULTIPLE_MAPS = "mapred.fairscheduler.assignmultiple.maps", Number(Count, -1, INT), Some("-1"),
        "Maximum number of maps that one heartbeat is given. -1: all free slots.";
    FAIR_ASSIGN_MULTIPLE_REDUCES = "mapred.fairscheduler.assignmultiple.reduces", Number(Count, -1, INT), Some("-1"),
        "Maximum number of reduces that one heartbeat is given. -1: all free slots.";
    FAIR_SIZE_BASED_WEIGHT = "mapred.fairscheduler.sizebasedweight", Flag, Some("false"),
        "Whether larger jobs weigh more: the logarithm of their demand.";
    FAIR_WEIGHT_ADJUSTER = "mapred.fairscheduler.weightadjuster", Class, None,
        "`org.apache.hadoop.mapred.NewJobWeightBooster` gives new jobs a larger weight; the only available one.";
    FAIR_BOOST_FACTOR = "mapred.newjobweightbooster.factor", Ratio(MOST), Some("3.0"),
        "Factor on the weight of new jobs.";
    FAIR_BOOST_DURATION = "mapred.newjobweightbooster.duration", Number(Milliseconds, 0, i64::MAX), Some("300000"),
        "Time after its start for which a job is new.";
    FAIR_LOAD_MANAGER = "mapred.fairscheduler.loadmanager", Class, Some("org.apache.hadoop.mapred.CapBasedLoadManager"),
        "What spreads a light load over the trackers; only this one is available.";
    FAIR_LOAD_MAX_DIFF = "mapred.fairscheduler.load.max.diff", Ratio(1_000_000), Some("0.0"),
        "Share of its slots by which a tracker may exceed its part of the load.";
    FAIR_LOCALITY_DELAY = "mapred.fairscheduler.locality.delay", Number(Milliseconds, -1, i64::MAX), Some("-1"),
        "Default of the next two keys. -1: 1.5 heartbeat intervals, at most 15 s.";
    FAIR_LOCALITY_DELAY_NODE = "mapred.fairscheduler.locality.delay.node", Number(Milliseconds, -1, i64::MAX), None,
        "Time that a job waits for a slot on a host with its data.";
    FAIR_LOCALITY_DELAY_RACK = "mapred.fairscheduler.locality.delay.rack", Number(Milliseconds, -1, i64::MAX), None,
        "Time that it then waits for a slot in a rack with its data.";
    FAIR_PREEMPTION = "mapred.fairscheduler.preemption", Flag, Some("false"),
        "Whether pools that starve for longer than their timeouts get slots from pools above their shares.";
    FAIR_PREEMPTION_ONLY_LOG = "mapred.fairscheduler.preemption.only.log", Flag, Some("false"),
        "Whether preemption only writes what it would do to the log.";
    FAIR_PREEMPTION_INTERVAL = "mapred.fairscheduler.preemption.interval", Number(Milliseconds, 1, INT), Some("15000"),
        "Time between two rounds of preemption.";
    FAIR_UPDATE_INTERVAL = "mapred.fairscheduler.update.interval", Number(Milliseconds, 1, INT), Some("500"),
        "Time between two updates of demands and shares.";
    FAIR_ORDERING = "mapred.fairscheduler.ordering", OneOf(&["fair", "deficit"]), Some("fair"),
        "Order of jobs: by running tasks and weights of pools (`fair`), or by what each job got less than its share so far (`deficit`), as in Hadoop 0.20.";
    FAIR_EVENT_LOG_ENABLED = "mapred.fairscheduler.eventlog.enabled", Flag, Some("false"),
        "Whether decisions are written to an event log.";
    FAIR_EVENT_LOG_LOCATION = "mapred.fairscheduler.eventlog.location", LocalPath, None,
        "Directory of the event log. Unset: `fairscheduler` in `hadoop.log.dir`.";
    FAIR_DUMP_INTERVAL = "mapred.fairscheduler.dump.interval", Number(Milliseconds, 1, INT), Some("10000"),
        "Time between two dumps of all jobs and pools in the event log.";
}

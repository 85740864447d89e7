//! Keys of capacity-scheduler.xml (1.2.1 `CapacitySchedulerConf`). Ranges are checked by `CapacityConfig::new`, in the
//! original's words.

use super::Unit::{Count, Milliseconds, Percent};
use super::ValueKind::{Decimal, Flag, Number};
use super::keys;

const ANY: i64 = i64::MIN;
const INT: i64 = i32::MAX as i64;

keys! {
    /// Keys of the Capacity scheduler, for the system and for each queue.
    CAPACITY;
    CAPACITY_SYSTEM_JOBS = "mapred.capacity-scheduler.maximum-system-jobs", Number(Count, ANY, INT), Some("5000"),
        "Jobs initialised at once in the cluster; each queue has its part by its capacity. Above 0.";
    CAPACITY_POLL_INTERVAL = "mapred.capacity-scheduler.init-poll-interval", Number(Milliseconds, ANY, i64::MAX), Some("3000"),
        "Above 0, and without effect: a job is initialised as soon as the limits allow it.";
    CAPACITY_WORKER_THREADS = "mapred.capacity-scheduler.init-worker-threads", Number(Count, ANY, INT), Some("5"),
        "Above 0, and without effect: initialising needs no threads.";
    CAPACITY_TASKS_PER_HEARTBEAT = "mapred.capacity-scheduler.maximum-tasks-per-heartbeat", Number(Count, ANY, INT), Some("32767"),
        "Maximum number of maps that one heartbeat gets; at least one.";
    CAPACITY_TASKS_AFTER_OFF_SWITCH = "mapred.capacity-scheduler.maximum-tasks-after-offswitch", Number(Count, ANY, INT), Some("0"),
        "Maximum number of maps that one heartbeat gets after one without data on its tracker's rack. Below 0: no limit.";
    CAPACITY_DEFAULT_PRIORITY = "mapred.capacity-scheduler.default-supports-priority", Flag, Some("false"),
        "Default of `supports-priority` of queues.";
    CAPACITY_DEFAULT_USER_LIMIT = "mapred.capacity-scheduler.default-minimum-user-limit-percent", Number(Percent, ANY, INT), Some("100"),
        "Default of `minimum-user-limit-percent` of queues.";
    CAPACITY_DEFAULT_USER_FACTOR = "mapred.capacity-scheduler.default-user-limit-factor", Decimal, Some("1.0"),
        "Default of `user-limit-factor` of queues.";
    CAPACITY_DEFAULT_QUEUE_TASKS = "mapred.capacity-scheduler.default-maximum-active-tasks-per-queue", Number(Count, ANY, INT), Some("200000"),
        "Default of `maximum-initialized-active-tasks` of queues.";
    CAPACITY_DEFAULT_USER_TASKS = "mapred.capacity-scheduler.default-maximum-active-tasks-per-user", Number(Count, ANY, INT), Some("100000"),
        "Default of `maximum-initialized-active-tasks-per-user` of queues.";
    CAPACITY_DEFAULT_ACCEPT_FACTOR = "mapred.capacity-scheduler.default-init-accept-jobs-factor", Number(Count, ANY, INT), Some("10"),
        "Default of `init-accept-jobs-factor` of queues.";
    QUEUE_CAPACITY = "mapred.capacity-scheduler.queue.<queue>.capacity", Decimal, None,
        "The queue's share of the slots in percent, from 0 to 100; required. All shares add to 100 and less than 101.";
    QUEUE_MAXIMUM_CAPACITY = "mapred.capacity-scheduler.queue.<queue>.maximum-capacity", Decimal, Some("-1"),
        "Share that the queue never exceeds, in percent, not below its capacity. 0 and below: no maximum.";
    QUEUE_USER_LIMIT = "mapred.capacity-scheduler.queue.<queue>.minimum-user-limit-percent", Number(Percent, ANY, INT), None,
        "From 1 to 100: users with waiting tasks share the queue equally, but none is limited below this part of it.";
    QUEUE_USER_FACTOR = "mapred.capacity-scheduler.queue.<queue>.user-limit-factor", Decimal, None,
        "Multiple of the queue's capacity that one user may hold; above 0.";
    QUEUE_PRIORITY = "mapred.capacity-scheduler.queue.<queue>.supports-priority", Flag, None,
        "Whether jobs are ordered by priority before their start time. A reload does not change it.";
    QUEUE_TASKS = "mapred.capacity-scheduler.queue.<queue>.maximum-initialized-active-tasks", Number(Count, ANY, INT), None,
        "Maximum number of maps and reduces of initialised jobs of the queue.";
    QUEUE_USER_TASKS = "mapred.capacity-scheduler.queue.<queue>.maximum-initialized-active-tasks-per-user", Number(Count, ANY, INT), None,
        "Maximum number of maps and reduces of initialised jobs of one user, not above that of the queue. A job of more tasks is refused.";
    QUEUE_ACCEPT_FACTOR = "mapred.capacity-scheduler.queue.<queue>.init-accept-jobs-factor", Number(Count, ANY, INT), None,
        "The queue accepts as many times the jobs that it may initialise; above 0.";
    QUEUE_GUARANTEED_CAPACITY = "mapred.capacity-scheduler.queue.<queue>.guaranteed-capacity", Decimal, None,
        "Name of `capacity` in Hadoop 0.19, read where `capacity` is not set.";
}

/// Keys of older releases, which are ignored, and why.
pub(crate) const CAPACITY_OBSOLETE: &[(&str, &str)] = &[
    ("mapred.capacity-scheduler.queue.<queue>.reclaim-time-limit", NO_RECLAIM),
    ("mapred.capacity-scheduler.default-reclaim-time-limit", NO_RECLAIM),
    ("mapred.capacity-scheduler.reclaimCapacity.interval", NO_RECLAIM),
    ("mapred.capacity-scheduler.queue.<queue>.maximum-initialized-jobs-per-user", OTHER_JOB_LIMIT),
    ("mapred.capacity-scheduler.default-maximum-initialized-jobs-per-user", OTHER_JOB_LIMIT),
    ("mapred.capacity-scheduler.task.default-pmem-percentage-in-vmem", NO_PHYSICAL_MEMORY),
    ("mapred.capacity-scheduler.task.limit.maxpmem", NO_PHYSICAL_MEMORY),
];

const NO_RECLAIM: &str = "is a key of Hadoop 0.19; no task is killed for another queue";
const OTHER_JOB_LIMIT: &str =
    "is a key of Hadoop 0.20; limits on jobs follow from mapred.capacity-scheduler.maximum-system-jobs";
const NO_PHYSICAL_MEMORY: &str = "is obsolete; physical memory is not considered";

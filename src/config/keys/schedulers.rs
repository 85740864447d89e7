//! Keys of the schedulers: Capacity, Fair, Constraint and Dynamic Priority.

use crate::scheduler::constraint::CostHistory;

use super::Unit::{Count, Milliseconds, Percent, Seconds};
use super::ValueKind::{Class, Decimal, Flag, LocalPath, Number, OneOf, Ratio, Text};
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

const MOST: u64 = u64::MAX;
const MOST_SAMPLES: i64 = CostHistory::MAX_JOBS as i64;

keys! {
    CONSTRAINT;
    CONSTRAINT_MODEL = "mapred.constraint-scheduler.model", OneOf(&["fluid", "whole"]), Some("fluid"),
        "How work is divided among slots: like a fluid, or in whole tasks that wait for heartbeats; only then is an admitted deadline a promise.";
    CONSTRAINT_STRATEGY = "mapred.constraint-scheduler.strategy", OneOf(&["minimum", "all", "fixed"]), Some("minimum"),
        "Slots of a job with a deadline: the least that keep it, all that are free, or a fixed number.";
    CONSTRAINT_FIXED = "mapred.constraint-scheduler.strategy.fixed", Number(Count, 1, INT), Some("1"),
        "That number, of each kind.";
    CONSTRAINT_ON_MISSED = "mapred.constraint-scheduler.on-missed", OneOf(&["demote", "continue", "kill"]), Some("demote"),
        "What becomes of a job whose deadline has passed: it stands behind those in time, keeps its place, or is killed.";
    CONSTRAINT_ADMISSION = "mapred.constraint-scheduler.admission", OneOf(&["reject", "warn"]), Some("reject"),
        "What becomes of a new job whose deadline cannot be kept: it is refused, or admitted at risk.";
    CONSTRAINT_ADMISSION_SLOTS = "mapred.constraint-scheduler.admission.slots", OneOf(&["planned", "now"]), Some("planned"),
        "For how long an admitted job is promised its map slots: while its maps are believed to run, so that a later job may begin when they end, or from its submission to its last map, as in the paper.";
    CONSTRAINT_ESCALATE = "mapred.constraint-scheduler.escalate", Flag, Some("true"),
        "Whether a job at risk gets more map slots while some are free.";
    CONSTRAINT_MAP_COST = "mapred.constraint-scheduler.map.ms.per.mb", Ratio(MOST), Some("1000"),
        "Milliseconds that a map takes for one MB of input, of jobs of which nothing else is known.";
    CONSTRAINT_REDUCE_COST = "mapred.constraint-scheduler.reduce.ms.per.mb", Ratio(MOST), Some("500"),
        "Milliseconds that a reduce takes for one MB of map output, of jobs of which nothing else is known.";
    CONSTRAINT_NETWORK = "mapred.constraint-scheduler.network.mb.per.sec", Ratio(MOST), Some("12"),
        "MB of map output that are moved in a second, of jobs of which nothing else is known.";
    CONSTRAINT_HISTORY = "mapred.constraint-scheduler.history.enabled", Flag, Some("true"),
        "Whether a job of which nothing is stated costs what those of its class have cost: of the same user, name (but for digits), mapper and reducer.";
    CONSTRAINT_MIN_SAMPLES = "mapred.constraint-scheduler.history.min.samples", Number(Count, 1, MOST_SAMPLES), Some("3"),
        "Jobs of a class that must have run before they count.";
    CONSTRAINT_ALPHA = "mapred.constraint-scheduler.history.alpha", Ratio(1_000_000), Some("0.3"),
        "Weight of the last job in the mean cost of a class.";
    JOB_DEADLINE = "mapred.job.deadline.ms", Number(Milliseconds, 1, i64::MAX), None,
        "Set by a job: its deadline, counted from its submission.";
    JOB_DEADLINE_AT = "mapred.job.deadline.at.ms", Number(Milliseconds, 1, i64::MAX), None,
        "Set by a job: its deadline, since 1970. It wins over `mapred.job.deadline.ms`.";
    JOB_MAP_COST = "mapred.job.deadline.map.ms.per.mb", Ratio(MOST), None,
        "Set by a job: milliseconds that a map takes for one MB of input.";
    JOB_REDUCE_COST = "mapred.job.deadline.reduce.ms.per.mb", Ratio(MOST), None,
        "Set by a job: milliseconds that a reduce takes for one MB of map output, the sort included.";
    JOB_COPY_COST = "mapred.job.deadline.copy.ms.per.mb", Ratio(MOST), None,
        "Set by a job: milliseconds that moving one MB of map output to a reduce takes.";
    JOB_MAP_TASK_TIME = "mapred.job.deadline.map.task.ms", Number(Milliseconds, 1, i64::MAX), None,
        "Set by a job, instead of the time per MB: that of one map.";
    JOB_REDUCE_TASK_TIME = "mapred.job.deadline.reduce.task.ms", Number(Milliseconds, 1, i64::MAX), None,
        "Set by a job, instead of the time per MB: that of one reduce.";
    JOB_FILTER_RATIO = "mapred.job.deadline.filter.ratio", Ratio(MOST), None,
        "Set by a job: map output by map input. Unset: 1.";
    JOB_MAX_RATE = "mapred.job.deadline.max.rate", Decimal, None,
        "Set by a job under the market: its queue bids what the deadline needs, up to this rate.";
    JOB_MAX_COST = "mapred.job.deadline.max.cost", Decimal, None,
        "Set by a job with `mapred.job.deadline.max.rate`: what it may cost; after that only its owner's bid counts.";
    JOB_KEY_SPREAD = "mapred.job.deadline.keys", OneOf(&["uniform", "single"]), Some("uniform"),
        "Set by a job: whether its keys spread evenly over its reduces, or all may go to one.";
}

/// Largest factor and difference, millionths.
const MOST_MILLIONTHS: u64 = 1_000_000_000_000;

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
    FAIR_BOOST_FACTOR = "mapred.newjobweightbooster.factor", Ratio(MOST_MILLIONTHS), Some("3.0"),
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

/// Keeps seconds, converted to milliseconds, far from overflow.
const YEARS: i64 = 1_000_000_000;

keys! {
    MARKET;
    ALLOC_INTERVAL = "mapred.dynamic-scheduler.alloc-interval", Number(Seconds, 1, YEARS), Some("20"),
        "Time between two ticks: prices, shares and charges change only then.";
    KILL_INTERVAL = "mapred.priority-scheduler.kill-interval", Number(Seconds, 0, YEARS), Some("0"),
        "Time between two rounds of preemption, in which queues above their quotas lose attempts to queues below theirs. 0: no preemption.";
    BUDGET_FILE = "mapred.dynamic-scheduler.budget-file", LocalPath, Some("/etc/hadoop.budget"),
        "Lines of queue, budget, spending rate. Imported at the first start with a market; afterwards an image of the state database.";
    BUDGET_STORE = "mapred.dynamic-scheduler.store", Text, Some("org.apache.hadoop.mapred.FileAllocationStore"),
        "Back-end that budgets are imported from at the first start with a market and published to afterwards: `file` (the class name of the default says the same), `postgres` or `command`.";
    BUDGET_STORE_URL = "mapred.dynamic-scheduler.store.url", Text, None,
        "Of the store `postgres`: its database, such as `postgres://jobtracker@db.example.com/accounting?sslmode=verify-full&sslrootcert=system`. `sslmode` and `sslrootcert` are libpq's. A password is refused here.";
    BUDGET_STORE_PASSWORD_FILE = "mapred.dynamic-scheduler.store.password-file", LocalPath, None,
        "Of the store `postgres`: a file with the password in its first line, which no other user may read. It is read at each connection.";
    BUDGET_STORE_COMMAND = "mapred.dynamic-scheduler.store.command", Text, None,
        "Of the store `command`: the absolute path of a program and its first arguments, divided by blanks. It is run with the further arguments `load` or `publish TICK`.";
    ENFORCING_SCHEDULER = "mapred.dynamic-scheduler.scheduler", Class, Some("org.apache.hadoop.mapred.PriorityScheduler"),
        "Scheduler that assigns slots by the shares of the market. Only this one is available.";
    ACL_FILE = "mapred.priority-scheduler.acl-file", LocalPath, Some("/etc/hadoop.acl"),
        "Lines of user, role (`user` or `admin`), key; re-read when it changes. Must exist for the Dynamic Priority Scheduler; where it exists under another scheduler, the market keeps accounts.";
    SIGNATURE_WINDOW = "mapred.priority-scheduler.signature-window", Number(Seconds, 1, YEARS), Some("300"),
        "Maximum difference between the timestamp of a signed request and the server's clock.";
    JOB_SIGNATURE_USES = "mapred.dynamic-scheduler.job-signature-uses", Number(Count, 1, 1_000_000), Some("1"),
        "Number of jobs that one signature may submit, for programs that submit several with one configuration.";
    JOB_SIGNATURE_WINDOW = "mapred.dynamic-scheduler.job-signature-window", Number(Seconds, 1, YEARS), Some("300"),
        "Maximum difference between the timestamp of a job's signature and the server's clock.";
    MARKET_VISIBILITY = "jobtracker.market.visibility", OneOf(&["private", "public"]), Some("private"),
        "Visibility of queues' shares and jobs' costs: only to signed requests of their users and administrators (`private`), or also to everyone on the start page and in `/metrics` (`public`). The price is always public.";
}

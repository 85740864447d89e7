//! Keys of the constraint scheduler and of jobs with a deadline. Hadoop has none of them.

use crate::scheduler::constraint::CostHistory;

use super::Unit::{Count, Milliseconds};
use super::ValueKind::{Decimal, Flag, Number, OneOf, Ratio};
use super::keys;

const INT: i64 = i32::MAX as i64;
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

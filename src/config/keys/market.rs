//! Keys of the Dynamic Priority Scheduler (its document, "Configuration") and what we add to them.

use super::Kind::{Class, LocalPath, Number, OneOf};
use super::Unit::{Count, Seconds};
use super::keys;

/// So that a number of seconds fits into milliseconds with room to spare.
const YEARS: i64 = 1_000_000_000;

keys! {
    /// Keys of the market.
    MARKET;
    ALLOC_INTERVAL = "mapred.dynamic-scheduler.alloc-interval", Number(Seconds, 1, YEARS), Some("20"),
        "Time between two allocations: prices, shares and charges move only then.";
    KILL_INTERVAL = "mapred.priority-scheduler.kill-interval", Number(Seconds, 0, YEARS), Some("0"),
        "Time between two rounds of preemption, in which queues over their quota lose attempts to queues that are short of theirs; 0: no task is ever preempted.";
    BUDGET_FILE = "mapred.dynamic-scheduler.budget-file", LocalPath, Some("/etc/hadoop.budget"),
        "Lines of queue, budget, spending rate. Money comes in from here at first start; afterwards an image of the state database.";
    BUDGET_STORE = "mapred.dynamic-scheduler.store", Class, Some("org.apache.hadoop.mapred.FileAllocationStore"),
        "What budgets come in from at first start and are shown by afterwards. The budget file is the only one there is.";
    ENFORCING_SCHEDULER = "mapred.dynamic-scheduler.scheduler", Class, Some("org.apache.hadoop.mapred.PriorityScheduler"),
        "What gives slots by the shares of the market. There is only this one.";
    ACL_FILE = "mapred.priority-scheduler.acl-file", LocalPath, Some("/etc/hadoop.acl"),
        "Lines of user, role (`user` or `admin`), key. Must exist; read anew when it has changed.";
    SIGNATURE_WINDOW = "mapred.priority-scheduler.signature-window", Number(Seconds, 1, YEARS), Some("300"),
        "A signed request is refused when its timestamp is further from our clock.";
    JOB_SIGNATURE_USES = "mapred.dynamic-scheduler.job-signature-uses", Number(Count, 1, 1_000_000), Some("1"),
        "How many jobs one signature may submit, for programs that submit several with one configuration.";
    JOB_SIGNATURE_WINDOW = "mapred.dynamic-scheduler.job-signature-window", Number(Seconds, 1, YEARS), Some("300"),
        "A job's signature is refused when its timestamp is further from our clock.";
    MARKET_VISIBILITY = "jobtracker.market.visibility", OneOf(&["private", "public"]), Some("private"),
        "Who is told shares of queues and costs of jobs: who signs for them (`private`), or everybody, on the start page and in `/metrics`, too (`public`). The price is public in any case.";
}

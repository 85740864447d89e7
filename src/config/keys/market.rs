//! Keys of the Dynamic Priority Scheduler (its document, "Configuration") and additions to them.

use super::Unit::{Count, Seconds};
use super::ValueKind::{Class, LocalPath, Number, OneOf, Text};
use super::keys;

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

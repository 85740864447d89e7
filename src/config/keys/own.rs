//! Keys that only this JobTracker knows.

use super::Kind::{Flag, List, LocalPath, Number, OneOf, Text};
use super::Unit::{Bytes, Count, Days, Milliseconds};
use super::keys;

const HOUR_MS: i64 = 3_600_000;

keys! {
    /// Our own keys.
    OWN;
    STATE_DIR = "jobtracker.state.dir", LocalPath, Some("${hadoop.tmp.dir}/mapred/jobtracker-state"),
        "The state database: all that survives a restart. Not under /tmp, never in `mapred.local.dir/jobTracker`.";
    LEDGER_DETAIL_DAYS = "jobtracker.ledger.detail-days", Number(Days, 1, 36_500), Some("30"),
        "Whole days for which the ledger keeps every movement of money; older ones become daily sums, which add up to the same.";
    STATE_FINISHED_JOBS = "jobtracker.state.finished-jobs", Number(Count, 0, 1_000_000_000), Some("100000"),
        "Most finished jobs that the state database keeps; those that ended first are deleted. Those in memory (`mapred.job.tracker.retiredjobs.cache.size`) always stay. 0: no limit.";
    STATE_FINISHED_JOB_DAYS = "jobtracker.state.finished-job-days", Number(Days, 0, 36_500), Some("0"),
        "Whole days for which the state database keeps a finished job, if it keeps it so long; those in memory always stay. 0: no limit.";
    HOLD_CLIENT_KILLS = "jobtracker.restart.hold-client-kills-ms", Number(Milliseconds, 0, HOUR_MS), Some("0"),
        "So long after a start a `killJob` by the job's own user that is the first call of its connection is held back for jobs of before: the stock streaming tool sends one when it loses its connection. 0: never.";
    TRACKERS_ADMIT = "jobtracker.trackers.admit", OneOf(&["all", "listed"]), Some("all"),
        "Which TaskTrackers are served. `all`: any that connects, under any host name that `mapred.hosts` and `mapred.hosts.exclude` allow. `listed`: only those of hosts in `mapred.hosts`, each from an address that its name resolves to.";
    HEARTBEAT_INTERVAL_MIN = "jobtracker.heartbeat.interval.min-ms", Number(Milliseconds, 10, HOUR_MS), Some("100"),
        "Shortest heartbeat interval told to a tracker while slots or tasks wait.";
    FIFO_COMPATIBLE = "jobtracker.fifo.compatible", Flag, Some("false"),
        "FIFO exactly as Hadoop 1.2.1: one task without locality and one reduce in an answer, and the capacity pad.";
    END_NOTIFICATION_TARGETS = "jobtracker.end-notification.targets", List, Some("*"),
        "Hosts that `job.end.notification.url` may name: names or addresses separated by commas, `*` in one stands for any characters, `:port` behind one for this port only. Others are not called. Blank: none.";
    VERSION = "jobtracker.version", Text, Some("1.2.1"),
        "The version TaskTrackers are told; theirs must be the same.";
    BUILD_VERSION = "jobtracker.build-version", Text,
        Some("1.2.1 from 1503152 by mattf source checksum 6923c86528809c4e7e6f493b6b413a9a"),
        "The build TaskTrackers are told, byte for byte theirs. Change it for trackers of another distribution.";
    MAX_LIVE_TASKS = "jobtracker.max-tasks", Number(Count, i64::MIN, i64::MAX), Some("4000000"),
        "Most maps and reduces, and four more for each job, of all jobs that are not over; a job beyond it is refused. Half a kB of memory each. Below 1: no limit.";
    MAX_JOB_BYTES = "jobtracker.max-job-bytes", Number(Bytes, i64::MIN, i64::MAX), Some("536870912"),
        "Most memory that texts, splits and credentials of all jobs that are not over may take, those of one user half of it; a job beyond it is refused. Below 1: no limit.";
    TRACKER_MAX_SLOTS = "jobtracker.tracker.max-slots", Number(Count, 1, 5_000), Some("1000"),
        "Most slots of a kind that a TaskTracker is given tasks for, whatever it claims; one line of the log names it.";
    RPC_MAX_FRAME = "jobtracker.rpc.max-frame-bytes", Number(Bytes, 1 << 16, 1 << 30), Some("67108864"),
        "Largest RPC call; a longer one closes its connection.";
    RPC_MAX_CONNECTIONS = "jobtracker.rpc.max-connections", Number(Count, 1, 1_000_000), Some("10000"),
        "RPC connections open at once; at the limit no more are accepted. One address may hold a quarter with connections that have sent no heartbeat; beyond that its longest silent ones are closed after 5 s of silence, or 200 ms while all places are taken.";
    RPC_MAX_CALLS = "jobtracker.rpc.max-calls-in-flight", Number(Count, 1, 1_000_000), Some("100"),
        "Unanswered calls of one connection; at the limit it is not read.";
    RPC_WRITE_TIMEOUT = "jobtracker.rpc.write-timeout-ms", Number(Milliseconds, 1, HOUR_MS), Some("60000"),
        "A client that takes less than 64 KiB of a long answer in so long is closed.";
    HTTP_HEADER_TIMEOUT = "jobtracker.http.header-timeout-ms", Number(Milliseconds, 1, HOUR_MS), Some("10000"),
        "Time for the head of an HTTP request to arrive.";
    HTTP_MAX_HEADER = "jobtracker.http.max-header-bytes", Number(Bytes, 8192, 1 << 20), Some("16384"),
        "Largest head of an HTTP request.";
    HTTP_MAX_CONNECTIONS = "jobtracker.http.max-connections", Number(Count, 1, 1_000_000), Some("1000"),
        "HTTP connections open at once; one address has at most a quarter of them.";
    WEB_HOSTS = "jobtracker.web.hosts", List, None,
        "Further host names under which the web servers of the JobTracker and of the built-in tasktracker answer. Requests under any name but these, an address, `localhost`, this machine's names and the hosts of the configured addresses are refused with status 421 (DNS rebinding). `*`: every name.";
}

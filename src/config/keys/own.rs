//! Keys of this JobTracker that Hadoop does not have.

use super::Unit::{Bytes, Count, Days, Megabytes, Milliseconds, Seconds};
use super::ValueKind::{Build, Flag, HostPatterns, List, LocalPath, Number, OneOf, Version};
use super::keys;

const HOUR_MS: i64 = 3_600_000;

keys! {
    OWN;
    STATE_DIR = "jobtracker.state.dir", LocalPath, Some("${hadoop.tmp.dir}/mapred/jobtracker-state"),
        "Directory of the state database, which contains everything that survives a restart. Not under /tmp, never in `mapred.local.dir/jobTracker`.";
    LEDGER_DETAIL_DAYS = "jobtracker.ledger.detail-days", Number(Days, 1, 36_500), Some("30"),
        "Whole days for which the ledger keeps every movement of money; older movements become daily sums with the same total.";
    STATE_FINISHED_JOBS = "jobtracker.state.finished-jobs", Number(Count, 0, 1_000_000_000), Some("100000"),
        "Maximum number of finished jobs in the state database; those that ended first are deleted. Jobs in memory (`mapred.job.tracker.retiredjobs.cache.size`) are always kept. 0: no limit.";
    STATE_FINISHED_JOB_DAYS = "jobtracker.state.finished-job-days", Number(Days, 0, 36_500), Some("0"),
        "Maximum age of finished jobs in the state database, in whole days; jobs in memory are always kept. 0: no limit.";
    HOLD_CLIENT_KILLS = "jobtracker.restart.hold-client-kills-ms", Number(Milliseconds, 0, HOUR_MS), Some("0"),
        "For this time after a start, a `killJob` for a job from before the restart is acknowledged but not executed if it comes from the job's own user as the first call of a connection: the stock streaming tool sends one when it loses its connection. 0: off.";
    TRACKERS_ADMIT = "jobtracker.trackers.admit", OneOf(&["all", "listed"]), Some("all"),
        "TaskTrackers that are served. `all`: any that connects under a host name that `mapred.hosts` and `mapred.hosts.exclude` allow. `listed`: only those of hosts in `mapred.hosts`, each from an address that its host name resolves to.";
    JOB_CHANGES = "jobtracker.job-changes", OneOf(&["believed", "signed"]), Some("believed"),
        "Who may submit and change jobs. `believed`: a caller is who it says it is, as in Hadoop; while the market rules, submissions must be signed. `signed`: a submission needs its signature under every scheduler, and jobs and attempts are killed and reordered by signed requests to `/scheduler` only. Needs the file of `mapred.priority-scheduler.acl-file`.";
    JOB_CHANGES_HOSTS = "jobtracker.job-changes.hosts", List, None,
        "Hosts whose RPC callers may kill and reorder jobs without a signature under `jobtracker.job-changes` = `signed`: names or addresses separated by commas. SIGHUP reads it again and resolves the names again.";
    HEARTBEAT_INTERVAL_MIN = "jobtracker.heartbeat.interval.min-ms", Number(Milliseconds, 10, HOUR_MS), Some("100"),
        "Minimum heartbeat interval while slots or tasks wait.";
    COMPATIBLE = "jobtracker.scheduler.compatible" ["jobtracker.fifo.compatible"], Flag, Some("false"),
        "Every heartbeat gets exactly what the scheduler of Hadoop 1.2.1 gives: a setup or cleanup alone; under FIFO one task without locality and one reduce in an answer, and the capacity pad; under the Capacity scheduler one reduce. Not for the market, which 1.2.1 does not have.";
    END_NOTIFICATION_TARGETS = "jobtracker.end-notification.targets", HostPatterns, Some("*"),
        "Hosts that `job.end.notification.url` may name: names or addresses separated by commas. `*` matches any characters, `:port` limits an entry to that port. Other hosts are not called. Blank: none.";
    HISTORY_COPY_NAMENODES = "jobtracker.history.copy.namenodes", List, None,
        "NameNodes on which the daemon writes users' copies of histories, `host:port` or `hdfs:` URIs separated by commas; a job whose output lies on another gets no copy. Unset: those of `fs.default.name`, of the staging root and of the history folders. Blank: none.";
    UPLOAD_MAX = "jobtracker.upload.max-mb", Number(Count, 1, 1_000_000), Some("1024"),
        "Maximum size of the files that a client hands over for one job (`/scheduler/upload`), MB.";
    UPLOAD_MAX_OF_USER = "jobtracker.upload.max-mb-of-user", Number(Count, 1, 100_000_000), Some("4096"),
        "Maximum size of the handed-over files of all waiting and unfinished jobs of one user, MB.";
    UPLOAD_MAX_OF_ALL = "jobtracker.upload.max-mb-of-all", Number(Count, 1, 100_000_000), Some("16384"),
        "Maximum size of the handed-over files of all waiting and unfinished jobs, MB.";
    UPLOAD_KEEP_FREE = "jobtracker.upload.keep-free-mb", Number(Count, 0, 100_000_000), Some("512"),
        "Room that handed-over files leave on the file system of the staging root, MB.";
    VERSION = "jobtracker.version", Version, Some("1.2.1"),
        "Version reported to TaskTrackers; must equal theirs, and begin `jobtracker.build-version`.";
    BUILD_VERSION = "jobtracker.build-version", Build,
        Some("1.2.1 from 1503152 by mattf source checksum 6923c86528809c4e7e6f493b6b413a9a"),
        "Build reported to TaskTrackers; must equal theirs byte for byte. Change it for trackers of another distribution.";
    MAX_LIVE_TASKS = "jobtracker.max-tasks", Number(Count, i64::MIN, i64::MAX), Some("4000000"),
        "Maximum number of maps and reduces of all unfinished jobs, plus four for each job; a job beyond it is refused. Half a kB of memory each. Below 1: no limit.";
    MAX_JOB_BYTES = "jobtracker.max-job-bytes", Number(Bytes, i64::MIN, i64::MAX), Some("536870912"),
        "Maximum memory for texts, splits and credentials of all unfinished jobs, and for what unfinished applications have sent and is kept for them, half of it for each user; a job, application or call beyond it is refused. Below 1: no limit.";
    TRACKER_MAX_SLOTS = "jobtracker.tracker.max-slots", Number(Count, 1, 5_000), Some("1000"),
        "Maximum number of slots of a kind that a TaskTracker gets tasks for, whatever it reports; one log line names a tracker that reports more.";
    RPC_MAX_FRAME = "jobtracker.rpc.max-frame-bytes", Number(Bytes, 1 << 16, 1 << 30), Some("67108864"),
        "Maximum size of an RPC call; a longer one closes its connection.";
    RPC_MAX_CONNECTIONS = "jobtracker.rpc.max-connections", Number(Count, 1, 1_000_000), Some("10000"),
        "Maximum number of open RPC connections; at the limit no more are accepted. Connections without a heartbeat may take a quarter for each address; beyond that, the address's longest silent ones are closed after 5 s of silence, or 200 ms while the limit is reached.";
    RPC_MAX_CALLS = "jobtracker.rpc.max-calls-in-flight", Number(Count, 1, 1_000_000), Some("100"),
        "Maximum number of unanswered calls of one connection; at the limit it is not read.";
    RPC_WRITE_TIMEOUT = "jobtracker.rpc.write-timeout-ms", Number(Milliseconds, 1, HOUR_MS), Some("60000"),
        "A connection that reads less than 64 KiB of a long answer in this time is closed.";
    HTTP_HEADER_TIMEOUT = "jobtracker.http.header-timeout-ms", Number(Milliseconds, 1, HOUR_MS), Some("10000"),
        "Time for the head of an HTTP request to arrive.";
    HTTP_MAX_HEADER = "jobtracker.http.max-header-bytes", Number(Bytes, 8192, 1 << 20), Some("16384"),
        "Maximum size of the head of an HTTP request.";
    HTTP_MAX_CONNECTIONS = "jobtracker.http.max-connections", Number(Count, 1, 1_000_000), Some("1000"),
        "Maximum number of open HTTP connections; each address may use a quarter of them.";
    WEB_SOCKET = "jobtracker.web.socket", LocalPath, None,
        "Unix socket at which the JobTracker's web server answers too, in a folder that only root or the daemon's user can write to; at most 107 bytes, of which 80 after the last slash. A socket whose process has ended is replaced; one at which a process listens keeps the daemon from starting. A caller there without a signature is the user of the connecting process, as the kernel says, and `user.name` must name that user (root and the daemon's user may name all). Over TCP, loopback addresses included, unsigned requests that name a user are refused while it is set. RPC is not affected.";
    WEB_SESSION = "jobtracker.web.session-seconds", Number(Seconds, 1, 31_536_000), Some("43200"),
        "How long a read-only session of `jobtracker open` lasts. A key that is changed, rotated or removed ends its user's sessions before.";
    WEB_GET_CHANGES = "jobtracker.web.get-changes", Flag, Some("false"),
        "Whether the Fair scheduler's page changes pools and priorities by GET at once, as in Hadoop, for consoles that send no POST. Any link then moves jobs through the browser of who follows it.";
    WEB_HOSTS = "jobtracker.web.hosts", List, None,
        "Additional host names under which the web servers of the JobTracker and of the built-in tasktracker answer. Requests under any name but these, an address, `localhost`, this machine's names and the hosts of the configured addresses are refused with status 421 (DNS rebinding). `*`: every name.";
}

const INT: i64 = i32::MAX as i64;
const DAY_MS: i64 = 86_400_000;

keys! {
    CONTAINERS;
    CONTAINERS_ENABLED = "jobtracker.containers.enabled", Flag, Some("true"),
        "Whether applications may ask for containers (`/ws/v1/cluster`) on built-in tasktrackers.";
    CONTAINERS_ACL_FILE = "jobtracker.containers.acl-file", LocalPath, None,
        "Lines of user, role (`user` or `admin`), key, by which requests about applications are signed; re-read when it changes. Unset: the file of the market, where there is one. Without a file requests need no signature, and are taken from users of this machine over loopback only.";
    CONTAINER_MIN_MEMORY = "jobtracker.containers.minimum.memory.mb", Number(Megabytes, 1, INT), Some("512"),
        "Memory of a container is rounded up to a multiple of this.";
    CONTAINER_MAX_MEMORY = "jobtracker.containers.maximum.memory.mb", Number(Megabytes, 1, INT), Some("1048576"),
        "Maximum memory of a container; a request for more is refused.";
    CONTAINER_MAX_VCORES = "jobtracker.containers.maximum.vcores", Number(Count, 1, INT), Some("1024"),
        "Maximum number of cores of a container; a request for more is refused.";
    CONTAINER_SLOT_MEMORY = "jobtracker.containers.slot.memory.mb", Number(Megabytes, 1, INT), None,
        "Memory that a running map or reduce takes from what its tasktracker has for containers, with one core. JobTracker and tasktrackers read it each; where they differ the JobTracker's counts. Unset: `mapred.cluster.map.memory.mb`, or 1024.";
    CONTAINER_LAUNCH_EXPIRY = "jobtracker.containers.launch-expiry-ms", Number(Milliseconds, 1_000, DAY_MS), Some("60000"),
        "A container that its application does not launch within this time after its grant is taken back.";
    CONTAINER_MAX_KILL_GRACE = "jobtracker.containers.max-kill-grace-ms", Number(Milliseconds, 0, 600_000), Some("30000"),
        "Maximum time between TERM and KILL of a container that its owner did not end: of preemptions (an allocation interval at most), kills by administrators and silent applications, and, as read by a tasktracker, of its own stop.";
    CONTAINER_LOCALITY_DELAY = "jobtracker.containers.locality.delay", Number(Count, 0, INT), Some("40"),
        "Number of offers, and at most the number of tasktrackers that take containers, that a request passes over before it takes a container in the rack instead of on its host; scaled down for one anywhere.";
    CONTAINERS_OF_APPLICATION = "jobtracker.containers.max-per-application", Number(Count, 1, 1_000_000), Some("100000"),
        "Maximum number of containers that one application has at a time.";
}

//! Hadoop's keys of JobTracker and TaskTracker (1.2.1 `JobTracker`, `QueueManager`, `mapred-default.xml`, `core-default.xml`).

use super::Unit::{Bytes, Count, Megabytes, Milliseconds, Minutes, Seconds};
use super::ValueKind::{Address, Class, FileSystemPath, Flag, List, LocalPath, LocalPaths, Number, OneOf, Ratio, Text};
use super::keys;

const ANY: i64 = i64::MIN;
const MOST: i64 = i64::MAX;
const INT: i64 = i32::MAX as i64;

/// Highest user id; the one above it stands for none.
const MOST_UID: i64 = 4_294_967_294;

keys! {
    CLUSTER;
    HADOOP_TMP_DIR = "hadoop.tmp.dir", LocalPath, Some("/tmp/hadoop-${user.name}"),
        "Parent of other directories by default. Without a conf folder: `~/.local/state/jobtracker`.";
    DEFAULT_FILE_SYSTEM = "fs.default.name" ["fs.defaultFS"], FileSystemPath, Some("file:///"),
        "File system of paths without a scheme.";
    RPC_ADDRESS = "mapred.job.tracker" ["mapreduce.jobtracker.address"], Address, Some("local"),
        "RPC address. Required with a conf folder; `local` is refused. Without a conf folder: `127.0.0.1:8021`.";
    HTTP_ADDRESS = "mapred.job.tracker.http.address" ["mapreduce.jobtracker.http.address"], Address, Some("0.0.0.0:50030"),
        "Web address. Without a conf folder: `127.0.0.1:50030`.";
    HTTP_BIND_ADDRESS = "mapred.job.tracker.info.bindAddress", Text, None,
        "Deprecated: when set, replaces the host of the web address.";
    HTTP_PORT = "mapred.job.tracker.info.port", Number(Count, 0, 65535), None,
        "Deprecated: when set, replaces the port of the web address.";
    SYSTEM_DIR = "mapred.system.dir" ["mapreduce.jobtracker.system.dir"], FileSystemPath, Some("${hadoop.tmp.dir}/mapred/system"),
        "System directory: TaskTrackers read each job's token there.";
    STAGING_ROOT_DIR = "mapreduce.jobtracker.staging.root.dir", FileSystemPath, Some("${hadoop.tmp.dir}/mapred/staging"),
        "Staging root: clients put a job's files under `<this>/<user>/.staging`.";
    LOCAL_DIR = "mapred.local.dir" ["mapreduce.cluster.local.dir"], LocalPaths, Some("${hadoop.tmp.dir}/mapred/local"),
        "Local scratch directories.";
    TASK_SCHEDULER = "mapred.jobtracker.taskScheduler" ["mapreduce.jobtracker.taskscheduler"], Class,
        Some("org.apache.hadoop.mapred.JobQueueTaskScheduler"),
        "Class name of the scheduler in `org.apache.hadoop.mapred.`: `JobQueueTaskScheduler` (FIFO), `CapacityTaskScheduler`, `FairScheduler`, `ConstraintScheduler` or `DynamicPriorityScheduler`. A choice by `jobtracker scheduler use` outlasts it until another class stands here.";
    CAPACITY_PAD = "mapred.jobtracker.taskalloc.capacitypad" ["mapreduce.jobtracker.taskscheduler.taskalloc.capacitypad"],
        Ratio(1_000_000), Some("0.01"), "FIFO, compatible mode: share of the slots kept free for failures and speculation.";
    HEARTBEATS_IN_SECOND = "mapred.heartbeats.in.second" ["mapreduce.jobtracker.heartbeats.in.second"], Number(Count, ANY, INT), None,
        "Heartbeats a second over all trackers (below 1 means 100). Unset: the interval depends on the load.";
    HEARTBEATS_SCALING = "mapreduce.jobtracker.heartbeats.scaling.factor", Ratio(u64::MAX), Some("1.0"),
        "Factor on the interval that `mapred.heartbeats.in.second` gives; below 0.01 means 1.";
    TRACKER_EXPIRY_INTERVAL = "mapred.tasktracker.expiry.interval" ["mapreduce.jobtracker.expire.trackers.interval"],
        Number(Milliseconds, 1, MOST), Some("600000"), "A tracker is lost, and an unconfirmed launch fails, after this time without a heartbeat.";
    HOSTS = "mapred.hosts" ["mapreduce.jobtracker.hosts.filename"], LocalPath, None,
        "File with the hosts whose trackers are admitted. Unset: all hosts.";
    HOSTS_EXCLUDE = "mapred.hosts.exclude" ["mapreduce.jobtracker.hosts.exclude.filename"], LocalPath, None,
        "File with the hosts whose trackers are not admitted.";
    MAX_TRACKER_BLACKLISTS = "mapred.max.tracker.blacklists" ["mapreduce.jobtracker.tasktracker.maxblacklists"], Number(Count, 1, INT), Some("4"),
        "Number of faults after which a host is graylisted, which is shown but has no other effect. A fault is a job that succeeded but blacklisted the host.";
    FAULT_WINDOW = "mapred.jobtracker.blacklist.fault-timeout-window", Number(Minutes, 1, INT), Some("180"),
        "Time after which a fault is forgotten.";
    FAULT_BUCKET = "mapred.jobtracker.blacklist.fault-bucket-width", Number(Minutes, 1, INT), Some("15"),
        "Step in which faults are forgotten; at most the whole window.";
    AVERAGE_BLACKLIST_THRESHOLD = "mapred.cluster.average.blacklist.threshold", Ratio(u64::MAX), Some("0.5"),
        "A host is graylisted only if its faults exceed the average of all trackers by more than this share of it.";
    TOPOLOGY_SCRIPT = "topology.script.file.name" ["net.topology.script.file.name"], LocalPath, None,
        "Program that prints the rack of each host given to it. Unset: all hosts are in `/default-rack`.";
    TOPOLOGY_SCRIPT_ARGUMENTS = "topology.script.number.args" ["net.topology.script.number.args"], Number(Count, 1, INT), Some("100"),
        "Maximum number of hosts given to one run of that program.";
    TASK_CACHE_LEVELS = "mapred.task.cache.levels" ["mapreduce.jobtracker.taskcache.levels"], Number(Count, 1, 8), Some("2"),
        "Levels of locality: 1 host, 2 host and rack, more: groups of racks too, as the paths of racks name them (`/building/row/rack`). A host whose rack has fewer names counts as far from what is outside its rack, and has a line in the log.";
    MAX_TASKS_PER_JOB = "mapred.jobtracker.maxtasks.per.job" ["mapreduce.jobtracker.maxtasks.perjob"], Number(Count, ANY, INT), Some("-1"),
        "Maximum number of maps and reduces of one job, at most 1,000,000. Below 1: that many.";
    JOB_CONF_LIMIT = "mapred.user.jobconf.limit", Number(Bytes, 1, 1 << 30), Some("5242880"),
        "Maximum size of job.xml.";
    SPLIT_META_LIMIT = "mapreduce.jobtracker.split.metainfo.maxsize", Number(Bytes, ANY, MOST), Some("10000000"),
        "Maximum size of `job.splitmetainfo`. Below 1: no limit.";
    MAX_SPLIT_LOCATIONS = "mapreduce.job.max.split.locations", Number(Count, ANY, INT), None,
        "Maximum number of hosts of one split. Unset or below 1: no limit.";
    MAP_SLOT_MEMORY = "mapred.cluster.map.memory.mb" ["mapreduce.cluster.mapmemory.mb"], Number(Megabytes, ANY, INT), Some("-1"),
        "Memory of one map slot. If all four memory keys are set (below 0 is unset), jobs must request memory, up to the maximum, and under the Capacity scheduler a task takes as many slots as its memory fills; under the others one.";
    REDUCE_SLOT_MEMORY = "mapred.cluster.reduce.memory.mb" ["mapreduce.cluster.reducememory.mb"], Number(Megabytes, ANY, INT), Some("-1"),
        "Memory of one reduce slot.";
    MAX_MAP_MEMORY = "mapred.cluster.max.map.memory.mb" ["mapreduce.jobtracker.maxmapmemory.mb"], Number(Megabytes, ANY, INT), Some("-1"),
        "Maximum memory that one map may request.";
    MAX_REDUCE_MEMORY = "mapred.cluster.max.reduce.memory.mb" ["mapreduce.jobtracker.maxreducememory.mb"], Number(Megabytes, ANY, INT), Some("-1"),
        "Maximum memory that one reduce may request.";
    MAX_TASK_VIRTUAL_MEMORY = "mapred.task.limit.maxvmem", Number(Bytes, ANY, MOST), None,
        "Deprecated: when set, replaces both keys of maximum memory.";
    COUNTERS_MAX = "mapreduce.job.counters.limit" ["mapreduce.job.counters.max"], Number(Count, 1, INT), Some("120"),
        "Maximum number of counters of one job; a job with more at its end fails.";
    COUNTER_GROUPS_MAX = "mapreduce.job.counters.groups.max", Number(Count, 1, INT), Some("50"),
        "Maximum number of counter groups of one job; as in Hadoop, one more is accepted.";
    COUNTER_NAME_MAX = "mapreduce.job.counters.counter.name.max", Number(Count, 1, INT), Some("64"),
        "Maximum length of a counter name in a job's sums, in UTF-16 units; of a longer name, the end is kept.";
    COUNTER_GROUP_NAME_MAX = "mapreduce.job.counters.group.name.max", Number(Count, 1, INT), Some("128"),
        "Maximum length of a counter group name in a job's sums, likewise.";
    FINISHED_JOBS = "mapred.job.tracker.retiredjobs.cache.size" ["mapreduce.jobtracker.retiredjobs.cache.size"], Number(Count, ANY, INT), Some("1000"),
        "Number of finished jobs of all users that clients and pages can request; at least 100.";
    HISTORY_LOCATION = "hadoop.job.history.location" ["mapreduce.jobtracker.jobhistory.location"], FileSystemPath, None,
        "History folder: above the done folder, if that is not set. Unset: `history` in `hadoop.log.dir`, or without that in `jobtracker.state.dir`.";
    HISTORY_DONE_LOCATION = "mapred.job.tracker.history.completed.location" ["mapreduce.jobtracker.jobhistory.completed.location"], FileSystemPath, None,
        "Done folder: history files of finished jobs are in `version-1/HOST_START_/YYYY/MM/DD/NUMBER/` there. Unset: `done` in the history folder.";
    HISTORY_BLOCK_SIZE = "mapred.jobtracker.job.history.block.size" ["mapreduce.jobtracker.jobhistory.block.size"], Number(Bytes, 1, MOST), Some("3145728"),
        "Block size of history files in a done folder on HDFS, a multiple of `io.bytes.per.checksum`.";
    HISTORY_MAX_AGE = "mapreduce.jobhistory.max-age-ms", Number(Milliseconds, 0, MOST), Some("2592000000"),
        "Time for which history files are kept in the done folder, by its days.";
    HISTORY_CLEANER_INTERVAL = "mapreduce.jobhistory.cleaner.interval-ms", Number(Milliseconds, 0, MOST), Some("86400000"),
        "Time between two removals of old history files; they are looked for when a job has ended.";
    COMPLETED_STORE_ACTIVE = "mapred.job.tracker.persist.jobstatus.active" ["mapreduce.jobtracker.persist.jobstatus.active"], Flag, Some("false"),
        "Whether jobs that memory no longer has are answered from `state.db`.";
    COMPLETED_STORE_HOURS = "mapred.job.tracker.persist.jobstatus.hours" ["mapreduce.jobtracker.persist.jobstatus.hours"], Number(Count, 0, 1 << 20), Some("0"),
        "Time for which they are, from the end of a job, hours. 0: never.";
    RESTART_RECOVER = "mapred.jobtracker.restart.recover" ["mapreduce.jobtracker.restart.recover"], Flag, Some("true"),
        "Whether unfinished jobs continue after a restart; if not, they end KILLED at the start. On by default, unlike in Hadoop, where it runs them again from the start.";
    QUEUE_NAMES = "mapred.queue.names", List, Some("default"),
        "The queues. The Dynamic Priority Scheduler adds those of its budget file.";
    QUEUE_STATE = "mapred.queue.<queue>.state", OneOf(&["RUNNING", "STOPPED"]), Some("RUNNING"),
        "A stopped queue accepts no new jobs.";
    QUEUE_ACL_SUBMIT = "mapred.queue.<queue>.acl-submit-job", Text, Some("*"),
        "Users and groups that may submit: `user,user group,group`; `*`: all; a blank: none. Set it in `mapred-queue-acls.xml`.";
    QUEUE_ACL_ADMINISTER = "mapred.queue.<queue>.acl-administer-jobs", Text, Some("*"),
        "Users and groups that may kill and reorder the queue's jobs, in the same form.";
    FILTER_INITIALIZERS = "hadoop.http.filter.initializers", List, None,
        "How requests to Hadoop's pages say who asks. `org.apache.hadoop.http.lib.StaticUserWebFilter`: all are `Dr.Who`. `org.apache.hadoop.security.AuthenticationFilterInitializer`: by `hadoop.http.authentication.*`. Unset: they do not. Another class is refused.";
    HTTP_AUTH_TYPE = "hadoop.http.authentication.type", Text, Some("simple"),
        "With that initializer, `simple`: by `?user.name=USER`, which is believed, then by the cookie `hadoop.auth`, which NameNode and JobTracker share. Kerberos and other classes are refused.";
    HTTP_AUTH_SECRET = "hadoop.http.authentication.signature.secret.file", LocalPath, Some("${user.home}/hadoop-http-auth-signature-secret"),
        "The file of the secret that the cookie is signed with, the same on every daemon; read at the start, as it is.";
    HTTP_AUTH_VALIDITY = "hadoop.http.authentication.token.validity", Number(Seconds, 1, 1_000_000_000), Some("36000"),
        "How long the cookie is good.";
    HTTP_AUTH_NAMELESS = "hadoop.http.authentication.simple.anonymous.allowed", Flag, Some("true"),
        "Whether requests that name no user are answered; if not, with status 401.";
    PRIVATE_ACTIONS = "webinterface.private.actions", Flag, Some("false"),
        "Whether pages change jobs: kill, pool and priority, or the deadline. While `mapred.acls.enabled` is true a request must name a user that the lists allow it to (`hadoop.http.filter.initializers`).";
    INSTRUMENTATION_ADMINS = "hadoop.security.instrumentation.requires.admin", Flag, Some("false"),
        "Whether `/conf`, `/jmx`, `/metrics` and `/stacks` are for administrators: for requests that name one as their user (`hadoop.http.filter.initializers`).";
    ACLS_ENABLED = "mapred.acls.enabled" ["mapreduce.cluster.acls.enabled"], Flag, Some("false"),
        "Whether access lists of queues and jobs are enforced. Also read by the built-in tasktracker: it shows logs only for tickets of the JobTracker then.";
    ADMINISTRATORS = "mapreduce.cluster.administrators", Text, None,
        "Users and groups that may do everything: `user,user group,group`. The user of the daemon always may.";
    GROUPS_CACHE = "hadoop.security.groups.cache.secs", Number(Seconds, 0, 1 << 31), Some("300"),
        "Time for which the groups of a user are cached.";
    DELEGATION_KEY_INTERVAL = "mapreduce.cluster.delegation.key.update-interval", Number(Milliseconds, 1_000, MOST), Some("86400000"),
        "Time after which delegation tokens are signed by a new key.";
    DELEGATION_MAX_LIFETIME = "mapreduce.cluster.delegation.token.max-lifetime", Number(Milliseconds, 1_000, MOST), Some("604800000"),
        "Time after which a delegation token ends, however often it is renewed.";
    DELEGATION_RENEW_INTERVAL = "mapreduce.cluster.delegation.token.renew-interval", Number(Milliseconds, 1_000, MOST), Some("86400000"),
        "Time after which a delegation token ends that is not renewed.";
    SECURITY_AUTHENTICATION = "hadoop.security.authentication", OneOf(&["simple"]), Some("simple"),
        "How callers authenticate. Kerberos is not supported and therefore refused, not ignored.";
    SECURITY_AUTHORIZATION = "hadoop.security.authorization", Flag, Some("false"),
        "Whether the lists of service-level authorization are enforced, once for each connection.";
    PROXY_GROUPS = "hadoop.proxyuser.<user>.groups", List, None,
        "Groups for whose users this user may act: names, or `*` for all users. Read again at SIGHUP and by `hadoop mradmin -refreshSuperUserGroupsConfiguration`, like the next one. A connection is checked once, when it opens.";
    PROXY_HOSTS = "hadoop.proxyuser.<user>.hosts", List, None,
        "Hosts from which this user may act for others: names or addresses, or `*` for all hosts.";
}

keys! {
    /// Keys of the built-in tasktracker (1.2.1 `TaskTracker`).
    TRACKER;
    MAP_SLOTS = "mapred.tasktracker.map.tasks.maximum", Number(Count, 0, INT), Some("2"),
        "Map slots of the built-in tasktracker.";
    REDUCE_SLOTS = "mapred.tasktracker.reduce.tasks.maximum", Number(Count, 0, INT), Some("2"),
        "Reduce slots of the built-in tasktracker.";
    SLAVE_HOST_NAME = "slave.host.name" ["mapreduce.tasktracker.host.name"], Text, None,
        "Built-in tasktracker: name of this host. Unset: the kernel's host name, or `localhost` when only this machine reaches it.";
    TRACKER_HTTP_ADDRESS = "mapred.task.tracker.http.address" ["mapreduce.tasktracker.http.address"], Address, Some("0.0.0.0:50060"),
        "Built-in tasktracker: address that serves map output and logs; port 0: any free port. Without a conf folder: `127.0.0.1:50060`.";
    HADOOP_LOG_DIR = "hadoop.log.dir", LocalPath, None,
        "Built-in tasktracker: logs of tasks are in `userlogs` there. Unset: in `mapred.local.dir`. JobTracker: see `hadoop.job.history.location`.";
    USERLOG_LIMIT = "mapred.userlog.limit.kb" ["mapreduce.task.userlog.limit.kb"], Number(Count, 0, 1 << 40), Some("0"),
        "Built-in tasktracker: maximum size of a task's standard error log, kB. 0: no limit.";
    USERLOG_RETAIN = "mapred.userlog.retain.hours" ["mapreduce.job.userlog.retain.hours"], Number(Count, 1, 1 << 20), Some("24"),
        "Built-in tasktracker: time for which logs of tasks are kept, hours.";
    LOCAL_SPACE_START = "mapred.local.dir.minspacestart" ["mapreduce.tasktracker.local.dir.minspacestart"], Number(Bytes, 0, MOST), Some("0"),
        "Built-in tasktracker: with less free disk space it takes no work; neither does it with less than 512 kB.";
    MEMORY_INTERVAL = "mapred.tasktracker.taskmemorymanager.monitoring-interval" ["mapreduce.tasktracker.taskmemorymanager.monitoringinterval"], Number(Milliseconds, 10, INT), Some("5000"),
        "Built-in tasktracker: time between two checks of the memory of its tasks.";
    RUN_AS = "jobtracker.worker.run-as", OneOf(&["job-user", "self"]), None,
        "Built-in tasktracker: the user that jobs run as. `job-user`: the commands of a job, and all reading and writing on paths that it names, as the job's user on this machine; the tasktracker must be root. `self`: as the tasktracker's own user. Unset: `job-user` for a tasktracker of root that has the capabilities, else `self`; without a conf folder root's own then run as root where the JobTracker is on this machine, which holds the name root to processes of root's.";
    MIN_UID = "jobtracker.worker.min-uid", Number(Count, 0, MOST_UID), Some("1000"),
        "Built-in tasktracker under `job-user`: jobs of users with a lower user id are refused (1.2.1 task-controller `min.user.id`). 0 admits root.";
    BANNED_USERS = "jobtracker.worker.banned-users", List, Some("mapred,hdfs,bin"),
        "Built-in tasktracker under `job-user`: jobs of these users are refused (1.2.1 task-controller `banned.users`). Blank: none.";
    NO_NEW_PRIVILEGES = "jobtracker.worker.no-new-privileges", Flag, Some("true"),
        "Built-in tasktracker under `job-user`: whether commands of jobs and containers are kept from gaining rights by set-user-id programs, such as `sudo` (PR_SET_NO_NEW_PRIVS).";
    TRACKER_CONTAINERS = "jobtracker.tasktracker.containers", Flag, Some("true"),
        "Built-in tasktracker: whether it runs containers of applications.";
    TRACKER_MEMORY = "jobtracker.tasktracker.memory.mb", Number(Megabytes, 1, INT), None,
        "Built-in tasktracker: memory for its slots and containers together. Unset: 80 % of the machine's memory or of the tasktracker's own limit, whichever is less, and at least what its slots take.";
    TRACKER_VCORES = "jobtracker.tasktracker.vcores", Number(Count, 1, INT), None,
        "Built-in tasktracker: cores for its slots and containers together. Unset: the processors that it may use. Slots beyond them still run tasks.";
    TRACKER_CGROUP = "jobtracker.tasktracker.cgroup", OneOf(&["auto", "require", "off"]), Some("auto"),
        "Built-in tasktracker: whether each container gets a control group (version 2), which keeps it to its memory, processes and share of the cores. `auto`: where the tasktracker's own group is delegated to it (systemd: `Delegate=yes`); else memory is looked at at intervals, and cores are not limited. `require`: it does not start without. `off`: never.";
    CONTAINER_LOG_LIMIT = "jobtracker.containers.log.limit.kb", Number(Count, 1, 1 << 30), Some("10240"),
        "Built-in tasktracker: maximum size of each of a container's two logs, kB.";
    LOCAL_CACHE_SIZE = "local.cache.size", Number(Count, 0, 1 << 50), Some("10737418240"),
        "Built-in tasktracker: bytes of files that the containers of a user share, on each disk of `mapred.local.dir`; beyond that, and beyond 10,000 files, those that were used least recently go. 0: each container has files of its own.";
}

keys! {
    POLICY;
    JOB_SUBMISSION_ACL = "security.job.submission.protocol.acl", Text, Some("*"),
        "Who may connect as a job client.";
    INTER_TRACKER_ACL = "security.inter.tracker.protocol.acl", Text, Some("*"),
        "Who may connect as a TaskTracker.";
    TASK_UMBILICAL_ACL = "security.task.umbilical.protocol.acl", Text, Some("*"),
        "Who may connect as a task. A JobTracker serves no call of tasks.";
    ADMIN_OPERATIONS_ACL = "security.admin.operations.protocol.acl", Text, Some("*"),
        "Who may run `mradmin -refreshQueues`, `-refreshNodes` and `-safemode`.";
    REFRESH_USER_MAPPINGS_ACL = "security.refresh.usertogroups.mappings.protocol.acl", Text, Some("*"),
        "Who may run `mradmin -refreshUserToGroupsMappings` and `-refreshSuperUserGroupsConfiguration`.";
    REFRESH_POLICY_ACL = "security.refresh.policy.protocol.acl", Text, Some("*"),
        "Who may run `mradmin -refreshServiceAcl`.";
}

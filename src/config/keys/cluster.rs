//! Hadoop's keys of JobTracker and TaskTracker (1.2.1 `JobTracker`, `QueueManager`, `mapred-default.xml`, `core-default.xml`).

use super::Kind::{Address, Class, FileSystemPath, Flag, List, LocalPath, LocalPaths, Number, OneOf, Ratio, Text};
use super::Unit::{Bytes, Count, Megabytes, Milliseconds, Minutes, Seconds};
use super::keys;

const ANY: i64 = i64::MIN;
const MOST: i64 = i64::MAX;
const INT: i64 = i32::MAX as i64;

keys! {
    /// Keys of the cluster.
    CLUSTER;
    HADOOP_TMP_DIR = "hadoop.tmp.dir", LocalPath, Some("/tmp/hadoop-${user.name}"),
        "Where other folders lie by default. Without a conf folder: `~/.local/state/jobtracker`.";
    DEFAULT_FILE_SYSTEM = "fs.default.name" ["fs.defaultFS"], FileSystemPath, Some("file:///"),
        "The file system of paths that name none.";
    RPC_ADDRESS = "mapred.job.tracker" ["mapreduce.jobtracker.address"], Address, Some("local"),
        "RPC address; must be set with a conf folder, `local` is refused. Without one: `127.0.0.1:8021`.";
    HTTP_ADDRESS = "mapred.job.tracker.http.address" ["mapreduce.jobtracker.http.address"], Address, Some("0.0.0.0:50030"),
        "Web address. Without a conf folder: `127.0.0.1:50030`.";
    HTTP_BIND_ADDRESS = "mapred.job.tracker.info.bindAddress", Text, None,
        "Deprecated: when set, replaces the host of the web address.";
    HTTP_PORT = "mapred.job.tracker.info.port", Number(Count, 0, 65535), None,
        "Deprecated: when set, replaces the port of the web address.";
    SYSTEM_DIR = "mapred.system.dir" ["mapreduce.jobtracker.system.dir"], FileSystemPath, Some("${hadoop.tmp.dir}/mapred/system"),
        "Where TaskTrackers find each job's token.";
    STAGING_ROOT_DIR = "mapreduce.jobtracker.staging.root.dir", FileSystemPath, Some("${hadoop.tmp.dir}/mapred/staging"),
        "Clients put a job's files under `<this>/<user>/.staging`.";
    LOCAL_DIR = "mapred.local.dir" ["mapreduce.cluster.local.dir"], LocalPaths, Some("${hadoop.tmp.dir}/mapred/local"),
        "Local scratch folders.";
    TASK_SCHEDULER = "mapred.jobtracker.taskScheduler" ["mapreduce.jobtracker.taskscheduler"], Class,
        Some("org.apache.hadoop.mapred.JobQueueTaskScheduler"),
        "Class name of the scheduler: `org.apache.hadoop.mapred.JobQueueTaskScheduler` (FIFO) or `org.apache.hadoop.mapred.DynamicPriorityScheduler`.";
    CAPACITY_PAD = "mapred.jobtracker.taskalloc.capacitypad" ["mapreduce.jobtracker.taskscheduler.taskalloc.capacitypad"],
        Ratio(1_000_000), Some("0.01"), "FIFO, compatible mode: share of the slots kept free for failures and speculation.";
    HEARTBEATS_IN_SECOND = "mapred.heartbeats.in.second" ["mapreduce.jobtracker.heartbeats.in.second"], Number(Count, ANY, INT), None,
        "Heartbeats a second over all trackers. When set it is obeyed (below 1 means 100); else the interval follows the work.";
    HEARTBEATS_SCALING = "mapreduce.jobtracker.heartbeats.scaling.factor", Ratio(u64::MAX), Some("1.0"),
        "Factor on the interval that `mapred.heartbeats.in.second` gives; below 0.01 means 1.";
    TRACKER_EXPIRY_INTERVAL = "mapred.tasktracker.expiry.interval" ["mapreduce.jobtracker.expire.trackers.interval"],
        Number(Milliseconds, 1, MOST), Some("600000"), "A tracker silent for so long is lost; a launch unconfirmed for so long has failed.";
    HOSTS = "mapred.hosts" ["mapreduce.jobtracker.hosts.filename"], LocalPath, None,
        "File with the hosts whose trackers are admitted; unset: all.";
    HOSTS_EXCLUDE = "mapred.hosts.exclude" ["mapreduce.jobtracker.hosts.exclude.filename"], LocalPath, None,
        "File with the hosts whose trackers are not admitted.";
    MAX_TRACKER_BLACKLISTS = "mapred.max.tracker.blacklists" ["mapreduce.jobtracker.tasktracker.maxblacklists"], Number(Count, 1, INT), Some("4"),
        "Faults that put a host on the graylist, which is shown and changes nothing else. A fault is a job that succeeded but avoided the host.";
    FAULT_WINDOW = "mapred.jobtracker.blacklist.fault-timeout-window", Number(Minutes, 1, INT), Some("180"),
        "How long a fault counts.";
    FAULT_BUCKET = "mapred.jobtracker.blacklist.fault-bucket-width", Number(Minutes, 1, INT), Some("15"),
        "Faults are forgotten in steps of so long; at most the whole window.";
    AVERAGE_BLACKLIST_THRESHOLD = "mapred.cluster.average.blacklist.threshold", Ratio(u64::MAX), Some("0.5"),
        "A host is graylisted only if its faults exceed the average of all trackers by more than this share of it.";
    TOPOLOGY_SCRIPT = "topology.script.file.name" ["net.topology.script.file.name"], LocalPath, None,
        "Program that prints the rack of each host given to it; unset: all in `/default-rack`.";
    TOPOLOGY_SCRIPT_ARGUMENTS = "topology.script.number.args" ["net.topology.script.number.args"], Number(Count, 1, INT), Some("100"),
        "Hosts given to one run of that program.";
    TASK_CACHE_LEVELS = "mapred.task.cache.levels" ["mapreduce.jobtracker.taskcache.levels"], Number(Count, 1, 8), Some("2"),
        "Not acted on yet. Levels of locality: 1 host, 2 host and rack.";
    MAX_TASKS_PER_JOB = "mapred.jobtracker.maxtasks.per.job" ["mapreduce.jobtracker.maxtasks.perjob"], Number(Count, ANY, INT), Some("-1"),
        "Most maps and reduces of one job; below 1: no limit.";
    JOB_CONF_LIMIT = "mapred.user.jobconf.limit", Number(Bytes, 1, 1 << 30), Some("5242880"),
        "Largest job.xml.";
    SPLIT_META_LIMIT = "mapreduce.jobtracker.split.metainfo.maxsize", Number(Bytes, ANY, MOST), Some("10000000"),
        "Largest `job.splitmetainfo`; below 1: no limit.";
    MAX_SPLIT_LOCATIONS = "mapreduce.job.max.split.locations", Number(Count, ANY, INT), None,
        "Most hosts one split may name; unset or below 1: no limit.";
    MAP_SLOT_MEMORY = "mapred.cluster.map.memory.mb" ["mapreduce.cluster.mapmemory.mb"], Number(Megabytes, ANY, INT), Some("-1"),
        "Memory of one map slot. Only where all four memory keys are set (below 0 is unset) must jobs ask for memory, and no more than the most; each task takes one slot all the same.";
    REDUCE_SLOT_MEMORY = "mapred.cluster.reduce.memory.mb" ["mapreduce.cluster.reducememory.mb"], Number(Megabytes, ANY, INT), Some("-1"),
        "Memory of one reduce slot.";
    MAX_MAP_MEMORY = "mapred.cluster.max.map.memory.mb" ["mapreduce.jobtracker.maxmapmemory.mb"], Number(Megabytes, ANY, INT), Some("-1"),
        "Most memory one map may ask for.";
    MAX_REDUCE_MEMORY = "mapred.cluster.max.reduce.memory.mb" ["mapreduce.jobtracker.maxreducememory.mb"], Number(Megabytes, ANY, INT), Some("-1"),
        "Most memory one reduce may ask for.";
    MAX_TASK_VIRTUAL_MEMORY = "mapred.task.limit.maxvmem", Number(Bytes, ANY, MOST), None,
        "Deprecated: when set, replaces both keys of most memory.";
    COUNTERS_MAX = "mapreduce.job.counters.limit" ["mapreduce.job.counters.max"], Number(Count, 1, INT), Some("120"),
        "Most counters of one job; it fails when it has more at its end.";
    COUNTER_GROUPS_MAX = "mapreduce.job.counters.groups.max", Number(Count, 1, INT), Some("50"),
        "Most counter groups of one job; as in Hadoop one more is let pass.";
    COUNTER_NAME_MAX = "mapreduce.job.counters.counter.name.max", Number(Count, 1, INT), Some("64"),
        "Longest counter name in a job's sums, in UTF-16 units; of a longer one the end is kept.";
    COUNTER_GROUP_NAME_MAX = "mapreduce.job.counters.group.name.max", Number(Count, 1, INT), Some("128"),
        "Longest counter group name in a job's sums, likewise.";
    FINISHED_JOBS = "mapred.job.tracker.retiredjobs.cache.size" ["mapreduce.jobtracker.retiredjobs.cache.size"], Number(Count, ANY, INT), Some("1000"),
        "Finished jobs that clients and pages can still ask about, of all users together; at least 100.";
    RESTART_RECOVER = "mapred.jobtracker.restart.recover" ["mapreduce.jobtracker.restart.recover"], Flag, Some("true"),
        "Whether jobs that ran before a restart go on; if not they end KILLED at the start. On by default, unlike in Hadoop, where it means to run them again.";
    QUEUE_NAMES = "mapred.queue.names", List, Some("default"),
        "The queues. The Dynamic Priority Scheduler adds those of its budget file.";
    QUEUE_STATE = "mapred.queue.<queue>.state", OneOf(&["RUNNING", "STOPPED"]), Some("RUNNING"),
        "A stopped queue takes no new jobs.";
    QUEUE_ACL_SUBMIT = "mapred.queue.<queue>.acl-submit-job", Text, Some("*"),
        "Who may submit: `user,user group,group`, `*` all, a blank nobody. Belongs into `mapred-queue-acls.xml`.";
    QUEUE_ACL_ADMINISTER = "mapred.queue.<queue>.acl-administer-jobs", Text, Some("*"),
        "Who may kill and reorder the queue's jobs, in the same form.";
    ACLS_ENABLED = "mapred.acls.enabled" ["mapreduce.cluster.acls.enabled"], Flag, Some("false"),
        "Whether queue and job access lists are looked at.";
    ADMINISTRATORS = "mapreduce.cluster.administrators", Text, None,
        "Who may do everything: `user,user group,group`. The user of the daemon always may.";
    GROUPS_CACHE = "hadoop.security.groups.cache.secs", Number(Seconds, 0, 1 << 31), Some("300"),
        "How long it is believed which groups a user belongs to.";
    SECURITY_AUTHENTICATION = "hadoop.security.authentication", OneOf(&["simple"]), Some("simple"),
        "How callers prove who they are. Kerberos is not supported and therefore refused, not ignored.";
    SECURITY_AUTHORIZATION = "hadoop.security.authorization", OneOf(&["false"]), Some("false"),
        "Service-level authorization. Not supported yet and therefore refused when on, not ignored.";
}

keys! {
    /// Keys of the built-in tasktracker (1.2.1 `TaskTracker`).
    TRACKER;
    MAP_SLOTS = "mapred.tasktracker.map.tasks.maximum", Number(Count, 0, INT), Some("2"),
        "Map slots of the built-in tasktracker.";
    REDUCE_SLOTS = "mapred.tasktracker.reduce.tasks.maximum", Number(Count, 0, INT), Some("2"),
        "Reduce slots of the built-in tasktracker.";
    SLAVE_HOST_NAME = "slave.host.name" ["mapreduce.tasktracker.host.name"], Text, None,
        "Built-in tasktracker: what this host is called; unset: as its kernel says, or `localhost` when only this machine reaches it.";
    TRACKER_HTTP_ADDRESS = "mapred.task.tracker.http.address" ["mapreduce.tasktracker.http.address"], Address, Some("0.0.0.0:50060"),
        "Built-in tasktracker: where map output and logs are served; port 0: any. Without a conf folder: `127.0.0.1:50060`.";
    HADOOP_LOG_DIR = "hadoop.log.dir", LocalPath, None,
        "Built-in tasktracker: logs of tasks lie in `userlogs` there; unset: in `mapred.local.dir`.";
    USERLOG_LIMIT = "mapred.userlog.limit.kb" ["mapreduce.task.userlog.limit.kb"], Number(Count, 0, 1 << 40), Some("0"),
        "Built-in tasktracker: most kB of a task's log of standard error; 0: no limit.";
    USERLOG_RETAIN = "mapred.userlog.retain.hours" ["mapreduce.job.userlog.retain.hours"], Number(Count, 1, 1 << 20), Some("24"),
        "Built-in tasktracker: so many hours logs of tasks are kept.";
    LOCAL_SPACE_START = "mapred.local.dir.minspacestart" ["mapreduce.tasktracker.local.dir.minspacestart"], Number(Bytes, 0, MOST), Some("0"),
        "Built-in tasktracker: with less room on its disk it asks for no tasks.";
    MEMORY_INTERVAL = "mapred.tasktracker.taskmemorymanager.monitoring-interval" ["mapreduce.tasktracker.taskmemorymanager.monitoringinterval"], Number(Milliseconds, 10, INT), Some("5000"),
        "Built-in tasktracker: time between two looks at the memory of its tasks.";
}

//! Keys of one job, read from its job.xml (1.2.1 `JobConf`, `JobInProgress`, `JobEndNotifier`).

use super::Unit::{Bytes, Count, Megabytes, Milliseconds, Percent};
use super::ValueKind::{FileSystemPath, Flag, HttpUrl, Number, OneOf, Ratio, Text};
use super::keys;

const ANY: i64 = i64::MIN;
const MOST: i64 = i64::MAX;
const INT: i64 = i32::MAX as i64;

keys! {
    JOB;
    USER_NAME = "user.name" ["mapreduce.job.user.name"], Text, None,
        "The submitter. Stock clients omit it; if set, it must be the caller.";
    JOB_NAME = "mapred.job.name" ["mapreduce.job.name"], Text, Some(""),
        "Name shown in lists.";
    JOB_PRIORITY = "mapred.job.priority" ["mapreduce.job.priority"],
        OneOf(&["VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW"]), Some("NORMAL"),
        "Priority among the jobs of a queue.";
    QUEUE_NAME_DOCUMENTED = "mapreduce.job.queue.name", Text, None,
        "The queue, under the name in the Dynamic Priority Scheduler's document. Two different queues under the three names are refused.";
    QUEUE_NAME_LATER = "mapreduce.job.queuename", Text, None,
        "The queue, under the name in Hadoop 0.21 and later.";
    QUEUE_NAME = "mapred.job.queue.name", Text, Some("default"),
        "The queue, under the name in Hadoop 1. The value `default` yields to the other two keys: stock clients always write it.";
    JOB_TIMESTAMP = "mapred.job.timestamp", Text, None,
        "Signed submission: the time of signing, ms since 1970.";
    JOB_SIGNATURE = "mapred.job.signature", Text, None,
        "Signed submission: the URL-encoded signature over `&user=U&timestamp=T`.";
    JOB_JAR = "mapred.jar" ["mapreduce.job.jar"], Text, None,
        "The job's jar.";
    MAP_TASKS = "mapred.map.tasks" ["mapreduce.job.maps"], Number(Count, 0, INT), Some("2"),
        "Number of maps; clients set it to the number of splits.";
    REDUCE_TASKS = "mapred.reduce.tasks" ["mapreduce.job.reduces"], Number(Count, 0, INT), Some("1"),
        "Number of reduces.";
    MAP_MAX_ATTEMPTS = "mapred.map.max.attempts" ["mapreduce.map.maxattempts"], Number(Count, 0, INT), Some("4"),
        "Number of failed attempts after which a map fails; 0 means 1.";
    REDUCE_MAX_ATTEMPTS = "mapred.reduce.max.attempts" ["mapreduce.reduce.maxattempts"], Number(Count, 0, INT), Some("4"),
        "Number of failed attempts after which a reduce fails; 0 means 1.";
    MAP_FAILURES_PERCENT = "mapred.max.map.failures.percent" ["mapreduce.map.failures.maxpercent"], Number(Percent, 0, 100), Some("0"),
        "Share of maps that may fail without failing the job.";
    REDUCE_FAILURES_PERCENT = "mapred.max.reduce.failures.percent" ["mapreduce.reduce.failures.maxpercent"],
        Number(Percent, 0, 100), Some("0"),
        "Share of reduces that may fail without failing the job.";
    MAX_TRACKER_FAILURES = "mapred.max.tracker.failures" ["mapreduce.job.maxtaskfailures.per.tracker"], Number(Count, 1, INT), Some("4"),
        "Number of failed attempts on one host after which the job blacklists it.";
    MAP_SPECULATIVE = "mapred.map.tasks.speculative.execution" ["mapreduce.map.speculative"], Flag, Some("true"),
        "Whether slow maps get a speculative attempt.";
    REDUCE_SPECULATIVE = "mapred.reduce.tasks.speculative.execution" ["mapreduce.reduce.speculative"], Flag, Some("true"),
        "Whether slow reduces get a speculative attempt.";
    REDUCE_SLOWSTART = "mapred.reduce.slowstart.completed.maps" ["mapreduce.job.reduce.slowstart.completedmaps"],
        Ratio(1_000_000), Some("0.05"),
        "Share of maps that must have ended before reduces start.";
    JOB_MAP_MEMORY = "mapred.job.map.memory.mb" ["mapreduce.map.memory.mb"], Number(Megabytes, ANY, INT), Some("-1"),
        "Memory that one map requests. Below 0: unset.";
    JOB_REDUCE_MEMORY = "mapred.job.reduce.memory.mb" ["mapreduce.reduce.memory.mb"], Number(Megabytes, ANY, INT), Some("-1"),
        "Memory that one reduce requests. Below 0: unset.";
    JOB_VIRTUAL_MEMORY = "mapred.task.maxvmem", Number(Bytes, ANY, MOST), None,
        "Deprecated: when set, replaces both keys of requested memory.";
    REDUCE_INPUT_LIMIT = "mapreduce.reduce.input.limit", Number(Bytes, ANY, MOST), Some("-1"),
        "Maximum expected input of one reduce; beyond it the job fails. Below 1: no limit.";
    LOCALITY_WAIT_FACTOR = "mapreduce.job.locality.wait.factor", Ratio(u64::MAX), Some("1.0"),
        "Under the Capacity scheduler: part of the trackers that must pass a job over before it gets a map far from its data. 1: the part of the cluster's hosts that hold its data.";
    SUBMIT_HOST = "mapreduce.job.submithost", Text, None,
        "The host that submits the job, set by clients. Pages show it.";
    SUBMIT_ADDRESS = "mapreduce.job.submithostaddress", Text, None,
        "The address of that host, set by clients. Pages show it.";
    JOB_ACL_VIEW = "mapreduce.job.acl-view-job", Text, Some(" "),
        "While `mapred.acls.enabled` is true: users and groups that may read the job's counters, tasks, diagnostics and logs, besides its owner and the administrators of its queue and of the cluster.";
    JOB_ACL_MODIFY = "mapreduce.job.acl-modify-job", Text, Some(" "),
        "While `mapred.acls.enabled` is true: users and groups that may kill and reorder the job and its attempts, besides the same.";
    JOB_RESTART_RECOVER = "mapreduce.job.restart.recover", Flag, Some("true"),
        "Whether the job continues after a restart; if not, it ends KILLED at the start.";
    KEEP_FAILED_TASK_FILES = "keep.failed.task.files" ["mapreduce.task.files.preserve.failedtasks"], Flag, Some("false"),
        "Keeps the staging directory.";
    KEEP_TASK_FILES_PATTERN = "keep.task.files.pattern" ["mapreduce.task.files.preserve.filepattern"], Text, None,
        "Keeps the staging directory when set.";
    NOTIFICATION_URL = "job.end.notification.url" ["mapreduce.job.end-notification.url"], HttpUrl, None,
        "URL called when the job has ended: `http:` only, on a host of `jobtracker.end-notification.targets`. `$jobId` and `$jobStatus` in it are replaced.";
    NOTIFICATION_RETRIES = "job.end.retry.attempts" ["mapreduce.job.end-notification.retry.attempts"], Number(Count, 0, INT), Some("0"),
        "Number of retries if the call fails, at most 9.";
    NOTIFICATION_RETRY_INTERVAL = "job.end.retry.interval" ["mapreduce.job.end-notification.retry.interval"],
        Number(Milliseconds, 0, INT), Some("30000"),
        "Time between retries; at least a second, at most an hour.";
    NOTIFICATION_TIMEOUT = "mapreduce.job.end-notification.timeout", Number(Milliseconds, 1, INT), Some("5000"),
        "Timeout of one call.";
    HISTORY_USER_LOCATION = "hadoop.job.history.user.location", Text, None,
        "Folder for the user's copy of the history, in `_logs/history` there. Unset: the output folder; `none`: no copy.";
    WORKING_DIR = "mapred.working.dir" ["mapreduce.job.working.dir"], Text, None,
        "Folder of the job's relative paths: its output folder may be one, for the user's copy of the history.";
    OUTPUT_DIR = "mapred.output.dir" ["mapreduce.output.fileoutputformat.outputdir"], FileSystemPath, None,
        "The output directory.";
    WORKFLOW_ID = "mapreduce.workflow.id", Text, Some(""), "Workflow: id, for the history.";
    WORKFLOW_NAME = "mapreduce.workflow.name", Text, Some(""), "Workflow: name, for the history.";
    WORKFLOW_NODE = "mapreduce.workflow.node.name", Text, Some(""), "Workflow: this job's node, for the history.";
    WORKFLOW_TAGS = "mapreduce.workflow.tags", Text, Some(""), "Workflow: tags, for the history.";
    SKIP_START_ATTEMPTS = "mapred.skip.attempts.to.start.skipping" ["mapreduce.task.skip.start.attempts"], Number(Count, 0, INT), Some("2"),
        "Number of failed attempts after which bad records are skipped.";
    SKIP_MAP_RECORDS = "mapred.skip.map.max.skip.records" ["mapreduce.map.skip.maxrecords"], Number(Count, 0, MOST), Some("0"),
        "Maximum number of records skipped around a bad one. 0: never skip.";
    SKIP_REDUCE_GROUPS = "mapred.skip.reduce.max.skip.groups" ["mapreduce.reduce.skip.maxgroups"], Number(Count, 0, MOST), Some("0"),
        "Maximum number of groups skipped around a bad one. 0: never skip.";
    CANCEL_DELEGATION_TOKENS = "mapreduce.job.complete.cancel.delegation.tokens", Flag, Some("true"),
        "Whether delegation tokens of this JobTracker in the job's credentials are cancelled at its end, where the daemon's user is their owner or renewer.";
}

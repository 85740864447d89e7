//! Keys that Hadoop 1.2.1 acts on and this program does not, with what happens instead. Keys of other programs, such as
//! `dfs.*`, are not in the tables.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::CAPACITY_OBSOLETE;

/// A name, or the begin of names that ends in `*`, and what happens instead.
pub(crate) type Entry = (&'static str, &'static str);

pub(crate) const OF_JOBTRACKER: &[Entry] = &[
    ("hadoop.security.group.mapping", "groups are those of this machine (`id`)"),
    ("hadoop.security.group.mapping.*", "groups are those of this machine (`id`)"),
    ("hadoop.security.auth_to_local", "user names are taken as they come: there is no Kerberos"),
    ("mapreduce.jobtracker.kerberos.*", "there is no Kerberos"),
    ("mapreduce.jobtracker.keytab.file", "there is no Kerberos"),
    ("hadoop.http.authentication.kerberos.*", "there is no Kerberos"),
    ("hadoop.http.authentication.cookie.*", "the cookie is of the host that sets it, for all its paths"),
    ("hadoop.rpc.socket.factory.class.*", "connections are plain TCP"),
    ("mapred.job.tracker.persist.jobstatus.dir", "state.db has what its files would have"),
    ("mapreduce.jobtracker.persist.jobstatus.dir", "state.db has what its files would have"),
    ("mapred.job.tracker.jobhistory.lru.cache.size", "history is read from state.db, not from parsed files"),
    ("mapreduce.jobtracker.jobhistory.lru.cache.size", "history is read from state.db, not from parsed files"),
    ("mapred.permissions.supergroup", "administrators are the daemon's user and mapreduce.cluster.administrators"),
    (
        "mapred.jobtracker.completeuserjobs.maximum",
        "mapred.job.tracker.retiredjobs.cache.size bounds ended jobs of all users",
    ),
    (
        "mapred.jobtracker.retirejob.*",
        "mapred.job.tracker.retiredjobs.cache.size bounds ended jobs, whatever their age",
    ),
    ("mapred.job.tracker.handler.count", "one thread answers all calls"),
    ("mapred.jobinit.threads", "jobs are set up without threads of their own"),
    ("mapreduce.jobtracker.instrumentation", "/metrics has the metrics, for Prometheus"),
    ("mapred.jobtracker.instrumentation", "/metrics has the metrics, for Prometheus"),
    ("mapreduce.jobtracker.plugins", "there are no plug-ins"),
    ("mapred.jobtracker.plugins", "there are no plug-ins"),
    ("mapred.jobtracker.nodegroup.aware", "levels above hosts are racks and what their paths name above them"),
    ("topology.node.switch.mapping.impl", "racks are those that topology.script.file.name prints"),
    ("net.topology.impl", "racks are paths of any depth; mapred.task.cache.levels says how many levels count"),
    (
        "mapred.jobtracker.taskScheduler.maxRunningTasksPerJob",
        "LimitTasksPerJobTaskScheduler is refused as a scheduler; maxMaps and maxReduces of a pool of the Fair scheduler limit jobs",
    ),
    ("mapred.jobtracker.jobSchedulable", "nothing reads it in 1.2.1 either"),
    (
        "mapreduce.job.split.metainfo.maxsize",
        "nothing reads it in 1.2.1 either: mapreduce.jobtracker.split.metainfo.maxsize is the limit",
    ),
    ("mapred.committer.job.setup.cleanup.needed", "setup and cleanup always run, as in 1.2.1"),
    ("mapreduce.job.dir", "the staging directory is the one that submitJob names"),
    ("mapreduce.workflow.adjacency.*", "not kept"),
    ("mapreduce.jobtracker.conf.version", "there is no JMX that would show it"),
    ("mapreduce.jobtracker.init.for.tests", "for tests of Hadoop's own"),
    ("mapreduce.jt.job.init.throw.exception.override", "for tests of Hadoop's own"),
    ("mapreduce.job.init.throw.exception", "for tests of Hadoop's own"),
    (
        "mapreduce.history.server.*",
        "there is no history server: `jobtracker job` and /scheduler show what state.db keeps",
    ),
    (
        "mapred.job.tracker.jobhistory.lru.cache.size",
        "no history files are read: `jobtracker job` and /scheduler show what state.db keeps",
    ),
    ("hadoop.security.token.service.use_ip", "there is no Kerberos: no token chooses a service"),
    ("hadoop.security.use-weak-http-crypto", "there is no Kerberos"),
    ("hadoop.kerberos.kinit.command", "there is no Kerberos"),
    ("hadoop.jetty.logs.serve.aliases", "the web server serves no log folder"),
    ("ipc.server.*", "jobtracker.rpc.* are the limits of connections and calls; one thread reads them"),
    ("ipc.client.idlethreshold", "jobtracker.rpc.max-connections says when idle connections are closed"),
    ("ipc.client.kill.max", "jobtracker.rpc.max-connections says when idle connections are closed"),
];

pub(crate) const OF_TASKTRACKER: &[Entry] = &[
    ("mapred.task.tracker.task-controller", "jobtracker.worker.run-as sets the user of commands"),
    ("mapreduce.tasktracker.group", "there is no task-controller"),
    ("mapred.healthChecker.*", "no health script runs; what goes wrong on the worker's disks is reported"),
    ("mapred.task.tracker.report.address", "tasks report inside the worker: there is no such port"),
    ("mapreduce.tasktracker.outofband.heartbeat", "a heartbeat is always sent when a task has ended"),
    ("mapred.tasktracker.memory_calculator_plugin", "memory is read from /proc"),
    ("mapred.tasktracker.dns.*", "the worker's name is slave.host.name, else that of the machine"),
    ("mapred.tasktracker.indexcache.mb", "indexes of map output are read from the disk"),
    ("tasktracker.http.threads", "one thread serves map output"),
    ("tasktracker.contention.tracking", "there is no lock to contend for"),
    ("mapred.reduce.child.log.level", "commands have no log level"),
    ("mapred.map.child.log.level", "commands have no log level"),
];

/// Whether a table has the name. Without a walk over the tables: a job sets hundreds of names.
#[must_use]
pub(crate) fn is_listed(name: &str) -> bool {
    fn patterns() -> impl Iterator<Item = &'static str> {
        OF_JOBTRACKER.iter().chain(OF_TASKTRACKER).map(|(pattern, _)| *pattern)
    }
    static NAMES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| patterns().collect());
    static BEGINS: LazyLock<Vec<&str>> =
        LazyLock::new(|| patterns().filter_map(|pattern| pattern.strip_suffix('*')).collect());
    NAMES.contains(name)
        || BEGINS.iter().any(|begin| name.starts_with(begin))
        || CAPACITY_OBSOLETE.iter().any(|(key, _)| is_of_queue(key, name))
}

#[must_use]
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// Whether `name` is a key in which `<queue>` may stand for a queue.
#[must_use]
pub(crate) fn is_of_queue(key: &str, name: &str) -> bool {
    match key.split_once("<queue>") {
        Some((head, tail)) => name.starts_with(head) && name.ends_with(tail) && name.len() > head.len() + tail.len(),
        None => key == name,
    }
}

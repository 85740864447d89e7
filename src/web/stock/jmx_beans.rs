//! The beans of a JobTracker, from one snapshot of the cluster and the numbers of this process.

use serde_json::{Value, json};

use crate::engine::{AttemptCounts, ClusterSnapshot, JobSnapshot, QueueSnapshot, TrackerSnapshot};
use crate::log::LoggedLines;
use crate::model::{PerKind, RunState};

use super::cluster::{QueueLines, Summary};
use super::java_text::{REVISION, VERSION};
use super::process::{OwnProcess, ProcessMemory};

const MIB: f64 = 1_048_576.0;
/// Running jobs are counted by how long they have run, minutes from and to.
const RUN_TIMES_MIN: [(i64, i64); 4] = [(0, 60), (60, 300), (300, 1_440), (1_440, i64::MAX)];

#[derive(Clone, Debug)]
pub(super) struct Bean {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) attributes: Vec<(String, Value)>,
}

impl Bean {
    fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Bean { name: name.into(), kind: kind.into(), attributes: Vec::new() }
    }

    fn of_jobtracker(kind: &str) -> Self {
        Self::new(format!("Hadoop:service=JobTracker,name={kind}"), kind)
    }

    #[must_use]
    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.attributes.push((name.to_owned(), value.into()));
        self
    }
}

/// All beans. `host`: of the JobTracker's address; `machine`: the name of this machine.
pub(super) fn beans(overview: &ClusterSnapshot, host: &str, machine: &str, shows_money: bool) -> Vec<Bean> {
    let process = OwnProcess::now();
    let mut beans = vec![
        info(overview, host, &process, shows_money),
        metrics(overview, machine),
        jvm(&process, machine),
        memory(&process),
        Bean::new("java.lang:type=Runtime", "sun.management.RuntimeImpl")
            .with("StartTime", overview.start_ms)
            .with("Uptime", overview.at_ms.saturating_sub(overview.start_ms))
            .with("VmName", "jobtracker")
            .with("Name", format!("{}@{machine}", std::process::id())),
        Bean::new("java.lang:type=Threading", "sun.management.ThreadImpl").with("ThreadCount", process.threads),
    ];
    beans.extend(overview.queues.iter().map(|queue| of_queue(overview, queue, machine)));
    beans
}

fn info(overview: &ClusterSnapshot, host: &str, process: &OwnProcess, shows_money: bool) -> Bean {
    let summary = Summary::of(overview);
    let nodes = |is: fn(&&TrackerSnapshot) -> bool, of: &dyn Fn(&TrackerSnapshot) -> Value| {
        Value::from(overview.trackers.iter().filter(is).map(of).collect::<Vec<_>>()).to_string()
    };
    let seen_ms = |tracker: &TrackerSnapshot| overview.at_ms.saturating_sub_unsigned(tracker.silent_ms);
    let alive = |tracker: &TrackerSnapshot| {
        json!({
            "hostname": tracker.host,
            "last_seen": seen_ms(tracker),
            "health": if tracker.healthy { "OK" } else { "" },
            "slots": slots(tracker.slots, tracker.running),
            "failures": tracker.reported.task_failures,
            "dir_failures": tracker.reported.dir_failures,
        })
    };
    let listed = |tracker: &TrackerSnapshot| json!({ "hostname": tracker.host, "last_seen": seen_ms(tracker), "reason": tracker.complaints });
    let queues = QueueLines::all(overview, shows_money).into_iter().map(|queue| {
        let QueueLines { name, state, info } = queue;
        (name, json!({ "state": state, "info": info.join("\n") }))
    });
    let all = json!({
        "nodes": overview.trackers.len(),
        "alive": summary.nodes,
        "blacklisted": summary.blacklisted,
        "graylisted": summary.graylisted,
        "slots": slots(overview.slots, overview.running),
        "jobs": summary.submissions,
    });
    Bean::new("Hadoop:service=JobTracker,name=JobTrackerInfo", "org.apache.hadoop.mapred.JobTracker")
        .with("Version", format!("{VERSION}, r{REVISION}"))
        .with("Hostname", host)
        .with("ConfigVersion", "default")
        .with("ThreadCount", process.threads)
        .with("SummaryJson", all.to_string())
        .with("AliveNodesInfoJson", nodes(|tracker| tracker.healthy, &alive))
        .with("BlacklistedNodesInfoJson", nodes(|tracker| !tracker.healthy, &listed))
        .with("GraylistedNodesInfoJson", nodes(|tracker| tracker.graylisted, &listed))
        .with("QueueInfoJson", Value::from(queues.collect::<serde_json::Map<_, _>>()).to_string())
}

fn slots(all: PerKind<u32>, used: PerKind<u32>) -> Value {
    json!({
        "map_slots": all.map,
        "map_slots_used": used.map,
        "reduce_slots": all.reduce,
        "reduce_slots_used": used.reduce,
    })
}

/// The numbers of the bean of the JobTracker, without its tags.
pub(super) fn numbers_of_jobtracker(overview: &ClusterSnapshot) -> serde_json::Map<String, Value> {
    metrics(overview, "").attributes.into_iter().filter(|(name, _)| !name.starts_with("tag.")).collect()
}

fn metrics(overview: &ClusterSnapshot, machine: &str) -> Bean {
    let summary = Summary::of(overview);
    let without = |is: fn(&&TrackerSnapshot) -> bool| {
        let trackers = overview.trackers.iter().filter(is);
        trackers.fold((0_u64, 0_u64), |(maps, reduces), tracker| {
            (maps + u64::from(tracker.listed_slots.map), reduces + u64::from(tracker.listed_slots.reduce))
        })
    };
    let (blacklisted_maps, blacklisted_reduces) = without(|tracker| !tracker.healthy);
    let bean = Bean::of_jobtracker("JobTrackerMetrics")
        .with("tag.context", "mapred")
        .with("tag.sessionId", "")
        .with("tag.hostName", machine)
        .with("map_slots", overview.slots.map)
        .with("reduce_slots", overview.slots.reduce)
        .with("blacklisted_maps", blacklisted_maps)
        .with("blacklisted_reduces", blacklisted_reduces);
    counted(bean, &overview.attempt_counts)
        .with("waiting_maps", overview.waiting.map)
        .with("waiting_reduces", overview.waiting.reduce)
        .with("reserved_map_slots", summary.reserved.map)
        .with("reserved_reduce_slots", summary.reserved.reduce)
        .with("occupied_map_slots", summary.occupied.map)
        .with("occupied_reduce_slots", summary.occupied.reduce)
        .with("jobs_preparing", overview.preparing_jobs)
        .with("jobs_running", overview.running_jobs)
        .with("running_maps", summary.running.map)
        .with("running_reduces", summary.running.reduce)
        .with("trackers", overview.trackers.len())
        .with("trackers_blacklisted", summary.blacklisted)
        .with("trackers_graylisted", summary.graylisted)
        .with("trackers_decommissioned", summary.excluded)
        .with("heartbeats", overview.heartbeats)
}

/// What was counted since the start.
fn counted(bean: Bean, counts: &AttemptCounts) -> Bean {
    let [submitted, completed, failed, killed] = counts.jobs;
    bean.with("maps_launched", counts.launched.map)
        .with("maps_completed", counts.completed.map)
        .with("maps_failed", counts.failed.map)
        .with("maps_killed", counts.killed.map)
        .with("reduces_launched", counts.launched.reduce)
        .with("reduces_completed", counts.completed.reduce)
        .with("reduces_failed", counts.failed.reduce)
        .with("reduces_killed", counts.killed.reduce)
        .with("jobs_submitted", submitted)
        .with("jobs_completed", completed)
        .with("jobs_failed", failed)
        .with("jobs_killed", killed)
}

fn of_queue(overview: &ClusterSnapshot, queue: &QueueSnapshot, machine: &str) -> Bean {
    let jobs = || overview.all_jobs().filter(|job| job.queue == queue.name);
    let in_state = |state: RunState| jobs().filter(|job| job.state == state).count();
    let name = format!("Hadoop:service=JobTracker,name=QueueMetrics,q={}", quoted(&queue.name));
    let bean = Bean::new(name, format!("QueueMetrics,q={}", queue.name))
        .with("tag.context", "mapred")
        .with("tag.sessionId", "")
        .with("tag.Queue", queue.name.as_str())
        .with("tag.hostName", machine);
    let bean = counted(bean, &queue.attempt_counts)
        .with("waiting_maps", queue.waiting.map)
        .with("waiting_reduces", queue.waiting.reduce)
        .with("reserved_map_slots", jobs().map(|job| u64::from(job.live.reserved.map)).sum::<u64>())
        .with("reserved_reduce_slots", jobs().map(|job| u64::from(job.live.reserved.reduce)).sum::<u64>())
        .with("jobs_preparing", in_state(RunState::Prep))
        .with("jobs_running", in_state(RunState::Running));
    RUN_TIMES_MIN.into_iter().fold(bean, |bean, (from_min, to_min)| {
        let has_run = |job: &&JobSnapshot| {
            let minutes = overview.at_ms.saturating_sub(job.submit_ms) / 60_000;
            job.state == RunState::Running && (from_min..to_min).contains(&minutes)
        };
        bean.with(&format!("running_{from_min}"), jobs().filter(has_run).count())
    })
}

/// A value of a name without what ends it.
fn quoted(name: &str) -> String {
    name.replace([',', '=', ':', '"', '*', '?', '\n'], "_")
}

fn jvm(process: &OwnProcess, machine: &str) -> Bean {
    let used = process.memory.used_bytes as f64 / MIB;
    let lines = LoggedLines::now();
    Bean::of_jobtracker("jvm")
        .with("tag.context", "jvm")
        .with("tag.processName", "JobTracker")
        .with("tag.sessionId", "")
        .with("tag.hostName", machine)
        .with("memNonHeapUsedM", 0.0)
        .with("memNonHeapCommittedM", 0.0)
        .with("memHeapUsedM", used)
        .with("memHeapCommittedM", used)
        .with("gcCount", 0)
        .with("gcTimeMillis", 0)
        .with("threadsNew", 0)
        .with("threadsRunnable", process.running_threads)
        .with("threadsBlocked", 0)
        .with("threadsWaiting", process.threads.saturating_sub(process.running_threads))
        .with("threadsTimedWaiting", 0)
        .with("threadsTerminated", 0)
        .with("logFatal", 0)
        .with("logError", lines.errors)
        .with("logWarn", lines.warnings)
        .with("logInfo", lines.notices)
}

fn memory(process: &OwnProcess) -> Bean {
    let ProcessMemory { used_bytes, all_bytes } = process.memory;
    let sizes = |used: u64, max: i64| json!({ "committed": used, "init": 0, "max": max, "used": used });
    Bean::new("java.lang:type=Memory", "sun.management.MemoryImpl")
        .with("ObjectPendingFinalizationCount", 0)
        .with("HeapMemoryUsage", sizes(used_bytes, i64::try_from(all_bytes).unwrap_or(i64::MAX)))
        .with("NonHeapMemoryUsage", sizes(0, -1))
        .with("Verbose", false)
        .with("ObjectName", "java.lang:type=Memory")
}

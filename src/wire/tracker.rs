//! A tracker's status.

use super::fields::fields;
use super::limits::{HEALTH_REPORT_BYTES, HEARTBEAT_REPORTS, HOST_NAME_BYTES, TRACKER_NAME_BYTES};
use super::{Decode, Encode, Reader, TaskStatus, Text, WireError, Writer};

/// The status in each heartbeat (1.2.1 `TaskTrackerStatus`).
#[derive(Clone, Debug, PartialEq)]
pub struct TaskTrackerStatus {
    /// `tracker_<host>:<rpc host>/<rpc ip>:<rpc port>`; an opaque key.
    pub name: Text,
    /// The host name for topology, node lists and locality.
    pub host: Text,
    /// Port of its web server, which also serves map outputs.
    pub http_port: i32,
    /// Tasks that failed on it since it started.
    pub task_failures: i32,
    /// Local directories that failed.
    pub dir_failures: i32,
    /// Map slots.
    pub max_map_slots: i32,
    /// Reduce slots.
    pub max_reduce_slots: i32,
    /// Memory, space and CPU.
    pub resources: ResourceStatus,
    /// One report for each attempt it holds or that has just ended there.
    pub tasks: Vec<TaskStatus>,
    /// The result of its health script.
    pub health: HealthStatus,
}

/// Resources of a tracker; -1 = unknown. Sent only when it accepts tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceStatus {
    /// Bytes.
    pub total_virtual_bytes: i64,
    /// Bytes.
    pub total_physical_bytes: i64,
    /// Bytes.
    pub available_virtual_bytes: i64,
    /// Bytes.
    pub available_physical_bytes: i64,
    /// Bytes of one map slot.
    pub map_slot_bytes: i64,
    /// Bytes of one reduce slot.
    pub reduce_slot_bytes: i64,
    /// Free bytes of its local directories.
    pub available_space_bytes: i64,
    /// CPU time used, ms.
    pub cumulative_cpu_ms: i64,
    /// Clock, kHz.
    pub cpu_khz: i64,
    /// Processors.
    pub processors: i32,
    /// Percent.
    pub cpu_percent: f32,
}

impl ResourceStatus {
    /// Resources of a tracker that knows only the free bytes of its local directories; -1 for unknown.
    pub const fn of_space(available_space_bytes: i64) -> Self {
        Self {
            total_virtual_bytes: -1,
            total_physical_bytes: -1,
            available_virtual_bytes: -1,
            available_physical_bytes: -1,
            map_slot_bytes: -1,
            reduce_slot_bytes: -1,
            available_space_bytes,
            cumulative_cpu_ms: -1,
            cpu_khz: -1,
            processors: -1,
            cpu_percent: -1.0,
        }
    }
}

/// The result of the node health script (1.2.1 `TaskTrackerHealthStatus`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthStatus {
    /// False = launch nothing on it.
    pub healthy: bool,
    /// The reason.
    pub report: Text,
    /// When, epoch ms; 0 = never.
    pub last_reported_ms: i64,
}

impl HealthStatus {
    /// The SHA-256 of the secret of a built-in worker's beats, hex digits; none if it says none.
    pub(crate) fn beat_digest(&self) -> Option<&str> {
        let mut words = self.report.split_ascii_whitespace();
        words.find_map(|word| word.strip_prefix(BEAT_DIGEST)).filter(|digest| digest.len() == 64)
    }

    /// What a built-in worker lacks; empty: nothing.
    pub(crate) fn lack(&self) -> &str {
        self.report.find(LACKS).map_or("", |at| &self.report[at + LACKS.len()..])
    }
}

/// Begins the health report of the first heartbeat of a built-in worker that has cleared up after killed ones; their names follow.
pub(crate) const REPLACES: &str = "replaces ";

/// Begins the word in a built-in worker's health report that is followed by the SHA-256 of the secret of its beats, 64
/// lower-case hex digits. It stands behind what else the report says.
pub const BEAT_DIGEST: &str = "beat=";

/// Begins what a built-in worker lacks, at the end of its health report, also of one that still takes work.
pub(crate) const LACKS: &str = "lacks: ";

/// The health report of a built-in worker's last heartbeat.
pub(crate) const SIGNED_OFF: &str = "signed off";

/// Part of the names of trackers that run only Hadoop Streaming, where stock ones have the host of their RPC server: no
/// host has this name, and no other JobTracker reads it.
pub(crate) const STREAMING_ONLY: &str = "streaming_only";

/// Whether a tracker of that name runs only Hadoop Streaming.
pub(crate) fn runs_streaming_only(tracker: &str) -> bool {
    given_name(tracker).is_some()
}

/// The name by which administrators know a worker: the one it was given, which follows [`STREAMING_ONLY`] behind a dot, else the
/// name of its tracker. 1.2.1 reads no more of that than the host before the colon.
pub(crate) fn worker_name(tracker: &str) -> &str {
    given_worker_name(tracker).unwrap_or(tracker)
}

/// The name that the worker of a tracker was given (`--name`), if it was given one.
pub(crate) fn given_worker_name(tracker: &str) -> Option<&str> {
    given_name(tracker).filter(|name| !name.is_empty())
}

/// The name that a built-in worker was given; empty if none was.
fn given_name(tracker: &str) -> Option<&str> {
    let (_, rest) = tracker.split_once(':')?;
    let rest = rest.split('/').next()?.strip_prefix(STREAMING_ONLY)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

impl Decode for TaskTrackerStatus {
    const MIN_BYTES: usize = 50;

    /// Drops reports on foreign attempts: no tracker got those from this JobTracker. Names that are too long keep one
    /// byte more than their limit, so that the check of the limit refuses them.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            name: reader.text_cut(TRACKER_NAME_BYTES + 1, "name of the tracker")?,
            host: reader.text_cut(HOST_NAME_BYTES + 1, "host of the tracker")?,
            http_port: reader.i32("HTTP port of the tracker")?,
            task_failures: reader.i32("failed tasks of the tracker")?,
            dir_failures: reader.i32("failed directories of the tracker")?,
            max_map_slots: reader.i32("map slots of the tracker")?,
            max_reduce_slots: reader.i32("reduce slots of the tracker")?,
            resources: ResourceStatus::decode(reader)?,
            tasks: decode_reports(reader)?,
            health: HealthStatus::decode(reader)?,
        })
    }
}

fn decode_reports(reader: &mut Reader<'_>) -> Result<Vec<TaskStatus>, WireError> {
    let start = reader.clone();
    let count = reader.i32("number of reports")?;
    let count = reader.count(count, 1 + TaskStatus::MIN_BYTES, "number of reports")?;
    // Before any is decoded: so many would delay other calls.
    start.check_limit(count, HEARTBEAT_REPORTS, "number of reports")?;
    let mut reports = Vec::with_capacity(count);
    for _ in 0..count {
        let kind = reader.kind("kind of a report")?;
        reports.extend(TaskStatus::decode_known(kind, reader)?);
    }
    Ok(reports)
}

impl Encode for TaskTrackerStatus {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.text(&self.name);
        writer.text(&self.host);
        writer.i32(self.http_port);
        writer.i32(self.task_failures);
        writer.i32(self.dir_failures);
        writer.i32(self.max_map_slots);
        writer.i32(self.max_reduce_slots);
        self.resources.encode(writer);
        writer.count(self.tasks.len());
        for report in &self.tasks {
            writer.kind(report.kind());
            report.encode_as(report.kind(), writer);
        }
        self.health.encode(writer);
    }
}

fields! {
    ResourceStatus, 14;
    total_virtual_bytes: vlong "total virtual memory",
    total_physical_bytes: vlong "total physical memory",
    available_virtual_bytes: vlong "available virtual memory",
    available_physical_bytes: vlong "available physical memory",
    map_slot_bytes: vlong "memory of a map slot",
    reduce_slot_bytes: vlong "memory of a reduce slot",
    available_space_bytes: vlong "available space",
    cumulative_cpu_ms: vlong "cumulative CPU time",
    cpu_khz: vlong "CPU frequency",
    processors: vint "number of processors",
    cpu_percent: f32 "CPU usage",
}

impl Decode for HealthStatus {
    const MIN_BYTES: usize = 10;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            healthy: reader.bool("health of the tracker")?,
            report: reader.text_cut(HEALTH_REPORT_BYTES, "health report")?,
            last_reported_ms: reader.i64("time of the health report")?,
        })
    }
}

impl Encode for HealthStatus {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bool(self.healthy);
        writer.text(&self.report);
        writer.i64(self.last_reported_ms);
    }
}

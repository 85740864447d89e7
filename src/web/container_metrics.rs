//! Metrics of applications and their containers. Their labels have few values, however many applications there are.

use std::fmt;
use std::time::Duration;

use crate::engine::{ContainersSnapshot, EndClass};

use super::metrics_format::MetricWriter;

const MB: u64 = 1 << 20;

/// Writes them. `waiting_calls`: requests that wait for news.
pub(super) fn write_containers(
    writer: &mut MetricWriter<'_>,
    snapshot: &ContainersSnapshot,
    waiting_calls: u64,
) -> fmt::Result {
    let tallies = &snapshot.tallies;
    let by_state = |states, counts| std::iter::zip(states, counts).map(|(state, count)| ([("state", state)], count));
    writer.gauges(
        "jobtracker_applications",
        "Applications that have not ended",
        std::iter::zip(["accepted", "running"], tallies.unfinished).map(|(state, count)| ([("state", state)], count)),
    )?;
    writer.counter("jobtracker_applications_submitted", "Applications submitted", tallies.submitted)?;
    let ended = by_state(["finished", "failed", "killed"], tallies.ended);
    writer.counters("jobtracker_applications_ended", "Applications that ended", ended)?;
    let live = by_state(["not_launched", "launching", "running"], tallies.live);
    writer.gauges("jobtracker_containers", "Live containers", live)?;
    writer.counter("jobtracker_containers_granted", "Containers granted", tallies.granted)?;
    let ends = std::iter::zip(EndClass::ALL, tallies.container_ends);
    writer.counters(
        "jobtracker_containers_ended",
        "Containers that ended, by what ended them",
        ends.map(|(class, count)| ([("by", class.name())], count)),
    )?;
    writer.gauge(
        "jobtracker_containers_waiting",
        "Containers that applications want and do not have, items among them",
        snapshot.waiting,
    )?;
    writer.gauge("jobtracker_container_workers", "Workers that take containers", snapshot.workers)?;
    let declared = snapshot.declared_memory_mb.saturating_mul(MB);
    writer.gauge(
        "jobtracker_container_declared_bytes",
        "Memory that workers declare for all that they run",
        declared,
    )?;
    writer.gauge(
        "jobtracker_container_declared_cores",
        "Cores that workers declare for all that they run",
        snapshot.declared_vcores,
    )?;
    let held = tallies.held_memory_mb.saturating_mul(MB);
    writer.gauge("jobtracker_container_held_bytes", "Memory of live containers", held)?;
    write_use(writer, snapshot)?;
    writer.gauge("jobtracker_container_held_cores", "Cores of live containers", tallies.held_vcores)?;
    writer.gauge("jobtracker_container_held_slots", "Slots that live containers stand for", snapshot.held_slots)?;
    writer.counter("jobtracker_container_beats", "Beats of workers about their containers", tallies.beats)?;
    writer.gauge("jobtracker_application_calls_waiting", "Requests that wait for news of an application", waiting_calls)
}

/// What live containers, and attempts of built-in tasktrackers, use.
fn write_use(writer: &mut MetricWriter<'_>, snapshot: &ContainersSnapshot) -> fmt::Result {
    let by = |of| [("by", of)];
    let seconds = |ms| Duration::from_millis(ms).as_secs_f64();
    let (of_containers, of_attempts) = (&snapshot.container_use, &snapshot.attempt_use);
    writer.gauges(
        "jobtracker_used_bytes",
        "Memory that live containers and attempts of built-in tasktrackers use",
        [
            (by("containers"), of_containers.memory_mb.saturating_mul(MB)),
            (by("attempts"), of_attempts.memory_mb.saturating_mul(MB)),
        ],
    )?;
    writer.gauges(
        "jobtracker_used_cpu_seconds",
        "CPU time that live containers and attempts of built-in tasktrackers have used",
        [(by("containers"), seconds(of_containers.cpu_ms)), (by("attempts"), seconds(of_attempts.cpu_ms))],
    )
}

//! Metrics of the daemon's own work: times of heartbeats, commits and requests, reloads, and limits.

use std::fmt;
use std::sync::Arc;

use crate::latency::{LATENCY_BOUNDS_US, LatencyCounts};
use crate::views::Views;

use super::metrics_format::{HistogramValues, MetricWriter};
use super::owner::{OwnWork, UsedLimit};

#[derive(Debug, Default)]
pub(super) struct WorkMetrics {
    /// None where there is no daemon.
    pub(super) own: Option<OwnWork>,
    /// Route, status and times of requests.
    pub(super) requests: Vec<(Arc<str>, u16, LatencyCounts)>,
    /// Connections of HTTP, and the most; none where that is unknown.
    pub(super) http_connections: Option<(u64, u64)>,
}

impl WorkMetrics {
    pub(super) fn write(&self, writer: &mut MetricWriter<'_>, views: &Views) -> fmt::Result {
        let requests = self
            .requests
            .iter()
            .map(|(route, code, times)| ([("code", code.to_string()), ("route", route.to_string())], histogram(times)));
        writer.histograms(
            "jobtracker_http_request_seconds",
            "Time from a request to the beginning of its answer, by route and status",
            requests,
        )?;
        let Some(own) = &self.own else { return Ok(()) };
        let help = "Time from the frame of a heartbeat to its answer, the commit of its facts included";
        writer.histogram("jobtracker_heartbeat_seconds", help, &histogram(&own.heartbeats))?;
        let help = "How long commits of facts to state.db took";
        writer.histogram("jobtracker_fact_commit_seconds", help, &histogram(&own.commits))?;
        writer.gauge("jobtracker_facts_waiting", "Facts that are not durable yet", own.facts_waiting)?;
        let reloads = [([("result", "done")], own.reloads_done), ([("result", "failed")], own.reloads_failed)];
        writer.counters("jobtracker_reloads", "Reloads of the configuration", reloads)?;
        let ratios = self.limits(own, views).map(|limit| ([("limit", limit.name)], limit.ratio()));
        writer.gauges("jobtracker_limit_used_ratio", "How far a limit is used, 0 to 1", ratios)
    }

    fn limits<'a>(&self, own: &'a OwnWork, views: &Views) -> impl Iterator<Item = UsedLimit> + use<'a> {
        let http = self.http_connections.map(|(used, most)| UsedLimit { name: "http_connections", used, most });
        let tasks = own.max_tasks.map(|most| UsedLimit { name: "tasks", used: views.unfinished_tasks(), most });
        own.limits.iter().copied().chain(http).chain(tasks)
    }
}

fn histogram(times: &LatencyCounts) -> HistogramValues {
    let bounds = LATENCY_BOUNDS_US.into_iter().map(|bound_us| bound_us as f64 / 1e6).chain([f64::INFINITY]);
    (times.sum_us() as f64 / 1e6, times.count(), bounds.zip(*times.classes()).collect())
}

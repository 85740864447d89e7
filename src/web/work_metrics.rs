//! Metrics of the daemon's own work: times of heartbeats, commits and requests (until their answers begin, by route and status), reloads, and limits.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Response, StatusCode};
use axum::middleware::Next;
use tokio::time::Instant;

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

/// Most pairs of a route and a status that are counted apart; the others are one for each status.
const MOST_PAIRS: usize = 500;
/// What has no route, and routes beyond the limit.
const OTHERS: &str = "_other";

/// The counts of one server. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestTimes(Arc<Mutex<Counts>>);

/// By the pattern of the route and the status.
type Counts = BTreeMap<(Arc<str>, u16), LatencyCounts>;

impl RequestTimes {
    fn add(&self, route: &str, status: StatusCode, begun: Instant) {
        let taken = begun.elapsed();
        let mut counts = self.counts();
        let of = |route: &str| (Arc::from(route), status.as_u16());
        let place = match of(route) {
            place if counts.len() < MOST_PAIRS || counts.contains_key(&place) => place,
            _ => of(OTHERS),
        };
        counts.entry(place).or_default().add(taken);
    }

    /// All counts now: route, status, times.
    pub(super) fn read(&self) -> Vec<(Arc<str>, u16, LatencyCounts)> {
        self.counts().iter().map(|((route, status), times)| (route.clone(), *status, *times)).collect()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        // No panic leaves them half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a request, whatever becomes of it, and lets its handler read the counts.
pub(super) async fn count_request(
    State(times): State<RequestTimes>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let begun = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(times.clone());
    let answer = next.run(request).await;
    times.add(route.as_ref().map_or(OTHERS, MatchedPath::as_str), answer.status(), begun);
    answer
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    #[tokio::test]
    async fn a_request_is_one_of_its_route_and_status_however_many_addresses_there_are() {
        let times = RequestTimes::default();
        let answer = async |path: axum::extract::Path<u32>| StatusCode::from_u16(path.0 as u16).unwrap();
        let router = Router::new()
            .route("/jobs/{job}", get(answer))
            .fallback(|| async { StatusCode::NOT_FOUND })
            .layer(from_fn_with_state(times.clone(), count_request));
        for path in ["/jobs/200", "/jobs/200?x=1", "/jobs/201", "/nowhere", "/nowhere/else"] {
            let request = Request::builder().uri(path).body(Body::empty()).unwrap();
            TowerToHyperService::new(router.clone()).call(request).await.unwrap();
        }
        let counts: Vec<_> =
            times.read().into_iter().map(|(route, code, times)| (route.to_string(), code, times.count())).collect();
        let expected = [("/jobs/{job}", 200, 2), ("/jobs/{job}", 201, 1), ("_other", 404, 2)];
        assert_eq!(counts, expected.map(|(route, code, count)| (route.to_owned(), code, count)));
    }

    #[test]
    fn pairs_without_end_are_one_for_each_status() {
        let times = RequestTimes::default();
        let begun = Instant::now();
        (0..2 * MOST_PAIRS).for_each(|number| times.add(&format!("/{number}"), StatusCode::OK, begun));
        let counts = times.read();
        assert_eq!(counts.len(), MOST_PAIRS + 1);
        let others = counts.iter().find(|(route, ..)| &**route == OTHERS).unwrap();
        assert_eq!(others.2.count(), MOST_PAIRS as u64);
    }
}

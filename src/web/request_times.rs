//! How long requests took until their answers began, by route and status.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Response, StatusCode};
use axum::middleware::Next;
use tokio::time::Instant;

use crate::latency::LatencyCounts;

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

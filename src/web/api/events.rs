//! `/api/v1/events`: what has changed since the look before, once a second while somebody reads.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Response, Uri};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::api::Decision;
use crate::http::{Peer, RequestPlace};
use crate::views::{ApplicationView, JobView, LookAt, Views};

use super::super::applications::{PathParts, Problem, ProblemName, QueryParameters};
use super::super::identify::{stranger, viewer_of_program, viewer_of_session};
use super::super::owner::Owner;
use super::super::state::{ANSWER_TIMEOUT, WebState};
use super::super::viewer::decisions;
use super::ask::{Ask, refused_bearer};
use super::cluster::cluster_of;
use super::streams::{StreamNews, StreamQuery, Topic};
use super::work::{application_row, job_row, of_kind, reported_jobs};

/// Time between two looks at what is shown.
const INTERVAL: Duration = Duration::from_secs(1);
/// Most rows of one look: of more changes readers fetch the list again.
const MOST_ROWS: usize = 50;

/// Answers `/events`.
pub(super) async fn events<O: Owner>(web: &Arc<WebState<O>>, head: &Parts) -> Result<Response<Body>, Problem> {
    let mut parameters = QueryParameters::of(&head.uri);
    let wanted = StreamQuery::read(&mut parameters);
    parameters.end()?;
    let reader = viewer_of_program(web, &head.headers, head.extensions.get()).await.map_err(refused_bearer)?;
    let unavailable = |why: &str| Problem::new(ProblemName::Unavailable, why);
    let shown = timeout(ANSWER_TIMEOUT, web.owner.shown(LookAt::OfLate)).await.ok().and_then(Result::ok);
    let shown = shown.ok_or_else(|| unavailable("the JobTracker starts or stops"))?;
    let run = shown.overview.start_ms;
    let hello = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "run": run,
        "generation": shown.generation.to_string(),
        "interval_ms": INTERVAL.as_millis() as u64,
    });
    let last = head.headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let from = (head.extensions.get::<Peer>().copied(), head.extensions.get::<RequestPlace>());
    let entered = web.streams.enter((run, &hello), last, reader, wanted, from);
    let all_taken = || unavailable("all places for streams are taken: poll instead").with_try("/api/v1/jobs");
    let (body, is_first) = entered.ok_or_else(all_taken)?;
    if is_first {
        tokio::spawn(look_on(web.clone(), shown.views));
    }
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// Looks at what is shown as long as there are readers; `before`: what the first of them knows.
async fn look_on<O: Owner>(web: Arc<WebState<O>>, mut before: Views) {
    let uri = Uri::from_static("/");
    let (mut cluster, mut run) = (Value::Null, 0);
    loop {
        end_sessions(&web).await;
        let shown = timeout(ANSWER_TIMEOUT, web.owner.shown(LookAt::OfLate)).await.ok().and_then(Result::ok);
        let news = shown.map(|shown| {
            run = shown.overview.start_ms;
            let mut ask = Ask { web: &*web, uri: &uri, parts: PathParts::default(), viewer: stranger(&web), shown };
            let mut news = news_of_all(&ask, &before, &mut cluster);
            for class in web.streams.classes() {
                ask.viewer = class;
                news.extend(changed_rows(&ask, &before));
                news.extend(new_decisions(&ask, &before));
            }
            before = ask.shown.views;
            news
        });
        if !web.streams.publish(run, news.unwrap_or_default()) {
            return;
        }
        sleep(INTERVAL).await;
    }
}

/// Ends the streams of sessions that are over, or whose users have other keys or roles by now.
async fn end_sessions<O: Owner>(web: &WebState<O>) {
    for (session, viewer) in web.streams.sessions() {
        if viewer_of_session(web, &session).await.as_ref() != Some(&viewer) {
            web.streams.end_session(&session);
        }
    }
}

/// What has changed that is the same for all readers.
fn news_of_all<O: Owner>(ask: &Ask<'_, O>, before: &Views, cluster: &mut Value) -> Vec<StreamNews> {
    let mut news = Vec::new();
    let now = cluster_of(ask);
    if *cluster != now {
        news.push(StreamNews { name: "cluster", class: None, topic: Topic::Cluster, of: None, data: now.clone() });
        *cluster = now;
    }
    if let Some(tick) = ask.shown.views.market().tick().filter(|tick| before.market().tick() != Some(*tick)) {
        let data = json!({ "tick": tick.number, "time_ms": tick.at_ms, "price": tick.price });
        news.push(StreamNews { name: "tick", class: None, topic: Topic::Market, of: None, data });
    }
    news
}

/// Decisions that are later than those before, as the viewer sees them.
fn new_decisions<O: Owner>(ask: &Ask<'_, O>, before: &Views) -> Vec<StreamNews> {
    let class = Arc::new(ask.viewer.clone());
    let news = |name, of, data| StreamNews { name, class: Some(class.clone()), topic: Topic::Decisions, of, data };
    let last = before.decisions().next_back().map_or(0, |(number, _)| number.0);
    let newest_first = decisions(&ask.shown.views, &ask.viewer);
    let found: Vec<Decision> = newest_first.take_while(|decision| decision.number > last).take(MOST_ROWS + 1).collect();
    if found.len() > MOST_ROWS {
        return vec![news("reset", None, json!({ "topic": "decisions" }))];
    }
    let rows = found.iter().rev().map(|decision| {
        let of = decision.job.map(|job| job.to_string());
        news("decision", of, serde_json::to_value(decision).unwrap_or_default())
    });
    rows.collect()
}

/// Rows of jobs and applications that are others than before, as the viewer sees them.
fn changed_rows<O: Owner>(ask: &Ask<'_, O>, before: &Views) -> Vec<StreamNews> {
    let views = &ask.shown.views;
    let class = Arc::new(ask.viewer.clone());
    let news = |name, topic, of, data| StreamNews { name, class: Some(class.clone()), topic, of, data };
    let reported = reported_jobs(&ask.shown);
    let is_other = |job: &&Arc<JobView>| {
        let was = before.job(job.id());
        was.is_none_or(|was| !Arc::ptr_eq(was, job)) || before.shown_end(job) != views.shown_end(job)
    };
    let jobs = views.jobs().filter(is_other).take(MOST_ROWS + 1).map(|job| {
        let row = job_row(ask, job, reported.get(&job.id()).copied());
        news("job", Topic::Jobs, Some(job.id().to_string()), row)
    });
    let is_other = |application: &&Arc<ApplicationView>| {
        before.application(application.id()).is_none_or(|was| !Arc::ptr_eq(was, application))
    };
    let applications = views.applications().filter(is_other).take(MOST_ROWS + 1).map(|application| {
        let row = of_kind("application", application_row(ask, application));
        news("application", Topic::Jobs, Some(application.id().to_string()), row)
    });
    let rows: Vec<StreamNews> = jobs.chain(applications).collect();
    match rows.len() {
        ..=MOST_ROWS => rows,
        _ => vec![news("reset", Topic::Jobs, None, json!({ "topic": "jobs" }))],
    }
}

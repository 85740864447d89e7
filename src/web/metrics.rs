//! `/metrics`: the cluster in numbers, from one snapshot.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Extensions, Response, StatusCode};
use axum::response::IntoResponse as _;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;
use tokio::time::timeout;

use crate::api::WorkerCounts;
use crate::engine::{ClusterSnapshot, ContainersSnapshot, EndClass, QueueSnapshot};
use crate::http::RequestPlace;
use crate::model::{Credits, Kind, PerKind};
use crate::process_stat::ProcessStat;
use crate::views::{LookAt, Shown};

use super::cluster_view::ClusterView;
use super::metrics_format::{MetricWriter, MetricsFormat, kind_name};
use super::owner::{Health, MarketPresence, Owner};
use super::page_user::PageUser;
use super::pool_metrics::write_pools;
use super::request_body::form_fields;
use super::response;
use super::response::fresh;
use super::signed_request::HttpRequest;
use super::state::{ANSWER_TIMEOUT, WebState};
use super::stock::{check_instrumentation, metrics_as_json};
use super::view_metrics::ViewMetrics;
use super::work_metrics::RequestTimes;
use super::work_metrics::WorkMetrics;
use super::worker_health::WorkerHealth;

pub(super) async fn metrics<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    extensions: Extensions,
    request: HttpRequest,
) -> Response<Body> {
    let HttpRequest { uri, headers, user, .. } = request;
    let user = user.as_ref().map_or("", |PageUser(user)| user);
    if let Err(refusal) = check_instrumentation(&state, user).await {
        return refusal.into_response();
    }
    let fields = form_fields(uri.query().unwrap_or_default().as_bytes()).unwrap_or_default();
    if fields.get("format").is_some_and(|format| format == "json") {
        return as_json(&state).await;
    }
    let format = MetricsFormat::accepted_by(&headers);
    let shown = timeout(ANSWER_TIMEOUT, state.owner.shown(LookAt::Cluster)).await.ok().and_then(Result::ok);
    let view = match ClusterView::found(&state, shown.as_ref().map(|shown| Arc::clone(&shown.overview))) {
        Ok(view) => view,
        Err(why) => return response::text(StatusCode::SERVICE_UNAVAILABLE, why),
    };
    let overview = Arc::clone(&view.overview);
    let (shown, event_streams) = (shown.unwrap_or_default(), state.streams.open_count());
    let has_market = state.owner.market_presence() != MarketPresence::Absent;
    let shows_money = state.shows_money;
    let health = state.owner.health();
    let usage = ProcessStat::of_this_process();
    let work = WorkMetrics {
        own: state.owner.own_work(),
        requests: extensions.get::<RequestTimes>().map(RequestTimes::read).unwrap_or_default(),
        http_connections: extensions.get::<RequestPlace>().map(RequestPlace::connections),
    };
    let scrape = Scrape { overview, shown, event_streams, usage, health, work, has_market, shows_money };
    match scrape.encode() {
        Ok(body) => view.aged(fresh(StatusCode::OK, format.content_type(), format.of_open_metrics(body))),
        Err(error) => response::text(StatusCode::INTERNAL_SERVER_ERROR, error),
    }
}

/// The same numbers in the shape of older collectors. Jobs are in it, which only the report has.
async fn as_json<O: Owner>(state: &WebState<O>) -> Response<Body> {
    match ClusterView::with_jobs(state).await {
        Ok(view) => {
            let body = metrics_as_json(&view.overview, &state.host);
            view.aged(fresh(StatusCode::OK, response::JSON, body))
        }
        Err(why) => response::text(StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

#[derive(Debug)]
struct Scrape {
    overview: Arc<ClusterSnapshot>,
    shown: Shown,
    event_streams: usize,
    usage: Option<ProcessStat>,
    health: Health,
    work: WorkMetrics,
    has_market: bool,
    shows_money: bool,
}

impl Scrape {
    fn encode(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut body = String::new();
        text::encode(&mut body, &registry)?;
        Ok(body)
    }

    fn cluster(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        let overview = &self.overview;
        writer.gauges("jobtracker_slots", "Slots of all trackers that accept work", by_kind(overview.slots))?;
        writer.gauges("jobtracker_slots_used", "Slots in use", by_kind(overview.running))?;
        writer.gauges("jobtracker_tasks_waiting", "Tasks that wait for a slot", by_kind(overview.waiting))?;
        let WorkerHealth { counts: WorkerCounts { healthy, short, unhealthy, silent }, draining } =
            WorkerHealth::of(overview);
        let trackers = [
            ("healthy", healthy.saturating_sub(short)),
            ("short", short),
            ("unhealthy", unhealthy),
            ("draining", draining),
            ("silent", silent),
        ];
        writer.gauges(
            "jobtracker_trackers",
            "Trackers",
            trackers.map(|(health, count)| ([("health", health)], count)),
        )?;
        writer.counter("jobtracker_heartbeats", "Heartbeats processed", overview.heartbeats)?;
        writer.counter("jobtracker_attempts_launched", "Attempts launched", overview.attempts_launched)?;
        writer.counter(
            "jobtracker_attempts_preempted",
            "Attempts preempted in favour of other queues",
            overview.attempts_preempted,
        )?;
        writer.counter(
            "jobtracker_store_rowless_updates",
            "Facts without a row to change in state.db: more than 0 is a defect",
            self.health.rowless_updates,
        )?;
        writer.counter(
            "jobtracker_invariant_violations",
            "Invariants found broken: more than 0 is a defect",
            self.health.invariant_violations,
        )?;
        let histories = self.health.histories;
        writer.counter("jobtracker_histories_written", "Histories of finished jobs written", histories.written)?;
        writer.counter(
            "jobtracker_history_write_failures",
            "Failed attempts to write a history, or a user's copy of one",
            histories.failures,
        )?;
        writer.gauge(
            "jobtracker_histories_waiting",
            "Finished jobs whose history is not written",
            histories.waiting,
        )?;
        let is_ready = u32::from(self.health.is_ready);
        writer.gauge("jobtracker_ready", "1 while jobs can be submitted and run", is_ready)
    }

    fn market_files(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        if !self.has_market {
            return Ok(());
        }
        let acl = u32::from(self.health.acl_error.is_none());
        writer.gauge("jobtracker_acl_file_good", "1 while the list in force is the ACL file's content", acl)?;
        let budget = u32::from(self.health.budget_error.is_none());
        writer.gauge(
            "jobtracker_budget_file_good",
            "1 while the image of the budgets, a file, a database or a program, can be updated",
            budget,
        )?;
        let Some(image) = &self.health.budgets else { return Ok(()) };
        writer.gauge(
            "jobtracker_budget_image_lag_ticks",
            "Ticks that the image of the budgets is behind the ledger",
            image.lag_ticks,
        )?;
        writer.gauge(
            "jobtracker_budget_image_lag_seconds",
            "How long the image of the budgets has been behind the ledger, s",
            image.lag_s,
        )
    }

    fn jobs(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        let overview = &self.overview;
        let live = [([("state", "prep")], overview.preparing_jobs), ([("state", "running")], overview.running_jobs)];
        writer.gauges("jobtracker_jobs", "Unfinished jobs", live)?;
        let all = overview.stuck.len();
        let jobs = overview.stuck.iter().filter(|stuck| stuck.holder.job().is_some()).count();
        let applications = overview.containers.map(|_| ([("kind", "application")], all - jobs));
        let stuck = std::iter::once(([("kind", "job")], jobs)).chain(applications);
        writer.gauges(
            "jobtracker_stuck",
            "What waits and no worker can run, of the newest that is unfinished",
            stuck,
        )?;
        writer.counter("jobtracker_jobs_accepted", "Jobs accepted", overview.jobs_accepted)?;
        let ended =
            ["succeeded", "failed", "killed"].map(|state| [("state", state)]).into_iter().zip(overview.jobs_ended);
        writer.counters("jobtracker_jobs_ended", "Finished jobs", ended)
    }

    fn money(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        let Some(money) = self.overview.money.as_ref().filter(|_| self.shows_money) else { return Ok(()) };
        let balances = money.balances.iter();
        let balances = balances.filter_map(|(queue, balance)| Some(([("queue", queue.clone())], credits(*balance)?)));
        writer.gauges("jobtracker_queue_balance_credits", "Credits that a queue has", balances)?;
        let all = [
            ("jobtracker_market_issued_credits", "Credits ever issued to queues", money.issued),
            ("jobtracker_market_charged_credits", "Credits ever charged to queues", money.charged),
        ];
        for (name, help, amount) in all {
            if let Some(amount) = credits(amount) {
                writer.gauge(name, help, amount)?;
            }
        }
        Ok(())
    }

    fn queues(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        let queues = &self.overview.queues;
        writer.gauges("jobtracker_queue_slots_used", "Slots a queue uses", per_queue(queues, |queue| queue.running))?;
        let waiting = per_queue(queues, |queue| queue.waiting);
        writer.gauges("jobtracker_queue_tasks_waiting", "Tasks of a queue that wait for a slot", waiting)?;
        let Some(price) = self.overview.price.as_deref().and_then(approximate) else { return Ok(()) };
        writer.gauge("jobtracker_market_price", "Sum of the effective spending rates, credits for a slot", price)?;
        // Times the price it is the queue's rate.
        if !self.shows_money {
            return Ok(());
        }
        let share =
            |queue: &QueueSnapshot| Some(([("queue", queue.name.clone())], approximate(queue.share.as_deref()?)?));
        writer.gauges("jobtracker_queue_share", "Share a queue has bought, 0 to 1", queues.iter().filter_map(share))
    }

    /// Pools and their shares, or the capacities of queues.
    fn groups(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        let groups = &self.overview.report.groups[..];
        write_pools(writer, groups)?;
        let queues: Vec<_> = groups.iter().filter_map(|group| Some((&*group.name, group.capacity.as_ref()?))).collect();
        if !queues.is_empty() {
            let slots = queues.iter().map(|(name, queue)| (*name, queue.slots));
            writer.gauges("jobtracker_queue_capacity_slots", "Capacity of a queue", per_name("queue", slots))?;
            let maximum = queues.iter().filter_map(|(name, queue)| Some((*name, queue.maximum_slots?)));
            writer.gauges("jobtracker_queue_maximum_slots", "Most slots of a queue", per_name("queue", maximum))?;
            let occupied = queues.iter().map(|(name, queue)| (*name, queue.occupied));
            writer.gauges(
                "jobtracker_queue_slots_occupied",
                "Slots a queue uses or has reserved",
                per_name("queue", occupied),
            )?;
            let jobs = queues.iter().flat_map(|(name, queue)| {
                [
                    ("waiting", queue.waiting_jobs),
                    ("initializing", queue.initializing_jobs),
                    ("running", queue.running_jobs),
                ]
                .map(|(state, jobs)| ([("queue", (*name).to_owned()), ("state", state.to_owned())], jobs))
            });
            writer.gauges("jobtracker_queue_jobs", "Unfinished jobs of a queue", jobs)?;
        }
        Ok(())
    }

    fn process(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        // Epoch milliseconds of today have 41 bits, a double holds 53.
        let start_seconds = self.overview.start_ms as f64 / 1000.0;
        writer.gauge("process_start_time_seconds", "Start of the daemon, since the epoch", start_seconds)?;
        let Some(usage) = self.usage else { return Ok(()) };
        writer.counter(
            "process_cpu_seconds",
            "Processor time used",
            Duration::from_millis(usage.cpu_ms).as_secs_f64(),
        )?;
        writer.gauge("process_resident_memory_bytes", "Memory in use", usage.resident_bytes)
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut writer = MetricWriter(encoder);
        self.cluster(&mut writer)?;
        self.market_files(&mut writer)?;
        self.jobs(&mut writer)?;
        self.queues(&mut writer)?;
        self.money(&mut writer)?;
        self.groups(&mut writer)?;
        if let Some(containers) = &self.overview.containers {
            write_containers(&mut writer, containers, self.health.waiting_calls)?;
        }
        let Self { shown, health, shows_money, event_streams, .. } = self;
        ViewMetrics { shown, health, shows_money: *shows_money, event_streams: *event_streams }.write(&mut writer)?;
        self.work.write(&mut writer, &shown.views)?;
        self.process(&mut writer)
    }
}

fn by_kind<V: Copy>(values: PerKind<V>) -> impl Iterator<Item = ([(&'static str, &'static str); 1], V)> {
    Kind::ALL.into_iter().map(move |kind| ([("kind", kind_name(kind))], values[kind]))
}

fn per_queue<V: Copy>(
    queues: &[QueueSnapshot],
    value: impl Fn(&QueueSnapshot) -> PerKind<V>,
) -> impl Iterator<Item = ([(&'static str, String); 2], V)> {
    queues.iter().flat_map(move |queue| {
        let values = value(queue);
        Kind::ALL.map(|kind| ([("queue", queue.name.clone()), ("kind", kind_name(kind).to_owned())], values[kind]))
    })
}

fn per_name<'a, V: Copy>(
    label: &'static str,
    values: impl Iterator<Item = (&'a str, PerKind<V>)>,
) -> impl Iterator<Item = ([(&'static str, String); 2], V)> {
    values.flat_map(move |(name, values)| {
        Kind::ALL.map(|kind| ([(label, name.to_owned()), ("kind", kind_name(kind).to_owned())], values[kind]))
    })
}

fn credits(amount: Credits) -> Option<f64> {
    approximate(&amount.to_string())
}

/// An exact decimal as a double, which is what metrics hold: for graphs, not for accounts.
fn approximate(decimal: &str) -> Option<f64> {
    decimal.parse().ok()
}

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

#[cfg(test)]
#[path = "tests/dashboards.rs"]
mod tests;

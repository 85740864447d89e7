//! Metrics that the views know: waits, durations, how far what is shown is behind, and the market as facts have it.

use std::collections::BTreeMap;
use std::fmt;

use crate::api::ReportedGroup;
use crate::model::{Credits, Kind};
use crate::views::{DURATION_BOUNDS_S, Durations, Shown};

use super::metrics_format::{HistogramValues, MetricWriter, kind_name};
use super::owner::Health;

/// Most queues with a series of their own; the largest value of the others is that of `_other`.
const MOST_QUEUES: usize = 500;
const OTHERS: &str = "_other";

#[derive(Clone, Copy, Debug)]
pub(super) struct ViewMetrics<'a> {
    pub(super) shown: &'a Shown,
    pub(super) health: &'a Health,
    pub(super) shows_money: bool,
    pub(super) event_streams: usize,
}

impl ViewMetrics<'_> {
    pub(super) fn write(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        let build = [([("version", env!("CARGO_PKG_VERSION"))], 1_u32)];
        writer.gauges("jobtracker_build_info", "1; the version is a label", build)?;
        let is_writing = u32::from(self.health.unwritable.is_none());
        writer.gauge("jobtracker_store_writing", "1 while the store can write", is_writing)?;
        writer.gauge("jobtracker_views_lag_seconds", "How old what pages show is", self.views_lag_s())?;
        writer.gauge("jobtracker_event_streams", "Open streams of the API", self.event_streams as u64)?;
        let silence_ms = self.shown.overview.trackers.iter().map(|tracker| tracker.silent_ms).max().unwrap_or(0);
        writer.gauge(
            "jobtracker_tracker_silence_seconds",
            "Time since the last heartbeat of the tracker that is silent longest",
            seconds(silence_ms),
        )?;
        self.attempts(writer)?;
        let waits = bounded(self.oldest_waits());
        writer.gauges(
            "jobtracker_queue_oldest_wait_seconds",
            "How long the job of a queue has waited that waits longest with nothing running",
            waits.into_iter().map(|(queue, ms)| ([("queue", queue)], seconds(ms))),
        )?;
        let durations = self.shown.views.durations();
        let tasks = Kind::ALL.map(|kind| ([("kind", kind_name(kind))], histogram(&durations.tasks[kind])));
        writer.histograms("jobtracker_task_seconds", "How long tasks ran that succeeded", tasks)?;
        let help = "From the submission of a job to its first task";
        writer.histogram("jobtracker_job_wait_seconds", help, &histogram(&durations.waits))?;
        if self.shown.overview.containers.is_some() {
            let help = "From the request for a container to its grant";
            writer.histogram("jobtracker_container_wait_seconds", help, &histogram(&durations.container_waits))?;
        }
        self.decisions(writer)?;
        if let Some(counts) = self.shown.overview.deadlines {
            let states = ["on_time", "at_risk", "late"].map(|state| [("state", state)]);
            let values = states.into_iter().zip(counts);
            writer.gauges("jobtracker_deadlines", "Jobs with a deadline that are not over", values)?;
        }
        self.market(writer)
    }

    /// Decisions, and the work that those to preempt have cost.
    fn decisions(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        let counts = self.shown.views.counts();
        let kinds = counts.decisions().map(|(kind, count)| ([("kind", kind)], count));
        writer.counters("jobtracker_decisions", "Decisions about others' work, by kind", kinds)?;
        writer.counters(
            "jobtracker_preempted_seconds",
            "Work of a queue or pool that gave way to others, slot-seconds",
            counts.preempted_slot_ms().map(|(queue, lost_ms)| ([("queue", queue)], seconds(lost_ms))),
        )
    }

    fn views_lag_s(&self) -> f64 {
        seconds(self.health.at_ms.saturating_sub(self.shown.overview.at_ms).max(0).unsigned_abs())
    }

    fn attempts(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        let counts = &self.shown.overview.attempt_counts;
        let states = [("succeeded", &counts.completed), ("failed", &counts.failed), ("killed", &counts.killed)];
        let values = states.into_iter().flat_map(|(state, counts)| {
            Kind::ALL.map(|kind| ([("kind", kind_name(kind)), ("state", state)], counts[kind]))
        });
        writer.counters("jobtracker_attempts_ended", "Attempts that have ended", values)
    }

    /// By queue, ms.
    fn oldest_waits(&self) -> Vec<(String, u64)> {
        let at_ms = self.shown.overview.at_ms;
        let mut waits: BTreeMap<&str, u64> =
            self.shown.overview.queues.iter().map(|queue| (queue.name.as_str(), 0)).collect();
        for job in self.shown.views.jobs().filter(|job| job.finish_ms().is_none()) {
            let counts = job.counts();
            let runs = Kind::ALL.into_iter().any(|kind| counts[kind].running > 0);
            let is_done = Kind::ALL.into_iter().all(|kind| counts[kind].finished >= job.total()[kind]);
            if let Some(longest_ms) = waits.get_mut(job.spec().queue.as_str()).filter(|_| !runs && !is_done) {
                *longest_ms = (*longest_ms).max(at_ms.saturating_sub(job.submit_ms()).max(0).unsigned_abs());
            }
        }
        waits.into_iter().map(|(queue, ms)| (queue.to_owned(), ms)).collect()
    }

    fn market(&self, writer: &mut MetricWriter<'_>) -> fmt::Result {
        let market = self.shown.views.market();
        let Some(tick) = market.tick().filter(|_| self.shown.overview.price.is_some()) else { return Ok(()) };
        writer.counter("jobtracker_ticks", "Ticks of the market", tick.number)?;
        let due_ms = tick.at_ms.saturating_add_unsigned(tick.interval_ms);
        let late_ms = self.shown.overview.at_ms.saturating_sub(due_ms).max(0).unsigned_abs();
        writer.gauge("jobtracker_tick_lateness_seconds", "How long the next tick is overdue", seconds(late_ms))?;
        let states = ["new", "on_time", "at_risk", "spent"].map(|state| [("state", state)]);
        let orders = states.into_iter().zip(self.shown.overview.orders.unwrap_or_default());
        writer.gauges("jobtracker_orders", "Deadline orders that stand, as they stood at the last tick", orders)?;
        let Some(money) = self.shown.overview.money.as_ref().filter(|_| self.shows_money) else { return Ok(()) };
        for (name, help, amount) in [
            ("jobtracker_credits_issued", "Credits issued to queues", money.issued),
            ("jobtracker_credits_charged", "Credits charged to queues", money.charged),
        ] {
            writer.counter(name, help, credits(amount))?;
        }
        writer.counters(
            "jobtracker_queue_spent",
            "Credits that a queue has paid",
            self.shown.views.counts().spent().map(|(queue, amount)| ([("queue", queue)], credits(amount))),
        )?;
        let bids = market.accounts().map(|(queue, account)| ([("queue", queue.to_string())], credits(account.bid())));
        writer.gauges("jobtracker_queue_bid", "What a queue bids at the next tick", bids.take(MOST_QUEUES))?;
        let empty = self
            .shown
            .overview
            .report
            .groups
            .iter()
            .filter_map(|group| Some(([("queue", group.name.clone())], self.lasts_s(group, tick.interval_ms)?)));
        writer.gauges(
            "jobtracker_queue_empty_seconds",
            "How long the money of a queue lasts at its present use",
            empty.take(MOST_QUEUES),
        )
    }

    /// None: nothing is charged.
    fn lasts_s(&self, group: &ReportedGroup, interval_ms: u64) -> Option<f64> {
        let bought = group.bought.as_ref()?;
        let quota = bought.quota;
        let queue = self.shown.overview.queues.iter().find(|queue| queue.name == group.name);
        let containers = queue.map_or(0, |queue| queue.containers.held).min(quota.left_for_containers(group.held));
        let held = [group.held.map.min(quota.map), group.held.reduce.min(quota.reduce), containers];
        let cost = bought.rate.checked_mul(held.map(u64::from).iter().sum())?;
        let balance = self.shown.views.market().account(&group.name)?.balance();
        (cost > Credits::ZERO).then(|| credits(balance) / credits(cost) * seconds(interval_ms))
    }
}

/// At most so many with a series of their own, those with the largest values.
fn bounded(mut values: Vec<(String, u64)>) -> Vec<(String, u64)> {
    if values.len() > MOST_QUEUES {
        values.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        let others = values.split_off(MOST_QUEUES);
        values.extend(others.into_iter().map(|(_, value)| value).max().map(|value| (OTHERS.to_owned(), value)));
    }
    values
}

fn histogram(durations: &Durations) -> HistogramValues {
    let bounds = DURATION_BOUNDS_S.into_iter().map(|bound_s| bound_s as f64).chain([f64::INFINITY]);
    (seconds(durations.sum_ms), durations.count(), bounds.zip(durations.counts).collect())
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

/// An exact amount as a double, which is what metrics hold: for graphs, not for accounts.
fn credits(amount: Credits) -> f64 {
    amount.to_string().parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_of_queues_are_bounded_and_the_longest_of_the_others_is_kept() {
        let all: Vec<(String, u64)> = (0..600).map(|number| (format!("q{number:03}"), number)).collect();
        let found = bounded(all);
        assert_eq!(found.len(), MOST_QUEUES + 1);
        assert_eq!((found[0].clone(), found[MOST_QUEUES].clone()), (("q599".into(), 599), ("_other".into(), 99)));
    }
}

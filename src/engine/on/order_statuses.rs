//! Deadline orders as queries show them, and what a job with an order needs until its deadline, in whole tasks.

use crate::api::{OrderState, OrderStatus};
use crate::engine::core::Engine;
use crate::engine::state::{MarketState, OrderStanding};
use crate::mapreduce::Job;
use crate::market::{Answer, Order, QueueInfo};
use crate::model::{Kind, Now, PerKind, QueueName};
use crate::scheduler::constraint::{ConstraintConfig, DeadlineSpec, Due, JobWork, KeySpread, Model, Overrun, Seconds};

use super::deadlines::app_deadline;

/// What a job needs in the next interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OrderNeed {
    /// The least slots that keep the deadline, as far as any do.
    pub(super) slots: PerKind<u32>,
    /// Whether they keep it.
    pub(super) is_feasible: bool,
    /// The most slots that it can use.
    pub(super) most: PerKind<u32>,
}

/// Slot-time that a job takes as it states it, microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderWork {
    all_us: PerKind<u64>,
    /// That of the tasks that are not done.
    left_us: PerKind<u64>,
}

#[derive(Clone, Copy, Debug)]
struct OrderProgress {
    left: PerKind<u32>,
    /// Slots that it holds.
    running: PerKind<u32>,
    /// The most slots that it can use.
    most: PerKind<u32>,
    now_us: i64,
    /// When the newest of its running maps was launched.
    map_start_us: Option<i64>,
}

impl Engine {
    /// The orders of a queue, by job, as queries show them.
    pub(super) fn order_statuses(&self, queue: &str) -> Vec<OrderStatus> {
        let Some(market) = &self.market else { return Vec::new() };
        market.accounts.orders_of(queue).map(|order| status(market, order)).collect()
    }

    pub(super) fn order_status(&self, job: &Job) -> Option<OrderStatus> {
        let market = self.market.as_ref()?;
        let order = market.accounts.order(job.spec.payer()?, job.id)?;
        Some(status(market, order))
    }

    /// How many orders stand: new since the last tick, on time, at risk, spent.
    pub(super) fn orders_by_state(&self) -> [u64; 4] {
        let mut states = [0; 4];
        let Some(market) = &self.market else { return states };
        for standing in market.standings.values() {
            match standing.state {
                OrderState::New => {}
                OrderState::OnTime => states[1] += 1,
                OrderState::AtRisk => states[2] += 1,
                OrderState::Spent => states[3] += 1,
            }
        }
        let all: u64 = market.accounts.orders().map(|(_, orders)| orders.count() as u64).sum();
        states[0] = all.saturating_sub(states.iter().sum());
        states
    }

    pub(super) fn answer_orders(&self, queue: &QueueName) -> Answer {
        match self.market().and_then(|market| market.account(queue.as_str())) {
            Some(account) => {
                Answer::Orders { info: QueueInfo::live(queue, account), orders: self.order_statuses(queue.as_str()) }
            }
            None => Answer::Frame,
        }
    }

    /// What a job's scheduling information says of its order; none: it has none.
    pub(super) fn report_order(&self, job: &Job) -> Option<String> {
        let market = self.market.as_ref().filter(|market| market.accounts.is_ruling())?;
        let order = market.accounts.order(job.spec.payer()?, job.id)?;
        let standing = market.standings.get(&job.id).copied().unwrap_or_default();
        let seconds = |ms: i64| Seconds { us: ms.saturating_mul(1_000) };
        let at_ms = standing.at_ms.max(job.submit_ms);
        let cost = order.max_cost.map(|cost| format!(", cost at most {cost}")).unwrap_or_default();
        // Once tasks run, the tick knows better.
        let overrun = (!job.has_begun() || job.running() == PerKind::default() && job.finished().map == 0)
            .then(|| self.order_overrun(job, order, at_ms))
            .flatten();
        let state = match (standing.state, overrun) {
            (OrderState::New, Some(_)) => OrderState::AtRisk,
            (state, _) => state,
        };
        let remark = match (overrun, standing.sufficient_rate) {
            (Some(overrun), _) => format!(" But {overrun}, at any rate."),
            (None, Some(rate)) => format!(" A rate of {rate} would do."),
            (None, None) => match standing.cost {
                Some(cost) if order.max_cost.is_some_and(|most| cost > most) => {
                    format!(" But the job would cost {cost}.")
                }
                Some(cost) => format!(" But the job would cost {cost}, more than its queue can pay."),
                None if state == OrderState::AtRisk => {
                    " No rate would do: it is too late, or the cluster too small.".to_owned()
                }
                None => String::new(),
            },
        };
        Some(format!(
            "Deadline {} s (left {} s, {}). Order: rate at most {}{cost}.{remark}",
            seconds(order.deadline_ms.saturating_sub(job.submit_ms)),
            seconds(order.deadline_ms.saturating_sub(at_ms)),
            state.name(),
            order.max_rate,
        ))
    }

    /// How late a job none of which runs yet ends at least, whatever its order buys.
    fn order_overrun(&self, job: &Job, order: &Order, at_ms: i64) -> Option<Overrun> {
        let us = |ms: i64| ms.saturating_mul(1_000);
        let work = self.ordered_work(job, order);
        Overrun::of(&work, self.order_model(), us(at_ms), us(order.deadline_ms))
    }

    /// The settings of deadlines, also while another scheduler rules.
    pub(super) fn deadline_config(&self) -> ConstraintConfig {
        self.config.policy.constraint().copied().unwrap_or(self.config.deadlines)
    }

    /// What a job needs to be done by the deadline of its order.
    pub(super) fn order_need(&self, job: &Job, order: &Order, now: Now) -> OrderNeed {
        let work = self.ordered_work(job, order);
        let (left, running) = (tasks_left(job), job.running());
        let us = |ms: i64| ms.saturating_mul(1_000);
        let age_ms = job.newest_launch_mono_ms(Kind::Map).map(|mono_ms| now.mono_ms.saturating_sub(mono_ms));
        let map_start_us = age_ms.map(|age_ms| us(now.wall_ms.saturating_sub_unsigned(age_ms)));
        // Second attempts, and those that outlive their tasks, take slots too.
        let most = |kind: Kind| {
            let attempts = if job.spec.speculative[kind] { 2 } else { 1 };
            left[kind].saturating_mul(attempts).saturating_add(running[kind])
        };
        let most = PerKind::new(most(Kind::Map), most(Kind::Reduce));
        let state = OrderProgress { left, running, most, now_us: us(now.wall_ms), map_start_us };
        need(&work, self.order_model(), &state, us(order.deadline_ms))
    }

    /// What is left of a job, and all of it.
    pub(super) fn order_work(&self, job: &Job, order: &Order) -> (JobWork, OrderWork) {
        let (all, left) = (self.ordered_work(job, order), tasks_left(job));
        let rest = all.with_maps_left(left.map).with_reduces_left(left.reduce);
        (rest, OrderWork::of(&all, &rest))
    }

    /// How orders count tasks: whole, each with its wait.
    pub(super) fn order_model(&self) -> Model {
        Model::Whole { wait_us: self.longest_interval_ms().saturating_mul(2_000) }
    }

    /// All work of a job, by what it states and what was believed of it when its order was placed.
    pub(super) fn ordered_work(&self, job: &Job, order: &Order) -> JobWork {
        let config = self.deadline_config();
        let unstated = DeadlineSpec {
            due: Due::AtMs(order.deadline_ms),
            map: None,
            reduce: None,
            copy_us_per_mb: None,
            filter_millionths: None,
            keys: KeySpread::Uniform,
        };
        let stated = job.deadline().or(job.spec.deadline.as_ref()).unwrap_or(&unstated);
        let believed = job.estimate.costs(&config.default_costs);
        app_deadline(stated, &job.spec, &job.splits, job.submit_ms, &believed).work
    }
}

fn status(market: &MarketState, order: &Order) -> OrderStatus {
    let Order { job, deadline_ms, max_rate, max_cost } = *order;
    let OrderStanding { state, sufficient_rate, cost, .. } = market.standings.get(&job).copied().unwrap_or_default();
    OrderStatus { job, deadline_ms, max_rate, max_cost, state, sufficient_rate, cost }
}

impl OrderWork {
    pub(super) fn of(all: &JobWork, left: &JobWork) -> Self {
        // Each reduce holds its slot while it copies.
        let sum = |work: &JobWork| {
            let copies_us = work.copy_us.saturating_mul(work.reduces.into());
            PerKind::new(work.map_us, work.reduce_us.saturating_add(copies_us))
        };
        Self { all_us: sum(all), left_us: sum(left) }
    }

    /// What is left after so many slot-milliseconds: of tasks that run no more than they have not run yet.
    pub(super) fn left_us(&self, used_ms: PerKind<u64>) -> PerKind<u64> {
        let left = |kind: Kind| {
            let used_us = used_ms[kind].saturating_mul(1_000);
            self.all_us[kind].saturating_sub(used_us).min(self.left_us[kind])
        };
        PerKind::new(left(Kind::Map), left(Kind::Reduce))
    }
}

/// Its tasks that are not done.
fn tasks_left(job: &Job) -> PerKind<u32> {
    if !job.has_begun() {
        return PerKind::new(job.spec.maps, job.spec.reduces);
    }
    let (total, finished) = (job.total(), job.finished());
    let left = |kind: Kind| total[kind].saturating_sub(finished[kind]);
    PerKind::new(left(Kind::Map), left(Kind::Reduce))
}

pub(super) fn need_of_new(work: &JobWork, model: Model, now_us: i64, deadline_us: i64) -> OrderNeed {
    let left = PerKind::new(work.maps, work.reduces);
    let progress = OrderProgress { left, running: PerKind::default(), most: left, now_us, map_start_us: None };
    need(work, model, &progress, deadline_us)
}

fn need(work: &JobWork, model: Model, progress: &OrderProgress, deadline_us: i64) -> OrderNeed {
    let OrderProgress { left, running, .. } = *progress;
    let (maps, maps_fit) = maps_needed(work, model, progress, deadline_us);
    let (reduces, reduces_fit) = match (left.map, left.reduce) {
        // They start after the last map.
        (1.., _) | (_, 0) => (0, true),
        _ => reduces_needed(work, model, progress, deadline_us),
    };
    let reduces = if left.map == 0 { reduces } else { running.reduce.min(left.reduce) };
    OrderNeed { slots: PerKind::new(maps, reduces), is_feasible: maps_fit && reduces_fit, most: progress.most }
}

/// The least maps at a time, and whether they keep the deadline. What runs on so many slots ends with its round; the rest
/// needs what the model says.
fn maps_needed(work: &JobWork, model: Model, progress: &OrderProgress, deadline_us: i64) -> (u32, bool) {
    let OrderProgress { left, running, now_us, map_start_us, .. } = *progress;
    let latest_us = model.latest_reduce_start_us(work, deadline_us);
    let round_us = model.map_round_us(work);
    let round_end_us = map_start_us.map_or(now_us, |start_us| start_us.saturating_add_unsigned(round_us)).max(now_us);
    let fits = |slots: u32| match left.map - slots.min(running.map).min(left.map) {
        0 => round_end_us <= latest_us,
        waiting => {
            let least = model.least_maps(&work.with_maps_left(waiting), round_end_us, latest_us);
            least.is_some_and(|least| least <= slots)
        }
    };
    if left.map == 0 {
        return (0, true);
    }
    if !fits(left.map) {
        // All at once come nearest.
        return (left.map, false);
    }
    let (mut too_few, mut enough) = (0, left.map);
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if fits(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    (enough, true)
}

/// The same of reduces, once all maps are done.
fn reduces_needed(work: &JobWork, model: Model, progress: &OrderProgress, deadline_us: i64) -> (u32, bool) {
    let OrderProgress { left, running, now_us, .. } = *progress;
    let waiting = JobWork { maps: 0, ..work.with_reduces_left(left.reduce) };
    let is_in_time = model.earliest_deadline_us(&waiting, now_us, 1) <= Some(deadline_us);
    let least = model.least_reduces(&waiting, now_us, deadline_us).max(running.reduce.min(left.reduce));
    // Those that run have begun before.
    (least, is_in_time || running.reduce >= left.reduce)
}

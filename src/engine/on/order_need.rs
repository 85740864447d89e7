//! What a job with an order needs until its deadline, in whole tasks.

use crate::engine::core::Engine;
use crate::mapreduce::Job;
use crate::market::Order;
use crate::model::{Kind, Now, PerKind};
use crate::scheduler::constraint::{ConstraintConfig, DeadlineSpec, Due, JobWork, KeySpread, Model};

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

impl Engine {
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

/// Its tasks that are not done.
fn tasks_left(job: &Job) -> PerKind<u32> {
    if !job.has_begun() {
        return PerKind::new(job.spec.maps, job.spec.reduces);
    }
    let (total, finished) = (job.total(), job.finished());
    let left = |kind: Kind| total[kind].saturating_sub(finished[kind]);
    PerKind::new(left(Kind::Map), left(Kind::Reduce))
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

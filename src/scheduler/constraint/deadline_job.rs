//! A job with a deadline: its plan, what is left of it, and whether it keeps its deadline.

use crate::model::{Kind, PerKind};

use super::running_maps::RunningMaps;
use super::{AppDeadline, DeadlineDetail, DeadlineState, JobWork, Model, Promise};

/// How the reduces of a job whose maps are done run.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReducePlan {
    pub(super) at_a_time: u32,
    pub(super) start_us: i64,
    pub(super) until_us: i64,
}

/// What a look at a job changes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeadlineCheck {
    pub(super) state: DeadlineState,
    minimum_maps: u32,
    reduces_until_us: i64,
}

#[derive(Debug)]
pub(super) struct DeadlineJob {
    deadline: AppDeadline,
    arrival_us: i64,
    pub(super) state: DeadlineState,
    /// The least tasks at a time that keep its deadline.
    minimum: PerKind<u32>,
    /// When all its reduces must have started.
    latest_reduce_start_us: i64,
    /// When its last map ended.
    reduce_start_us: Option<i64>,
    /// When its reduces should have ended.
    reduces_until_us: i64,
    /// Tasks that are neither done nor given up.
    left: PerKind<u32>,
    /// Slots that it holds.
    held: PerKind<u32>,
    /// Of these, what counts as held by the promised.
    pub(super) counted_held: PerKind<u32>,
    running_maps: RunningMaps,
}

// === impl DeadlineJob ===

impl DeadlineJob {
    /// Plans a job, none of which is done, as if it were submitted now: on restart the plan is the same.
    pub(super) fn new(deadline: AppDeadline, arrival_us: i64, model: Model) -> Self {
        let work = deadline.work;
        let latest_us = model.latest_reduce_start_us(&work, deadline.due_us);
        let least = deadline.maps.or_else(|| model.least_maps(&work, arrival_us, latest_us));
        Self {
            deadline,
            arrival_us,
            state: if least.is_some() { DeadlineState::OnTime } else { DeadlineState::AtRisk },
            minimum: PerKind::new(least.unwrap_or(work.maps), work.reduces),
            latest_reduce_start_us: latest_us,
            reduce_start_us: None,
            reduces_until_us: deadline.due_us,
            left: PerKind::new(work.maps, work.reduces),
            held: PerKind::default(),
            counted_held: PerKind::default(),
            running_maps: RunningMaps::default(),
        }
    }

    pub(super) fn due_us(&self) -> i64 {
        self.deadline.due_us
    }

    pub(super) fn arrival_us(&self) -> i64 {
        self.arrival_us
    }

    pub(super) fn minimum(&self) -> PerKind<u32> {
        self.minimum
    }

    pub(super) fn latest_reduce_start_us(&self) -> i64 {
        self.latest_reduce_start_us
    }

    pub(super) fn detail(&self) -> DeadlineDetail {
        DeadlineDetail {
            state: self.state,
            due_us: self.deadline.due_us,
            minimum: self.minimum,
            latest_reduce_start_us: self.latest_reduce_start_us,
        }
    }

    pub(super) fn held(&self) -> PerKind<u32> {
        self.held
    }

    /// Whether all its maps are done and its reduces may run.
    pub(super) fn may_reduce(&self) -> bool {
        self.reduce_start_us.is_some()
    }

    /// Whether its last map is done, and its reduces are not planned yet.
    pub(super) fn has_ended_maps(&self) -> bool {
        self.left.map == 0 && self.reduce_start_us.is_none()
    }

    pub(super) fn set_left(&mut self, left: PerKind<u32>) {
        self.left = left;
        if left.map > 0 {
            // The output of a map was lost: it runs again.
            (self.reduce_start_us, self.reduces_until_us) = (None, self.deadline.due_us);
        }
    }

    pub(super) fn set_held(&mut self, kind: Kind, held: u32, now_us: i64) {
        self.held[kind] = held;
        if kind == Kind::Map {
            self.running_maps.set_count(held, now_us);
        }
    }

    /// The least reduces at a time that keep its deadline if they start now.
    pub(super) fn least_reduces(&self, model: Model, start_us: i64) -> ReducePlan {
        let at_a_time = model.least_reduces(&self.deadline.work, start_us, self.deadline.due_us);
        ReducePlan { at_a_time, start_us, until_us: self.deadline.due_us }
    }

    /// All reduces together if they start now.
    pub(super) fn all_reduces(&self, model: Model, start_us: i64) -> ReducePlan {
        let work = &self.deadline.work;
        let end_us =
            start_us.saturating_add_unsigned(work.copy_us).saturating_add_unsigned(model.reduce_round_us(work));
        ReducePlan { at_a_time: work.reduces, start_us, until_us: end_us.min(self.deadline.due_us) }
    }

    /// Its reduces start.
    pub(super) fn start_reduces(&mut self, plan: ReducePlan) {
        self.reduce_start_us = Some(plan.start_us);
        self.reduces_until_us = plan.until_us;
        self.minimum.reduce = plan.at_a_time;
        if self.state != DeadlineState::Late {
            let is_in_time = plan.start_us <= self.latest_reduce_start_us;
            self.state = if is_in_time { DeadlineState::OnTime } else { DeadlineState::AtRisk };
        }
    }

    /// What it may claim; none of a late one.
    pub(super) fn promise(&self) -> Option<Promise> {
        let claim = |kind: Kind| self.held[kind].max(self.minimum[kind].min(self.left[kind]));
        (self.state != DeadlineState::Late).then(|| Promise {
            maps: claim(Kind::Map),
            reduces: if self.may_reduce() { claim(Kind::Reduce) } else { self.deadline.work.reduces },
            reduces_from_us: self.reduce_start_us.unwrap_or(self.latest_reduce_start_us),
            until_us: self.reduces_until_us,
        })
    }

    /// Whether what is left keeps the deadline, with up to `free` map slots more if it may have them; none: nothing has
    /// changed.
    pub(super) fn check(&self, model: Model, free: u32, now_us: i64) -> Option<DeadlineCheck> {
        let before = DeadlineCheck {
            state: self.state,
            minimum_maps: self.minimum.map,
            reduces_until_us: self.reduces_until_us,
        };
        let mut check = before;
        if now_us > self.reduces_until_us {
            // They take longer than believed.
            check.reduces_until_us = self.deadline.due_us;
        }
        if now_us >= self.deadline.due_us {
            check.state = DeadlineState::Late;
        } else if self.reduce_start_us.is_none() {
            let needed = self.needed_maps(model, now_us);
            if let Some(needed) = needed.filter(|needed| *needed <= self.minimum.map.saturating_add(free)) {
                check.minimum_maps = self.minimum.map.max(needed);
            }
            let is_kept = needed.is_some_and(|needed| needed <= check.minimum_maps);
            check.state = if is_kept { DeadlineState::OnTime } else { DeadlineState::AtRisk };
        }
        (check != before).then_some(check)
    }

    pub(super) fn set_check(&mut self, check: DeadlineCheck) {
        self.state = check.state;
        self.minimum.map = check.minimum_maps;
        self.reduces_until_us = check.reduces_until_us;
    }

    /// The least maps at a time that do what is left in time; none: no number does.
    fn needed_maps(&self, model: Model, now_us: i64) -> Option<u32> {
        let work = self.deadline.work;
        let (work_left, start_us) = match model {
            Model::Fluid => (self.fluid_left(&work, now_us), now_us),
            // What runs ends with its round.
            Model::Whole { .. } => {
                let waiting = self.left.map.saturating_sub(self.running_maps.count());
                let round_us = model.map_round_us(&work);
                let end_us =
                    self.running_maps.first_start_us().map(|start_us| start_us.saturating_add_unsigned(round_us));
                (work.with_maps_left(waiting), end_us.map_or(now_us, |end_us| end_us.max(now_us)))
            }
        };
        model.least_maps(&work_left, start_us, self.latest_reduce_start_us)
    }

    fn fluid_left(&self, work: &JobWork, now_us: i64) -> JobWork {
        let left = work.with_maps_left(self.left.map);
        let average_us = work.map_us / u64::from(work.maps.max(1));
        let done_us = self.running_maps.elapsed_us(average_us, now_us);
        JobWork { map_us: left.map_us.saturating_sub(done_us), ..left }
    }
}

//! A job with a deadline: its plan, what is left of it, and whether it keeps its deadline.

use std::collections::VecDeque;

use crate::model::{Kind, PerKind};

use super::overrun::TaskRounds;
use super::{
    AdmissionSlots, AppDeadline, ConstraintConfig, DeadlineDetail, DeadlineState, JobPlan, JobWork, MapClaim, Model,
    Overrun, Promise,
};

/// How the reduces of a job whose maps are done run.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReducePlan {
    pub(super) at_a_time: u32,
    pub(super) start_us: i64,
    pub(super) until_us: i64,
    /// Whether the cluster has the slots beside all other promises.
    pub(super) is_kept: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanPhase {
    /// No slots are promised for its maps: it was admitted although the test failed, or the test is to come.
    Unplanned,
    /// Its slots are promised from a later moment on.
    Before,
    /// Its slots are promised.
    Within,
    /// Its promise is over: it has what it holds.
    After,
}

#[derive(Debug)]
pub(super) struct DeadlineJob {
    deadline: AppDeadline,
    arrival_us: i64,
    pub(super) state: DeadlineState,
    phase: PlanPhase,
    start_us: i64,
    /// When its maps have ended, if all is as believed.
    maps_until_us: i64,
    /// When those maps have ended that it began before its start.
    early_until_us: i64,
    /// The least tasks at a time that keep its deadline.
    minimum: PerKind<u32>,
    /// When all its reduces must have started.
    latest_reduce_start_us: i64,
    reduce_start_us: Option<i64>,
    /// When its reduces should have ended.
    reduces_until_us: i64,
    /// Tasks that are neither done nor given up.
    left: PerKind<u32>,
    held: PerKind<u32>,
    /// Of these, what counts as held by the promised.
    pub(super) counted_held: PerKind<u32>,
    running_maps: RunningMaps,
    /// Whether no node could run it: it is promised nothing.
    pub(super) is_stuck: bool,
    /// When its phase ends, as it was noted last.
    pub(super) noted_moment_us: Option<i64>,
}

impl DeadlineJob {
    /// A job, none of which is done; on restart its plan is the same.
    pub(super) fn new(
        deadline: AppDeadline,
        arrival_us: i64,
        model: Model,
        slots: AdmissionSlots,
        now_us: i64,
    ) -> Self {
        let work = deadline.work;
        let latest_us = model.latest_reduce_start_us(&work, deadline.due_us);
        let least = model.least_maps(&work, arrival_us, latest_us);
        let mut job = Self {
            deadline,
            arrival_us,
            state: DeadlineState::AtRisk,
            phase: PlanPhase::Unplanned,
            start_us: arrival_us,
            maps_until_us: i64::MAX,
            early_until_us: i64::MIN,
            minimum: PerKind::new(least.unwrap_or(work.maps), work.reduces),
            latest_reduce_start_us: latest_us,
            reduce_start_us: None,
            reduces_until_us: deadline.due_us,
            left: PerKind::new(work.maps, work.reduces),
            held: PerKind::default(),
            counted_held: PerKind::default(),
            running_maps: RunningMaps::default(),
            is_stuck: false,
            noted_moment_us: None,
        };
        if let Some(plan) = deadline.plan {
            job.set_plan(plan, model, slots, now_us);
        }
        job
    }

    /// Whether another was promised the same, though it may have other work.
    pub(super) fn has_plan_of(&self, other: &Self) -> bool {
        (self.deadline.due_us, self.deadline.plan) == (other.deadline.due_us, other.deadline.plan)
    }

    /// Goes by the plan that it had before it was known to have other work: what others were promised since stays so.
    pub(super) fn inherit(&mut self, before: Self) {
        *self = Self { deadline: self.deadline, held: self.held, counted_held: PerKind::default(), ..before };
        self.noted_moment_us = None;
    }

    pub(super) fn set_plan(&mut self, plan: JobPlan, model: Model, slots: AdmissionSlots, now_us: i64) {
        let work = self.work_left(model, now_us);
        self.state = DeadlineState::OnTime;
        self.minimum.map = plan.maps;
        self.start_us = plan.start_us;
        self.maps_until_us = match (slots, model.maps_us(&work, plan.maps)) {
            (AdmissionSlots::Planned, Some(during_us)) => plan.start_us.saturating_add_unsigned(during_us),
            _ => i64::MAX,
        };
        if self.held.map > 0 && plan.start_us > now_us {
            self.early_until_us = now_us.saturating_add_unsigned(self.map_us(model));
        }
        self.latest_reduce_start_us = plan.latest_reduce_start_us;
        self.reduces_until_us = self.planned_reduce_end_us(model);
        self.phase = if plan.start_us <= now_us { PlanPhase::Within } else { PlanPhase::Before };
    }

    fn planned_reduce_end_us(&self, model: Model) -> i64 {
        let after_us = model.after_maps_us(&self.deadline.work);
        self.latest_reduce_start_us.saturating_add_unsigned(after_us).min(self.deadline.due_us)
    }

    /// How long one of its maps holds a slot.
    pub(super) fn map_us(&self, model: Model) -> u64 {
        model.map_round_us(&self.deadline.work)
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

    /// When its maps start; none: they have, or no slots are promised.
    pub(super) fn planned_start_us(&self) -> Option<i64> {
        (self.phase == PlanPhase::Before && self.left.map > 0).then_some(self.start_us)
    }

    /// How late it ends at least, by what is believed of its tasks; none: it may end in time, or is late already. Where slots are
    /// promised by the fluid model, its tasks are counted one by one beside it, on the most slots that it may have.
    pub(super) fn overrun(&self, config: &ConstraintConfig, now_us: i64) -> Option<Overrun> {
        let (model, due_us) = (config.model, self.deadline.due_us);
        if self.state == DeadlineState::Late {
            return None;
        }
        let counts_rounds = self.is_admitted_as_fluid(model);
        let rounds = |kind: Kind, begin_us: i64, first_end_us: i64| {
            let (left, running) = (self.left[kind], self.held[kind].min(self.left[kind]));
            let at_a_time = config.strategy.most(self.minimum[kind])?.max(self.held[kind]);
            let rounds = TaskRounds { begin_us, first_end_us, running, waiting: left - running, at_a_time };
            (counts_rounds && rounds.waiting > 0).then_some(rounds)
        };
        if self.left.map == 0 {
            // When those began that run is not known.
            let reduces = rounds(Kind::Reduce, now_us, now_us).filter(|_| self.may_reduce())?;
            return Overrun::of_reduces(&self.deadline.work, model, reduces, due_us);
        }
        let mut work = self.deadline.work;
        if self.left.map < work.maps {
            // Which of them are left is not known.
            work.longest_map_us = work.longest_map_us.min(work.map_us / u64::from(work.maps));
        }
        let round_us = model.map_round_us(&work);
        let next_us = if self.phase == PlanPhase::Before { now_us.max(self.start_us) } else { now_us };
        let first_us = self.running_maps.first_start_us().unwrap_or(now_us);
        // One that takes longer than believed may end now.
        let first_us = first_us.max(now_us.saturating_sub_unsigned(round_us));
        let begin_us = if self.left.map > self.held.map { next_us } else { first_us };
        Overrun::of(&work, model, begin_us, due_us).or_else(|| {
            let first_end_us = first_us.saturating_add_unsigned(round_us).max(next_us);
            let maps = rounds(Kind::Map, next_us, first_end_us)?;
            Overrun::of_maps(&work, model, maps, due_us)
        })
    }

    /// Whether slots are promised to it by the paper's model, which divides tasks like a fluid.
    pub(super) fn is_admitted_as_fluid(&self, model: Model) -> bool {
        model == Model::Fluid && self.phase != PlanPhase::Unplanned
    }

    /// How it stands for people: at risk too where whole tasks take longer than the plan says.
    pub(super) fn shown_state(&self, config: &ConstraintConfig, now_us: i64) -> DeadlineState {
        match self.state {
            DeadlineState::OnTime if self.overrun(config, now_us).is_some() => DeadlineState::AtRisk,
            state => state,
        }
    }

    pub(super) fn detail(&self, config: &ConstraintConfig, now_us: i64) -> DeadlineDetail {
        DeadlineDetail {
            state: self.shown_state(config, now_us),
            due_us: self.deadline.due_us,
            minimum: self.minimum,
            planned_start_us: self.planned_start_us(),
            is_promise_over: self.phase == PlanPhase::After && self.left.map > 0,
            latest_reduce_start_us: self.latest_reduce_start_us,
        }
    }

    pub(super) fn held(&self) -> PerKind<u32> {
        self.held
    }

    /// Whether it may claim slots of a kind up to its minimum now.
    pub(super) fn is_promised(&self, kind: Kind) -> bool {
        kind == Kind::Reduce || self.phase == PlanPhase::Within
    }

    /// Whether all its maps are done and its reduces may run.
    pub(super) fn may_reduce(&self) -> bool {
        self.reduce_start_us.is_some()
    }

    /// Whether its last map is done, and its reduces are not planned yet.
    pub(super) fn has_ended_maps(&self) -> bool {
        self.left.map == 0 && self.reduce_start_us.is_none()
    }

    pub(super) fn set_left(&mut self, left: PerKind<u32>, model: Model, now_us: i64) {
        self.left = left;
        if left.map > 0 {
            // The output of a map was lost: it runs again.
            (self.reduce_start_us, self.reduces_until_us) = (None, self.planned_reduce_end_us(model));
            self.shorten(model, now_us);
        }
    }

    /// Ends its promise as soon as what is left is done, never later than it was to end: others count on that.
    fn shorten(&mut self, model: Model, now_us: i64) {
        if self.phase == PlanPhase::Unplanned || self.maps_until_us == i64::MAX {
            return;
        }
        let work = self.deadline.work;
        let (work_left, running_us) = match model {
            Model::Fluid => (self.fluid_left(&work, now_us), 0),
            Model::Whole { .. } => {
                let waiting = self.left.map.saturating_sub(self.held.map);
                (work.with_maps_left(waiting), if self.held.map > 0 { self.map_us(model) } else { 0 })
            }
        };
        let left_us = model.maps_us(&work_left, self.minimum.map.max(1)).unwrap_or(0).saturating_add(running_us);
        let end_us = self.start_us.max(now_us).saturating_add_unsigned(left_us);
        self.maps_until_us = self.maps_until_us.min(end_us);
    }

    pub(super) fn set_held(&mut self, kind: Kind, held: u32, model: Model, now_us: i64) {
        let is_more = held > self.held[kind];
        self.held[kind] = held;
        if kind == Kind::Map {
            self.running_maps.set_count(held, now_us);
            if is_more {
                self.early_until_us = now_us.saturating_add_unsigned(self.map_us(model));
            }
        }
    }

    pub(super) fn next_moment_us(&self) -> Option<i64> {
        let has_maps = self.state != DeadlineState::Late && self.left.map > 0;
        match self.phase {
            PlanPhase::Before if has_maps => Some(self.start_us),
            PlanPhase::Within if has_maps && self.maps_until_us < i64::MAX => Some(self.maps_until_us),
            _ => None,
        }
    }

    /// Its moment has come: its maps may start, or its promise is over.
    pub(super) fn enter_next_phase(&mut self) {
        self.phase = match self.phase {
            PlanPhase::Before => PlanPhase::Within,
            PlanPhase::Within => PlanPhase::After,
            other => other,
        };
    }

    /// The least reduces at a time that keep its deadline if they start now.
    pub(super) fn least_reduces(&self, model: Model, start_us: i64) -> ReducePlan {
        let at_a_time = model.least_reduces(&self.deadline.work, start_us, self.deadline.due_us);
        ReducePlan { at_a_time, start_us, until_us: self.deadline.due_us, is_kept: true }
    }

    pub(super) fn all_reduces(&self, model: Model, start_us: i64) -> ReducePlan {
        let work = &self.deadline.work;
        let end_us = start_us.saturating_add_unsigned(model.after_maps_us(work));
        ReducePlan { at_a_time: work.reduces, start_us, until_us: end_us.min(self.deadline.due_us), is_kept: true }
    }

    pub(super) fn start_reduces(&mut self, plan: ReducePlan) {
        self.reduce_start_us = Some(plan.start_us);
        self.reduces_until_us = plan.until_us;
        self.minimum.reduce = plan.at_a_time;
        if self.state != DeadlineState::Late {
            let is_in_time = plan.is_kept && plan.start_us <= self.latest_reduce_start_us;
            self.state = if is_in_time { DeadlineState::OnTime } else { DeadlineState::AtRisk };
        }
    }

    /// What it may claim; none of a late one.
    pub(super) fn promise(&self) -> Option<Promise> {
        let minimum = if self.is_stuck { PerKind::default() } else { self.minimum };
        let claim = |kind: Kind| self.held[kind].max(minimum[kind].min(self.left[kind]));
        let is_planned = self.phase != PlanPhase::Unplanned;
        let all_reduces = if is_planned { self.deadline.work.reduces } else { 0 };
        (self.state != DeadlineState::Late).then(|| Promise {
            maps: self.map_claims(claim(Kind::Map)),
            reduces: if self.may_reduce() { claim(Kind::Reduce) } else { all_reduces },
            reduces_from_us: self.reduce_start_us.unwrap_or(self.latest_reduce_start_us),
            until_us: self.reduces_until_us,
        })
    }

    fn map_claims(&self, claim: u32) -> [MapClaim; 2] {
        let (held, start_us, until_us) = (self.held.map, self.start_us, self.maps_until_us);
        let none = MapClaim::default();
        match self.phase {
            _ if self.left.map == 0 => [MapClaim::lasting(held), none],
            PlanPhase::Unplanned | PlanPhase::After => [MapClaim::lasting(held), none],
            PlanPhase::Within => {
                // What it has beyond its minimum may have begun late.
                let until_us = if held > self.minimum.map { until_us.max(self.early_until_us) } else { until_us };
                [MapClaim { slots: claim, from_us: i64::MIN, until_us }, none]
            }
            PlanPhase::Before => {
                let early_us = if held > 0 { self.early_until_us } else { i64::MIN };
                let early = MapClaim { slots: held, from_us: i64::MIN, until_us: early_us };
                if self.left.map <= held {
                    return [early, none];
                }
                let planned = MapClaim { slots: claim, from_us: start_us, until_us: until_us.max(early_us) };
                [MapClaim { until_us: early_us.min(start_us), ..early }, planned]
            }
        }
    }

    /// How it stands now. `needs_plan`: whether another plan may help.
    pub(super) fn standing(&self, model: Model, now_us: i64) -> TrackedJob {
        let work = self.deadline.work;
        let (state, needs_plan) = match self.phase {
            _ if now_us >= self.deadline.due_us => (DeadlineState::Late, false),
            _ if self.reduce_start_us.is_some() => (self.state, false),
            PlanPhase::Unplanned => (DeadlineState::AtRisk, !self.is_stuck),
            phase => {
                let has_slots = if phase == PlanPhase::After { self.held.map } else { self.minimum.map };
                let is_kept = self.needed_maps(&work, model, now_us).is_some_and(|needed| needed <= has_slots);
                (if is_kept { DeadlineState::OnTime } else { DeadlineState::AtRisk }, !is_kept && self.left.map > 0)
            }
        };
        // They take longer than believed.
        let are_reduces_long = now_us > self.reduces_until_us && self.reduces_until_us < self.deadline.due_us;
        TrackedJob { state, needs_plan, are_reduces_long }
    }

    pub(super) fn set_standing(&mut self, standing: TrackedJob) {
        self.state = standing.state;
        if standing.are_reduces_long {
            self.reduces_until_us = self.deadline.due_us;
        }
    }

    /// Whether its minimum may grow only, because slots are promised to it.
    pub(super) fn is_within_promise(&self) -> bool {
        matches!(self.phase, PlanPhase::Before | PlanPhase::Within)
    }

    pub(super) fn work_left(&self, model: Model, now_us: i64) -> JobWork {
        let work = self.deadline.work;
        match model {
            Model::Fluid => self.fluid_left(&work, now_us),
            Model::Whole { .. } => work.with_maps_left(self.left.map),
        }
    }

    /// The least maps at a time that do what is left in time; none: no number does.
    fn needed_maps(&self, work: &JobWork, model: Model, now_us: i64) -> Option<u32> {
        let now_us = if self.phase == PlanPhase::Before { now_us.max(self.start_us) } else { now_us };
        let (work_left, start_us) = match model {
            Model::Fluid => (self.fluid_left(work, now_us), now_us),
            // What runs ends with its round.
            Model::Whole { .. } => {
                let waiting = self.left.map.saturating_sub(self.running_maps.count());
                let round_us = model.map_round_us(work);
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrackedJob {
    pub(super) state: DeadlineState,
    pub(super) needs_plan: bool,
    pub(super) are_reduces_long: bool,
}

/// When the running maps of a job began, the first first. Which of them has ended is not known: the first is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunningMaps {
    starts_us: VecDeque<i64>,
}

impl RunningMaps {
    /// So many run now; those that were not noted began now.
    pub(super) fn set_count(&mut self, count: u32, now_us: i64) {
        let count = count as usize;
        while self.starts_us.len() > count {
            self.starts_us.pop_front();
        }
        self.starts_us.resize(count, now_us);
    }

    /// The time that they have run, each at most `longest_us`.
    pub(super) fn elapsed_us(&self, longest_us: u64, now_us: i64) -> u64 {
        let elapsed = |start_us: &i64| u64::try_from(now_us.saturating_sub(*start_us)).unwrap_or(0).min(longest_us);
        self.starts_us.iter().map(elapsed).fold(0, u64::saturating_add)
    }

    pub(super) fn first_start_us(&self) -> Option<i64> {
        self.starts_us.front().copied()
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.starts_us.len()).unwrap_or(u32::MAX)
    }
}

//! Deadlines that the slots of a job do not keep, since a task cannot be cut.

use std::fmt;

use super::{ConstraintConfig, JobPlan, JobWork, Model, Seconds};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overrun {
    takes_us: u64,
    what: Taking,
    late_us: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taking {
    /// One task of each kind after the other, with the copy between, each with a slot as soon as it may run.
    OneOfEach { has_maps: bool, has_reduces: bool },
    /// All that is left of its maps, so many at a time, and what follows.
    MapRounds { at_a_time: u32, has_reduces: bool },
    /// All that is left of its reduces, so many at a time.
    ReduceRounds { at_a_time: u32 },
}

/// What is left of the tasks of a kind, of which so many run at a time at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskRounds {
    /// When those of them begin that have a slot and do not run yet.
    pub(super) begin_us: i64,
    /// When the first of those that run ends, no later than one round after `begin_us`.
    pub(super) first_end_us: i64,
    pub(super) running: u32,
    pub(super) waiting: u32,
    pub(super) at_a_time: u32,
}

impl TaskRounds {
    /// When the last of them ends at the earliest.
    fn end_us(self, round_us: u64) -> i64 {
        let at_a_time = u64::from(self.at_a_time.max(1));
        let after = |from_us: i64, tasks: u64| {
            from_us.saturating_add_unsigned(round_us.saturating_mul(tasks.div_ceil(at_a_time)))
        };
        // Slots in use now come free later than the others: each kind of them has its own rounds.
        let (running, waiting) = (u64::from(self.running), u64::from(self.waiting));
        after(self.begin_us, waiting.saturating_add(running)).min(after(self.first_end_us, waiting))
    }
}

impl Overrun {
    /// Of a job whose next map, or first reduce if it has no maps, begins at `begin_us`; none: it may end in time.
    pub(crate) fn of(work: &JobWork, model: Model, begin_us: i64, due_us: i64) -> Option<Self> {
        let (has_maps, has_reduces) = (work.maps > 0, work.reduces > 0);
        let map_us = if has_maps { model.map_round_us(work) } else { 0 };
        let takes_us = map_us.saturating_add(model.after_maps_us(work));
        Self::beyond(due_us, begin_us, takes_us, Taking::OneOfEach { has_maps, has_reduces })
    }

    /// Of a job that is to be admitted with this plan: the fluid model counts no whole tasks.
    pub(crate) fn of_plan(work: &JobWork, config: &ConstraintConfig, plan: &JobPlan, due_us: i64) -> Option<Self> {
        let begin_us = plan.start_us;
        Self::of(work, config.model, begin_us, due_us).or_else(|| {
            let at_a_time = config.strategy.most(plan.maps).filter(|_| config.model == Model::Fluid)?;
            let rounds = TaskRounds { begin_us, first_end_us: begin_us, running: 0, waiting: work.maps, at_a_time };
            Self::of_maps(work, config.model, rounds, due_us)
        })
    }

    pub(super) fn of_maps(work: &JobWork, model: Model, maps: TaskRounds, due_us: i64) -> Option<Self> {
        let end_us = maps.end_us(model.map_round_us(work)).saturating_add_unsigned(model.after_maps_us(work));
        let takes_us = end_us.saturating_sub(maps.begin_us).max(0).unsigned_abs();
        let what = Taking::MapRounds { at_a_time: maps.at_a_time, has_reduces: work.reduces > 0 };
        Self::beyond(due_us, maps.begin_us, takes_us, what)
    }

    pub(super) fn of_reduces(work: &JobWork, model: Model, reduces: TaskRounds, due_us: i64) -> Option<Self> {
        let end_us = reduces.end_us(model.reduce_round_us(work));
        let takes_us = end_us.saturating_sub(reduces.begin_us).max(0).unsigned_abs();
        Self::beyond(due_us, reduces.begin_us, takes_us, Taking::ReduceRounds { at_a_time: reduces.at_a_time })
    }

    fn beyond(due_us: i64, begin_us: i64, takes_us: u64, what: Taking) -> Option<Self> {
        let late_us = begin_us.saturating_add_unsigned(takes_us).saturating_sub(due_us);
        (late_us > 0).then_some(Self { takes_us, what, late_us })
    }

    pub(crate) fn late_us(self) -> i64 {
        self.late_us
    }
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |us: i64| Seconds { us };
        match self.what {
            Taking::OneOfEach { has_maps: true, has_reduces: true } => {
                f.write_str("a map, the copy of its output and a reduce alone take")?;
            }
            Taking::OneOfEach { has_maps: true, has_reduces: false } => f.write_str("a map alone takes")?,
            Taking::OneOfEach { has_maps: false, .. } => f.write_str("a reduce alone takes")?,
            Taking::MapRounds { at_a_time, has_reduces: true } => {
                write!(f, "its maps, {at_a_time} at a time, the copy of their output and a reduce take")?;
            }
            Taking::MapRounds { at_a_time, has_reduces: false } => write!(f, "its maps, {at_a_time} at a time, take")?,
            Taking::ReduceRounds { at_a_time } => write!(f, "its reduces, {at_a_time} at a time, take")?,
        }
        let takes = seconds(i64::try_from(self.takes_us).unwrap_or(i64::MAX));
        write!(f, " {takes} s: it will be late by about {} s", seconds(self.late_us))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same, task by task: each slot takes the next as soon as it is free.
    fn end_by_list(rounds: TaskRounds, round_us: u64) -> i64 {
        let free = rounds.at_a_time - rounds.running;
        let mut ends: Vec<i64> = (0..free).map(|_| rounds.begin_us).collect();
        ends.extend((0..rounds.running).map(|_| rounds.first_end_us));
        let mut last = i64::MIN;
        for _ in 0..rounds.waiting {
            let next = ends.iter().copied().min().unwrap();
            let slot = ends.iter().position(|end| *end == next).unwrap();
            ends[slot] = next.saturating_add_unsigned(round_us);
            last = last.max(ends[slot]);
        }
        last
    }

    proptest! {
        #[test]
        fn rounds_end_with_the_last_task(
            at_a_time in 1..6_u32, running in 0..6_u32, waiting in 1..30_u32, round_us in 1..20_u64, first in 0..20_u64,
        ) {
            let running = running.min(at_a_time);
            let begin_us = 100;
            let first_end_us = 100_i64.saturating_add_unsigned(first.min(round_us));
            let rounds = TaskRounds { begin_us, first_end_us, running, waiting, at_a_time };
            prop_assert_eq!(rounds.end_us(round_us), end_by_list(rounds, round_us));
        }
    }
}

//! The formulas: how many slots keep a deadline, and which deadline so many slots keep.
//!
//! Points in time are microseconds since any common start, so that a deadline may lie before now.

use super::job_work::{JobWork, KeySpread};

/// How work is divided among slots (`mapred.constraint-scheduler.model`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Like a fluid, as in the paper: a job may end one map and one reduce after its deadline.
    #[default]
    Fluid,
    /// In whole tasks, each of which waits for the heartbeat that brings it and for the one that reports its end: an admitted
    /// deadline is a promise.
    Whole {
        /// The longest wait of a task, two heartbeats of a tracker, microseconds.
        wait_us: u64,
    },
}

impl Model {
    /// The latest moment at which all reduces of a job may start together.
    pub(crate) fn latest_reduce_start_us(self, work: &JobWork, deadline_us: i64) -> i64 {
        deadline_us.saturating_sub_unsigned(work.copy_us).saturating_sub_unsigned(self.reduce_round_us(work))
    }

    /// The least maps at a time that end by `latest_us` if the first starts at `start_us`; none when no number does. Zero
    /// for a job without maps, else from one to all maps.
    pub(crate) fn least_maps(self, work: &JobWork, start_us: i64, latest_us: i64) -> Option<u32> {
        if work.maps == 0 {
            return (latest_us >= start_us).then_some(0);
        }
        let time_us = time_between(start_us, latest_us)?;
        let slots = match self {
            Self::Fluid => u128::from(work.map_us).div_ceil(time_us.into()),
            Self::Whole { .. } => slots_for_rounds(work.maps, time_us, self.map_round_us(work))?,
        };
        Some(clamp_slots(slots, work.maps))
    }

    /// The least reduces at a time that end by the deadline if they start at `start_us`: from one to all. All when it is
    /// too late for any number. Zero for a job without reduces.
    pub(crate) fn least_reduces(self, work: &JobWork, start_us: i64, deadline_us: i64) -> u32 {
        let slots = match work.keys {
            KeySpread::Uniform => self.slots_for_reduces(work, start_us, deadline_us),
            // Whichever has all the keys must start at once.
            KeySpread::Single => None,
        };
        slots.map_or(work.reduces, |slots| clamp_slots(slots, work.reduces))
    }

    fn slots_for_reduces(self, work: &JobWork, start_us: i64, deadline_us: i64) -> Option<u128> {
        let time_us = time_between(start_us, deadline_us.saturating_sub_unsigned(work.copy_us))?;
        match self {
            Self::Fluid => Some(u128::from(work.reduce_us).div_ceil(time_us.into())),
            Self::Whole { .. } => slots_for_rounds(work.reduces, time_us, self.reduce_round_us(work)),
        }
    }

    /// The earliest deadline that so many map slots keep if the first map starts at `start_us`; none without a slot for a job with maps.
    pub(crate) fn earliest_deadline_us(self, work: &JobWork, start_us: i64, map_slots: u32) -> Option<i64> {
        let map_us = self.maps_us(work, map_slots)?;
        let after_us = map_us.saturating_add(self.after_maps_us(work));
        Some(start_us.saturating_add_unsigned(after_us))
    }

    /// How long so many slots are in use for all maps: a moment at least; none without a slot for a job with maps.
    pub(crate) fn maps_us(self, work: &JobWork, slots: u32) -> Option<u64> {
        let us = match (work.maps, slots, self) {
            (0, ..) => return Some(0),
            (_, 0, _) => return None,
            (_, slots, Self::Fluid) => work.map_us.div_ceil(slots.into()),
            (maps, slots, Self::Whole { .. }) => self.map_round_us(work).saturating_mul(maps.div_ceil(slots).into()),
        };
        Some(us.max(1))
    }

    /// The least slot-time in which all maps are done.
    pub(super) fn least_area_us(self, work: &JobWork) -> u64 {
        match self {
            Self::Fluid => work.map_us,
            Self::Whole { .. } => self.map_round_us(work).saturating_mul(work.maps.into()),
        }
    }

    /// How long copy and reduces take after the last map if all reduces run at a time.
    pub(crate) fn after_maps_us(self, work: &JobWork) -> u64 {
        work.copy_us.saturating_add(self.reduce_round_us(work))
    }

    pub(crate) fn map_round_us(self, work: &JobWork) -> u64 {
        work.longest_map_us.saturating_add(self.wait_us())
    }

    pub(crate) fn reduce_round_us(self, work: &JobWork) -> u64 {
        match work.reduces {
            0 => 0,
            _ => work.longest_reduce_us().saturating_add(self.wait_us()),
        }
    }

    fn wait_us(self) -> u64 {
        match self {
            Self::Fluid => 0,
            Self::Whole { wait_us } => wait_us,
        }
    }
}

/// None unless `to` lies behind `from`.
fn time_between(from_us: i64, to_us: i64) -> Option<u64> {
    (to_us > from_us).then(|| to_us.abs_diff(from_us))
}

/// Slots that do `tasks` in as many rounds as the time has room for; none when it has room for no round.
fn slots_for_rounds(tasks: u32, time_us: u64, round_us: u64) -> Option<u128> {
    let rounds = time_us.checked_div(round_us).unwrap_or(u64::MAX);
    (rounds > 0).then(|| u128::from(u64::from(tasks).div_ceil(rounds)))
}

fn clamp_slots(slots: u128, tasks: u32) -> u32 {
    u32::try_from(slots).unwrap_or(u32::MAX).max(1).min(tasks)
}

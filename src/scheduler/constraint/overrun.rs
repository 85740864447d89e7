//! Deadlines that no number of slots keeps, since a task cannot be cut.

use std::fmt;

use super::{JobWork, Model, Seconds};

/// How late a job ends at least: each of its tasks has a slot as soon as it may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// One task of each kind after the other, with the copy between, microseconds.
    takes_us: u64,
    has_maps: bool,
    has_reduces: bool,
    late_us: i64,
}

impl Overrun {
    /// Of a job whose next map, or first reduce if it has no maps, begins at `begin_us`; none: it may end in time.
    pub fn of(work: &JobWork, model: Model, begin_us: i64, due_us: i64) -> Option<Self> {
        let has_maps = work.maps > 0;
        let map_us = if has_maps { model.map_round_us(work) } else { 0 };
        let takes_us = map_us.saturating_add(model.after_maps_us(work));
        let late_us = begin_us.saturating_add_unsigned(takes_us).saturating_sub(due_us);
        (late_us > 0).then_some(Self { takes_us, has_maps, has_reduces: work.reduces > 0, late_us })
    }

    /// How late it ends at least, microseconds.
    pub fn late_us(self) -> i64 {
        self.late_us
    }
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |us: i64| Seconds { us };
        f.write_str(match (self.has_maps, self.has_reduces) {
            (true, true) => "a map, the copy of its output and a reduce alone take",
            (true, false) => "a map alone takes",
            (false, _) => "a reduce alone takes",
        })?;
        let takes = seconds(i64::try_from(self.takes_us).unwrap_or(i64::MAX));
        write!(f, " {takes} s: it will be late by about {} s", seconds(self.late_us))
    }
}

//! When map slots that no job was promised are free for the maps of a job: as the test of a deadline asks (seed 001,
//! Schedulability), and as early as at all.

use super::job_work::JobWork;
use super::ledger::PromiseLedger;
use super::model::Model;
use super::sums_by_time::ValueStep;

/// Map slots for all maps of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MapWindow {
    pub(super) slots: u32,
    pub(super) start_us: i64,
    pub(super) end_us: i64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FreeTime<'a> {
    pub(super) model: Model,
    pub(super) work: &'a JobWork,
    pub(super) ledger: &'a PromiseLedger,
    /// Map slots that deadlines may count on.
    pub(super) slots: u64,
    pub(super) now_us: i64,
}

/// Rectangles of free slots: the highest that began at each moment and have not ended.
struct Rectangles<'a> {
    free: FreeTime<'a>,
    /// When they began and how many slots they have, in ascending order of both.
    open: Vec<(i64, u32)>,
    best: Option<MapWindow>,
}

impl<'a> FreeTime<'a> {
    /// The first moment, now or when a promise ends, from which the least maps at a time that end by `latest_us` have
    /// free slots until they are done. If that number never has, more have for a shorter time.
    pub(super) fn window_until(&self, latest_us: i64) -> Option<MapWindow> {
        if self.work.maps == 0 {
            return (latest_us >= self.now_us).then(|| self.window(0, self.now_us));
        }
        let mut from_us = self.now_us;
        while let Some(slots) = self.model.least_maps(self.work, from_us, latest_us) {
            let Some(most) = self.slots.checked_sub(slots.into()) else { break };
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let during_us = self.model.maps_us(self.work, slots)?;
            let last_us = latest_us.saturating_sub_unsigned(during_us);
            // A fluid may be due before all maps at a time are done, once.
            if last_us < from_us && from_us > self.now_us {
                break;
            }
            let last_us = last_us.max(from_us);
            if let Some(start_us) = self.ledger.maps().first_low(most, during_us, from_us, last_us) {
                return Some(self.window(slots, start_us));
            }
            // From then on it needs more.
            let Some(next_us) = self.ledger.maps().first_drop(most, last_us) else { break };
            from_us = next_us;
        }
        self.first_window().filter(|window| window.end_us <= latest_us)
    }

    /// The window that ends first, whatever number of maps at a time it has.
    pub(super) fn first_window(&self) -> Option<MapWindow> {
        if self.work.maps == 0 {
            return Some(self.window(0, self.now_us));
        }
        let slots = i64::try_from(self.slots).unwrap_or(i64::MAX);
        let rectangles = Rectangles { free: *self, open: Vec::new(), best: None };
        rectangles.find(self.ledger.maps().steps_from(self.now_us, slots))
    }

    /// The same, by the formula, which knows no least size of a map, where all of them may start now.
    pub(super) fn first_end(&self) -> Option<MapWindow> {
        let (all, first) = (self.window(self.work.maps, self.now_us), self.first_window());
        let free = self.free_for(all.end_us.abs_diff(self.now_us));
        let slots = u32::try_from(free).unwrap_or(u32::MAX);
        let by_formula = MapWindow { end_us: self.window(slots, self.now_us).end_us, ..all };
        match free >= u64::from(self.work.maps) && self.work.maps > 0 {
            true => first.filter(|first| first.end_us < by_formula.end_us).or(Some(by_formula)),
            false => first,
        }
    }

    pub(super) fn free_for(&self, during_us: u64) -> u64 {
        self.slots.saturating_sub(self.ledger.most_maps(self.now_us, self.last_us(during_us)))
    }

    /// When more are free than from now on for so long; none: never.
    pub(super) fn more_free_at_us(&self, during_us: u64) -> Option<i64> {
        let maps = self.ledger.maps();
        let most = maps.peak_between(self.now_us, self.last_us(during_us));
        // That many are promised at one moment or another until then.
        let mut value = maps.steps_from(self.now_us, i64::MAX).skip_while(|step| step.value < most);
        maps.first_drop(most.saturating_sub(1), value.next()?.at_us)
    }

    fn last_us(&self, during_us: u64) -> i64 {
        self.now_us.saturating_add_unsigned(during_us.saturating_sub(1))
    }

    fn window(&self, slots: u32, start_us: i64) -> MapWindow {
        let during_us = self.model.maps_us(self.work, slots).unwrap_or(0);
        MapWindow { slots, start_us, end_us: start_us.saturating_add_unsigned(during_us) }
    }
}

impl Rectangles<'_> {
    /// Each is tried once, when it ends; the open ones at last, and once in as many steps as they are, so that the search
    /// ends soon after the first window.
    fn find(mut self, steps: impl Iterator<Item = ValueStep>) -> Option<MapWindow> {
        const LEAST_STEPS: usize = 32;
        let mut untried = 0;
        for ValueStep { at_us, value } in steps {
            untried += 1;
            if untried > self.open.len().max(LEAST_STEPS) {
                untried = 0;
                self.try_open(at_us);
            }
            if self.best.is_some_and(|best| best.end_us <= at_us) {
                self.try_open(at_us);
                return self.best;
            }
            self.step(at_us, self.free.free_slots(value));
        }
        self.try_open(i64::MAX);
        self.best
    }

    fn step(&mut self, at_us: i64, free: u32) {
        let mut start_us = at_us;
        while let Some((from_us, slots)) = self.open.pop_if(|(_, slots)| *slots > free) {
            self.try_one(from_us, slots, at_us);
            start_us = from_us;
        }
        if free > 0 && self.open.last().is_none_or(|(_, slots)| *slots < free) {
            self.open.push((start_us, free));
        }
    }

    fn try_open(&mut self, until_us: i64) {
        for place in 0..self.open.len() {
            let (from_us, slots) = self.open[place];
            self.try_one(from_us, slots, until_us);
        }
    }

    fn try_one(&mut self, from_us: i64, slots: u32, until_us: i64) {
        // Far cheaper than the exact test.
        let area = u128::from(until_us.abs_diff(from_us)) * u128::from(slots);
        if area < u128::from(self.free.model.least_area_us(self.free.work)) {
            return;
        }
        let window = self.free.window(slots, from_us);
        if window.end_us <= until_us && self.best.is_none_or(|best| window.end_us < best.end_us) {
            self.best = Some(window);
        }
    }
}

impl FreeTime<'_> {
    /// Free slots that all maps can use beside so many that are promised.
    fn free_slots(&self, promised: i64) -> u32 {
        let free = self.slots.saturating_sub(u64::try_from(promised).unwrap_or(0));
        u32::try_from(free).unwrap_or(u32::MAX).min(self.work.maps)
    }
}

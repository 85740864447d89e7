//! Law 10: beside those who play against it a steady bidder, which always has more to run than there are slots, is sold its
//! proportion of the map slots over any twenty intervals, and with preemption holds them.

use std::collections::VecDeque;

use crate::market::Tick;
use crate::model::{Credits, Kind, Now};

use super::wants::Wants;
use crate::engine::Engine;

/// Intervals that are judged together.
const WINDOW: usize = 20;
/// How long a tracker may be silent between two heartbeats without a fault, ms, and the time of a kill there.
const HEARTBEATS_MS: u64 = 3_000;

#[derive(Clone, Copy, Debug, Default)]
struct SoldInterval {
    quota: u32,
    /// Its proportion of all slots, in parts of [`PARTS`].
    due_parts: i128,
    /// What it held, in slot-milliseconds, and what setups and cleanups of all queues held beside it.
    held_ms: u128,
    housekeeping_ms: u128,
}

const PARTS: i128 = 1_000_000;

#[derive(Clone, Debug)]
pub(super) struct ShareChecker {
    queue: String,
    interval_ms: u64,
    /// Time between rounds of preemption, ms; none: it may have to wait for the ends of others' tasks.
    kill_interval_ms: Option<u64>,
    window: VecDeque<SoldInterval>,
    open: Option<SoldInterval>,
    slots: u64,
}

impl ShareChecker {
    pub(super) fn new(queue: String, interval_ms: u64, kill_interval_ms: Option<u64>) -> Self {
        Self { queue, interval_ms, kill_interval_ms, window: VecDeque::new(), open: None, slots: 0 }
    }

    pub(super) fn queue(&self) -> &str {
        &self.queue
    }

    /// Something else than the others has kept it from its slots, or they from theirs.
    pub(super) fn disturb(&mut self) {
        self.window.clear();
        self.open = None;
    }

    /// After each step: it must have more to run than there are slots, and the slots stay.
    pub(super) fn after_step(&mut self, engine: &Engine, now: Now) {
        let inspection = engine.inspect();
        let scheduler = inspection.scheduler();
        let slots = scheduler.totals().slots[Kind::Map];
        if self.open.is_none() && self.window.is_empty() {
            self.slots = slots;
            return;
        }
        let group = scheduler.group(&self.queue);
        let has_enough = group.is_some_and(|group| {
            u64::from(scheduler.waiting(group)[Kind::Map] + scheduler.usage(group)[Kind::Map]) >= slots
        });
        let at_work: u64 = inspection.trackers_at_work(now).map(|(_, slots)| u64::from(slots.map)).sum();
        let is_calm = slots > 0 && slots == self.slots && at_work == slots && !engine.is_in_safe_mode();
        self.slots = slots;
        if !is_calm || !has_enough || engine.drained_workers().next().is_some() {
            self.disturb();
        }
    }

    /// Closes an interval and opens the next, in which it has so many maps that any tracker could run.
    pub(super) fn after_tick(
        &mut self,
        tick: &Tick,
        closed: (u128, u128),
        wants: &Wants,
        maps: u64,
    ) -> Result<(), String> {
        if let Some(mut sold) = self.open.take() {
            (sold.held_ms, sold.housekeeping_ms) = closed;
            self.window.push_back(sold);
            if self.window.len() > WINDOW {
                self.window.pop_front();
            }
            self.check()?;
        }
        let mut rates = 0;
        let mut own = None;
        for (queue, interval) in tick.intervals() {
            let rate = interval.share.rate();
            let want = wants.get(queue.as_str()).copied().unwrap_or_default();
            if want.map + want.container > 0 {
                rates += rate.units();
            }
            if queue.as_str() == self.queue {
                let balance = tick.queue_ticks.iter().find(|one| one.queue == *queue).map(|one| one.balance);
                let is_rich = balance.is_some_and(|balance| {
                    balance.units() / 4 > rate.units().saturating_mul(i128::from(self.slots) + 1)
                });
                own = (rate > Credits::ZERO && is_rich).then_some((rate, interval.quota.map));
            }
        }
        match own.filter(|_| maps >= self.slots) {
            Some((rate, quota)) => {
                let due_parts = rate.units() / 1_000 * i128::from(self.slots) * PARTS / (rates / 1_000).max(1);
                self.open = Some(SoldInterval { quota, due_parts, ..SoldInterval::default() });
            }
            None => self.disturb(),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if self.window.len() < WINDOW {
            return Ok(());
        }
        let quotas: i128 = self.window.iter().map(|sold| i128::from(sold.quota)).sum();
        let due: i128 = self.window.iter().map(|sold| sold.due_parts).sum();
        // What rounding keeps from a queue is less than a slot at any time; its rates are cut here.
        if (quotas + 2) * PARTS < due {
            return Err(format!(
                "{} is sold {quotas} slots in {WINDOW} intervals; due are {due} millionths",
                self.queue
            ));
        }
        let Some(kill_interval_ms) = self.kill_interval_ms else { return Ok(()) };
        let mut gained = 0_u128;
        let mut before = 0;
        for sold in &self.window {
            gained += u128::from(sold.quota.saturating_sub(before));
            before = sold.quota;
        }
        let interval_ms = u128::from(self.interval_ms);
        let held_ms: u128 = self.window.iter().map(|sold| sold.held_ms + sold.housekeeping_ms).sum();
        let wait_ms = u128::from(kill_interval_ms + HEARTBEATS_MS) + interval_ms;
        let least_ms =
            (quotas.cast_unsigned() * interval_ms).saturating_sub(gained * wait_ms + WINDOW as u128 * interval_ms);
        if held_ms < least_ms {
            return Err(format!(
                "{} has held {held_ms} slot-ms of maps in {WINDOW} intervals, and should at least {least_ms}: {:?}",
                self.queue, self.window
            ));
        }
        Ok(())
    }
}

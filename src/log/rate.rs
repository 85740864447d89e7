//! Limits the log lines that one caller may cause: lines beyond it are counted, and reported in one line.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Burst of lines per address.
const BURST_LINES: u32 = 200;
/// Interval after which an address may cause one more.
const LINE_EVERY_MS: u64 = 200;
/// Addresses with an allowance each; further ones share one.
const MAX_ADDRESSES: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct LogRate {
    callers: RefCell<BTreeMap<Option<IpAddr>, LineAllowance>>,
    /// When full allowances may be looked for again: none fills sooner.
    sweep_at_ms: Cell<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogDecision {
    /// Write it; since the caller's last line so many were suppressed.
    Write { suppressed: u64 },
    /// Suppress it; it is counted.
    Suppress,
}

#[derive(Debug)]
struct LineAllowance {
    lines: u32,
    /// Time of the last refill, ms of the monotonic clock.
    at_ms: u64,
    suppressed: u64,
}

impl LineAllowance {
    fn refill(&mut self, now_ms: u64) {
        let more = now_ms.saturating_sub(self.at_ms) / LINE_EVERY_MS;
        self.at_ms += more * LINE_EVERY_MS;
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        self.lines = self.lines.saturating_add(more).min(BURST_LINES);
    }
}

impl LogRate {
    pub(crate) fn decide(&self, caller: IpAddr, now_ms: u64) -> LogDecision {
        let mut callers = self.callers.borrow_mut();
        let mut key = Some(caller);
        if !callers.contains_key(&key) && callers.len() >= MAX_ADDRESSES {
            if now_ms >= self.sweep_at_ms.get() {
                self.sweep_at_ms.set(now_ms.saturating_add(LINE_EVERY_MS));
                callers.retain(|_, allowance| {
                    allowance.refill(now_ms);
                    allowance.lines < BURST_LINES || allowance.suppressed > 0
                });
            }
            if callers.len() >= MAX_ADDRESSES {
                key = None;
            }
        }
        let fresh = || LineAllowance { lines: BURST_LINES, at_ms: now_ms, suppressed: 0 };
        let allowance = callers.entry(key).or_insert_with(fresh);
        allowance.refill(now_ms);
        match allowance.lines.checked_sub(1) {
            Some(left) => {
                allowance.lines = left;
                LogDecision::Write { suppressed: std::mem::take(&mut allowance.suppressed) }
            }
            None => {
                allowance.suppressed += 1;
                LogDecision::Suppress
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from(number).into()
    }

    fn written(rate: &LogRate, caller: u32, lines: u32, now_ms: u64) -> u32 {
        (0..lines).map(|_| u32::from(rate.decide(address(caller), now_ms) != LogDecision::Suppress)).sum()
    }

    #[test]
    fn beyond_its_burst_a_caller_causes_few_lines_and_others_are_not_touched() {
        let rate = LogRate::default();
        assert_eq!(written(&rate, 1, 100_000, 0), BURST_LINES);
        assert_eq!(written(&rate, 2, 5, 0), 5);
        assert_eq!(rate.decide(address(1), LINE_EVERY_MS), LogDecision::Write { suppressed: 99_800 });
        assert_eq!(rate.decide(address(1), LINE_EVERY_MS), LogDecision::Suppress);
        assert_eq!(written(&rate, 1, 100_000, 10_000 * LINE_EVERY_MS), BURST_LINES);
    }

    #[test]
    fn made_up_addresses_do_not_take_memory_without_end() {
        let rate = LogRate::default();
        for caller in 0..3 * MAX_ADDRESSES as u32 {
            rate.decide(address(caller), 0);
        }
        assert!(rate.callers.borrow().len() <= MAX_ADDRESSES + 1);
        // Full allowances are forgotten.
        rate.decide(address(u32::MAX), 1 << 40);
        assert!(rate.callers.borrow().len() <= 2, "{}", rate.callers.borrow().len());
    }
}

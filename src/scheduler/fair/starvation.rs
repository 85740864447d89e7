//! Since when a pool has less than it is due, and how many slots it wants by preemption (1.2.1 `FairScheduler.tasksToPreempt`).

use crate::scheduler::GroupId;

use super::share::FairShare;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entitlement {
    pub(crate) running: u32,
    pub(crate) demand: u32,
    pub(crate) min: u32,
    pub(crate) share: FairShare,
}

/// When a pool last had what it is due of one kind, ms of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StarvationClocks {
    at_min_ms: u64,
    at_half_share_ms: u64,
}

/// Times after which a pool preempts, ms; none = never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StarvationTimeouts {
    /// Below its minimum.
    pub(crate) min_share_ms: Option<u64>,
    /// Below half its fair share.
    pub(crate) fair_share_ms: Option<u64>,
}

/// Slots that a starving pool wants by preemption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WantedSlots {
    pub(crate) to_min: u32,
    pub(crate) to_share: u32,
}

impl WantedSlots {
    pub(crate) fn slots(self) -> u32 {
        self.to_min.max(self.to_share)
    }
}

impl Entitlement {
    fn has_min(&self) -> bool {
        self.running >= self.min.min(self.demand)
    }

    fn has_half_share(&self) -> bool {
        self.running >= self.share.half().min(FairShare::of_slots(self.demand)).whole_slots()
    }

    fn missing_to_min(&self) -> u32 {
        self.min.min(self.demand).saturating_sub(self.running)
    }

    fn missing_to_share(&self) -> u32 {
        self.share.min(FairShare::of_slots(self.demand)).whole_slots().saturating_sub(self.running)
    }
}

impl StarvationClocks {
    pub(crate) fn new(now_ms: u64) -> Self {
        Self { at_min_ms: now_ms, at_half_share_ms: now_ms }
    }

    /// Sets the clocks of what the pool has now. At each update while preemption is on.
    pub(crate) fn update(&mut self, entitlement: &Entitlement, now_ms: u64) {
        if entitlement.has_min() {
            self.at_min_ms = now_ms;
        }
        if entitlement.has_half_share() {
            self.at_half_share_ms = now_ms;
        }
    }

    /// Whether a timeout has passed: its jobs then take slots at any distance from their data.
    pub(crate) fn is_starving(&self, timeouts: StarvationTimeouts, now_ms: u64) -> bool {
        self.is_below_min(timeouts, now_ms) || self.is_below_half_share(timeouts, now_ms)
    }

    pub(crate) fn wanted(&self, entitlement: &Entitlement, timeouts: StarvationTimeouts, now_ms: u64) -> WantedSlots {
        WantedSlots {
            to_min: if self.is_below_min(timeouts, now_ms) { entitlement.missing_to_min() } else { 0 },
            to_share: if self.is_below_half_share(timeouts, now_ms) { entitlement.missing_to_share() } else { 0 },
        }
    }

    pub(crate) fn since_min_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.at_min_ms)
    }

    pub(crate) fn since_half_share_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.at_half_share_ms)
    }

    fn is_below_min(&self, timeouts: StarvationTimeouts, now_ms: u64) -> bool {
        timeouts.min_share_ms.is_some_and(|timeout_ms| self.since_min_ms(now_ms) > timeout_ms)
    }

    fn is_below_half_share(&self, timeouts: StarvationTimeouts, now_ms: u64) -> bool {
        timeouts.fair_share_ms.is_some_and(|timeout_ms| self.since_half_share_ms(now_ms) > timeout_ms)
    }
}

/// All pools, each after the one that contains it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolClaims {
    /// Slots that starving pools want together.
    pub(crate) wanted: u32,
    pub(crate) pools: Vec<PoolClaim>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolClaim {
    pub(crate) group: GroupId,
    pub(crate) parent: Option<GroupId>,
    /// Its name; of the part of a pool for its own jobs that of the pool.
    pub(crate) name: String,
    pub(crate) share: FairShare,
    pub(crate) wanted: WantedSlots,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: StarvationTimeouts = StarvationTimeouts { min_share_ms: Some(60_000), fair_share_ms: Some(60_000) };
    const MIN_ONLY: StarvationTimeouts = StarvationTimeouts { fair_share_ms: None, ..MINUTE };
    const SHARE_ONLY: StarvationTimeouts = StarvationTimeouts { min_share_ms: None, ..MINUTE };

    fn pool(running: u32, demand: u32, min: u32, share_millionths: u64) -> Entitlement {
        Entitlement { running, demand, min, share: FairShare(share_millionths) }
    }

    /// What a pool wants that has been like this for so long.
    fn wanted(pool: Entitlement, timeouts: StarvationTimeouts, after_ms: u64) -> u32 {
        let mut clocks = StarvationClocks::new(0);
        clocks.update(&pool, after_ms);
        clocks.wanted(&pool, timeouts, after_ms).slots()
    }

    #[test]
    fn row_16_a_timeout_of_a_minute_does_nothing_before_it_has_passed() {
        let maps = pool(0, 10, 2, 0);
        assert_eq!([59_000, 60_000, 60_001, 61_000].map(|ms| wanted(maps, MIN_ONLY, ms)), [0, 0, 2, 2]);
    }

    #[test]
    fn row_17_no_more_is_wanted_than_demanded() {
        assert_eq!([1, 2].map(|demand| wanted(pool(0, demand, 3, 0), MIN_ONLY, 61_000)), [1, 2]);
    }

    #[test]
    fn row_18_a_share_is_cut_down_to_whole_slots_and_half_of_it_is_enough() {
        assert_eq!([2, 0].map(|running| wanted(pool(running, 10, 0, 2_666_666), SHARE_ONLY, 61_000)), [0, 2]);
    }

    #[test]
    fn row_20_minimum_and_share_do_not_add_up() {
        assert_eq!(wanted(pool(0, 10, 2, 2_000_000), MINUTE, 61_000), 2);
    }

    #[test]
    fn without_timeouts_nothing_is_wanted() {
        let starving = pool(0, 10, 2, 2_000_000);
        assert_eq!(wanted(starving, StarvationTimeouts::default(), u64::MAX), 0);
        assert!(!StarvationClocks::new(0).is_starving(StarvationTimeouts::default(), u64::MAX));
    }

    #[test]
    fn a_pool_that_has_its_due_starts_its_clocks_again() {
        let mut clocks = StarvationClocks::new(0);
        clocks.update(&pool(2, 10, 2, 6_000_000), 1_000);
        assert_eq!((clocks.since_min_ms(1_500), clocks.since_half_share_ms(1_500)), (500, 1_500));
        clocks.update(&pool(3, 10, 4, 6_000_000), 2_000);
        assert_eq!((clocks.since_min_ms(2_500), clocks.since_half_share_ms(2_500)), (1_500, 500));
        assert!(clocks.is_starving(MINUTE, 61_001));
        assert!(!clocks.is_starving(SHARE_ONLY, 62_000));
    }
}

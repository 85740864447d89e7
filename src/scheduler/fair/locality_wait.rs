//! Delay scheduling: a job waits a while for slots near its data before it takes farther ones (1.2.1 `FairScheduler`
//! `getAllowedLocalityLevel`).

use crate::scheduler::Level;

const MAX_AUTOMATIC_DELAY_MS: u64 = 15_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalityDelays {
    /// For a slot on a host with its data, ms.
    pub(crate) node_ms: u64,
    /// Then for one in a rack with its data, ms.
    pub(crate) rack_ms: u64,
}

/// Configured delays; one that is not set follows the heartbeat interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalityDelayRule {
    /// `mapred.fairscheduler.locality.delay.node`, ms; none = automatic.
    pub(crate) node_ms: Option<u64>,
    /// `mapred.fairscheduler.locality.delay.rack`, ms; none = automatic.
    pub(crate) rack_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalityWait {
    last_level: Level,
    waited_ms: u64,
}

impl LocalityDelayRule {
    /// The delays while trackers report at this interval.
    pub(crate) fn delays(&self, heartbeat_interval_ms: u64) -> LocalityDelays {
        let automatic_ms = MAX_AUTOMATIC_DELAY_MS.min(heartbeat_interval_ms.saturating_mul(3) / 2);
        LocalityDelays { node_ms: self.node_ms.unwrap_or(automatic_ms), rack_ms: self.rack_ms.unwrap_or(automatic_ms) }
    }
}

impl LocalityWait {
    /// The farthest level that the job may take.
    pub(crate) fn allowed_level(&self, delays: LocalityDelays) -> Level {
        match self.last_level {
            Level::Node if self.waited_ms >= delays.node_ms.saturating_add(delays.rack_ms) => Level::Any,
            Level::Node if self.waited_ms >= delays.node_ms => Level::Rack,
            Level::Node => Level::Node,
            Level::Rack if self.waited_ms < delays.rack_ms => Level::Rack,
            Level::Rack | Level::Any => Level::Any,
        }
    }

    /// How much longer until a farther level than [`Self::allowed_level`] is allowed, ms; none at any level.
    pub(crate) fn remaining_ms(&self, delays: LocalityDelays) -> Option<u64> {
        let needed_ms = match (self.last_level, self.allowed_level(delays)) {
            (_, Level::Any) => return None,
            (Level::Node, Level::Rack) => delays.node_ms.saturating_add(delays.rack_ms),
            (_, Level::Node) => delays.node_ms,
            (_, Level::Rack) => delays.rack_ms,
        };
        Some(needed_ms.saturating_sub(self.waited_ms))
    }

    /// The job was skipped at the heartbeat before, this long ago.
    pub(crate) fn add_ms(&mut self, gap_ms: u64) {
        self.waited_ms = self.waited_ms.saturating_add(gap_ms);
    }

    /// A map of it was launched this far from its data.
    pub(crate) fn on_launch(&mut self, level: Level) {
        *self = Self { last_level: level, waited_ms: 0 };
    }

    pub(crate) fn last_level(&self) -> Level {
        self.last_level
    }

    pub(crate) fn waited_ms(&self) -> u64 {
        self.waited_ms
    }
}

impl Default for LocalityWait {
    fn default() -> Self {
        Self { last_level: Level::Node, waited_ms: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAYS: LocalityDelays = LocalityDelays { node_ms: 5_000, rack_ms: 10_000 };

    fn level(last_level: Level, waited_ms: u64) -> Level {
        LocalityWait { last_level, waited_ms }.allowed_level(DELAYS)
    }

    #[test]
    fn a_job_that_took_local_maps_waits_for_the_rack_and_then_for_any() {
        let levels = [0, 4_999, 5_000, 14_999, 15_000].map(|waited_ms| level(Level::Node, waited_ms));
        assert_eq!(levels, [Level::Node, Level::Node, Level::Rack, Level::Rack, Level::Any]);
    }

    #[test]
    fn a_job_that_took_a_map_of_its_rack_waits_for_any() {
        let levels = [0, 9_999, 10_000].map(|waited_ms| level(Level::Rack, waited_ms));
        assert_eq!(levels, [Level::Rack, Level::Rack, Level::Any]);
    }

    #[test]
    fn a_job_that_took_a_far_map_takes_any() {
        assert_eq!(level(Level::Any, 0), Level::Any);
    }

    #[test]
    fn a_launch_sets_the_level_and_ends_the_wait() {
        let mut wait = LocalityWait::default();
        assert_eq!((wait.last_level(), wait.waited_ms()), (Level::Node, 0));
        wait.add_ms(6_100);
        wait.add_ms(100);
        assert_eq!(wait.waited_ms(), 6_200);
        wait.on_launch(Level::Rack);
        assert_eq!((wait.last_level(), wait.waited_ms()), (Level::Rack, 0));
    }

    #[test]
    fn without_delays_any_level_is_allowed_at_once() {
        assert_eq!(LocalityWait::default().allowed_level(LocalityDelays::default()), Level::Any);
    }

    #[test]
    fn automatic_delays_follow_the_interval_and_a_configured_one_holds() {
        let automatic = LocalityDelayRule::default();
        assert_eq!(automatic.delays(3_000), LocalityDelays { node_ms: 4_500, rack_ms: 4_500 });
        assert_eq!(automatic.delays(60_000), LocalityDelays { node_ms: 15_000, rack_ms: 15_000 });
        let half = LocalityDelayRule { node_ms: Some(7), rack_ms: None };
        assert_eq!(half.delays(1_000), LocalityDelays { node_ms: 7, rack_ms: 1_500 });
    }
}

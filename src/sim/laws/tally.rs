//! The figures of a run.

use crate::model::Credits;

/// The figures of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Steps of the engine.
    pub events: u64,
    /// Virtual time, ms.
    pub time_ms: u64,
    /// Jobs accepted.
    pub jobs: u64,
    /// Attempts launched.
    pub attempts: u64,
    /// Attempts preempted.
    pub preempted: u64,
    /// Ticks of the market.
    pub ticks: u64,
    /// Rounds of preemption that chose a victim.
    pub rounds: u64,
    /// Credits issued, less those withdrawn.
    pub issued: Credits,
    /// Credits charged.
    pub charged: Credits,
    /// Crashes and stops of the JobTracker.
    pub crashes: u64,
    /// Containers that ended.
    pub containers: u64,
    /// Hash of all facts and replies.
    pub hash: u64,
}

//! The figures of a run.

use crate::model::Credits;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Steps of the engine.
    pub events: u64,
    /// Virtual time, ms.
    pub time_ms: u64,
    pub jobs: u64,
    pub attempts: u64,
    pub preempted: u64,
    pub ticks: u64,
    /// Rounds of preemption that chose a victim.
    pub rounds: u64,
    /// Credits issued, less those withdrawn.
    pub issued: Credits,
    pub charged: Credits,
    /// Crashes and stops of the JobTracker.
    pub crashes: u64,
    /// Containers that ended.
    pub containers: u64,
    /// Hash of all facts and replies.
    pub hash: u64,
}

//! The figures of a run, and a hash of everything that was decided, so that two runs can be compared (law 7): over the text
//! of each fact, effect, wait and reply. Another member of any of them is another hash. In a long run it takes in one step of
//! several: what is decided otherwise between them shows in those that follow.

use std::fmt::{self, Write};

use sha2::{Digest as _, Sha256};

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

#[derive(Clone, Debug, Default)]
pub(super) struct Digest {
    hash: Sha256,
    /// The text that is added next: many small pieces.
    text: String,
    /// One step of so many is taken in, and whether this one is.
    every: u64,
    skips: bool,
}

/// Runs up to this length are taken in whole.
const LONGEST_WHOLE_EVENTS: u64 = 100_000;
/// Of longer ones one step of so many.
const STEPS_OF_LONG_RUNS: u64 = 16;

impl Digest {
    pub(super) fn of_a_run(events: u64) -> Self {
        let every = if events > LONGEST_WHOLE_EVENTS { STEPS_OF_LONG_RUNS } else { 1 };
        Self { every, ..Self::default() }
    }

    pub(super) fn begin_step(&mut self, number: u64) {
        self.skips = !number.is_multiple_of(self.every);
    }

    /// The first 64 bits of it.
    pub(super) fn value(&self) -> u64 {
        let hash: [u8; 32] = self.hash.clone().finalize().into();
        hash[..8].iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    pub(super) fn add(&mut self, decided: &impl fmt::Debug) {
        if self.skips {
            return;
        }
        self.text.clear();
        // A string takes all text.
        let _ = writeln!(self.text, "{decided:?}");
        self.hash.update(&self.text);
    }
}

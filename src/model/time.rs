//! The clock and the order of events: a time that comes with each event, and the numbers of facts.

/// The time of an event, read by the edge that delivers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    /// Monotonic clock, ms: intervals, expiry, ticks and kills are measured with it.
    pub mono_ms: u64,
    /// Wall clock, ms since the epoch: signatures, job times and texts. May jump either way.
    pub wall_ms: i64,
}

/// The position of a fact in the one order of all facts. The first fact is number 1; 0 is before all facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactNumber(pub u64);

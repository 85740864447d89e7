//! Time as the engine uses it: a value that comes with each event.

/// The time of an event, read by the edge that delivers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    /// Monotonic clock, ms: intervals, expiry, ticks and kills are measured with it.
    pub mono_ms: u64,
    /// Wall clock, ms since the epoch: signatures, job times and texts. May jump either way.
    pub wall_ms: i64,
}

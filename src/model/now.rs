//! Time as the engine sees it: a value that comes with each event.

/// The moment an event happened, read by the edge that delivers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    /// Milliseconds of a clock that never goes back: intervals, expiry, ticks and kills are measured with it.
    pub mono_ms: u64,
    /// Milliseconds since the epoch: signatures, job times and texts. May jump either way.
    pub wall_ms: i64,
}

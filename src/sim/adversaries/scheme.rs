//! The ways in which tenants play.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sim) enum Scheme {
    /// Honest: a constant bid, and always more to run than there are slots.
    Steady,
    /// Runs short tasks between ticks.
    ClockPlayer,
    /// Asks for what fits nowhere.
    Phantom,
    /// Asks, holds and returns.
    Hoarder,
    /// Ignores TERM.
    Clinger,
    /// Has many queues, with many jobs and applications.
    Splitter,
    /// Bids up and down around ticks.
    Flipper,
    /// Bids next to nothing and runs for long on what others leave; a phantom helps it.
    FreeRider,
}

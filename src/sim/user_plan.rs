//! A user of a seed, and how it plays against the market.

use crate::model::Credits;

#[derive(Clone, Debug)]
pub(crate) struct UserPlan {
    pub(crate) name: String,
    /// Money at the start; none: the queue does not exist yet.
    pub(crate) budget: Option<Credits>,
    pub(crate) rate: Credits,
    /// How it plays against the market; none: it is honest, and does as it likes.
    pub(super) scheme: Option<Scheme>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sim) enum Scheme {
    /// Honest: a constant bid, and always more to run than there are slots.
    Steady,
    ClockPlayer,
    Phantom,
    Hoarder,
    Clinger,
    Splitter,
    Flipper,
    /// Bids next to nothing and runs for long on what others leave; a phantom helps it.
    FreeRider,
}

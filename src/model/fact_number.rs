//! The numbers of facts.

/// The position of a fact in the one order of all facts. The first fact is number 1; 0 is before all facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactNumber(pub u64);

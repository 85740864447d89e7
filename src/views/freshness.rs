//! How long a look counts, and how old what is no fact may be.

/// So long after the last look the owner still speaks every second, ms.
pub(super) const LOOKED_MS: u64 = 15_000;
/// Age up to which what is no fact is shown without waiting, ms: a second, and what a walk and a publication take.
pub(super) const FRESH_MS: u64 = 1_250;

//! Exit codes that several commands share.

/// Wrong usage or configuration, and a refusal.
pub(super) const WRONG_USAGE: u8 = 2;
/// A denial, and a missing signature.
pub(super) const DENIED: u8 = 3;
/// Ctrl-C, as is usual for shells.
pub(super) const INTERRUPTED: u8 = 130;

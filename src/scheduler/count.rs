//! Counts that cannot wrap.
//!
//! A wrong count makes a wrong decision, a wrapped one makes four thousand million wrong decisions.

/// Raises a count, at most to the top.
pub(super) fn raise(count: &mut u32, by: u32) {
    *count = count.saturating_add(by);
}

/// Lowers a count, at most to zero.
pub(super) fn lower(count: &mut u32, by: u32) {
    debug_assert!(*count >= by, "a count of {count} cannot drop by {by}");
    *count = count.saturating_sub(by);
}

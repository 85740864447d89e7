//! Counts that cannot wrap.
//!
//! A wrong count makes a wrong decision, a wrapped one makes four thousand million wrong decisions.

/// Raises a count, at most to the top.
pub(super) fn raise(count: &mut u32, by: u32) {
    *count = count.saturating_add(by);
}

/// Raises a sum over the cluster. In 64 bits it cannot saturate, so what is taken out again leaves what was there.
pub(super) fn raise_sum(sum: &mut u64, by: u32) {
    *sum = sum.saturating_add(u64::from(by));
}

/// Lowers such a sum.
pub(super) fn lower_sum(sum: &mut u64, by: u32) {
    debug_assert!(*sum >= u64::from(by), "a sum of {sum} cannot drop by {by}");
    *sum = sum.saturating_sub(u64::from(by));
}

/// Lowers a count, at most to zero.
pub(super) fn lower(count: &mut u32, by: u32) {
    debug_assert!(*count >= by, "a count of {count} cannot drop by {by}");
    *count = count.saturating_sub(by);
}

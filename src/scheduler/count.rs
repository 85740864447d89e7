//! Saturating counts: a count that wrapped would grant four thousand million slots.

/// Adds to a count, saturating.
pub(super) fn raise(count: &mut u32, by: u32) {
    *count = count.saturating_add(by);
}

/// Adds to a sum over the cluster. 64 bits never saturate, so a later subtraction restores the old value.
pub(super) fn raise_sum(sum: &mut u64, by: u32) {
    *sum = sum.saturating_add(u64::from(by));
}

/// Subtracts from a sum over the cluster.
pub(super) fn lower_sum(sum: &mut u64, by: u32) {
    debug_assert!(*sum >= u64::from(by), "a sum of {sum} cannot drop by {by}");
    *sum = sum.saturating_sub(u64::from(by));
}

/// Subtracts from a count, saturating at zero.
pub(super) fn lower(count: &mut u32, by: u32) {
    debug_assert!(*count >= by, "a count of {count} cannot drop by {by}");
    *count = count.saturating_sub(by);
}

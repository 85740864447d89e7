//! The order of jobs in a queue.

use crate::scheduler::capacity::JobRank;

#[test]
fn without_priorities_the_start_decides_and_then_the_id() {
    let rank = |priority, start_ms, order| JobRank::new(false, priority, start_ms, order);
    assert!(rank(4, 1, 9) < rank(0, 2, 1));
    assert!(rank(4, 1, 1) < rank(0, 1, 2));
}

#[test]
fn with_priorities_they_decide_first() {
    let rank = |priority, start_ms, order| JobRank::new(true, priority, start_ms, order);
    assert!(rank(0, 9, 9) < rank(1, 1, 1));
    assert!(rank(2, 1, 9) < rank(2, 2, 1));
    assert!(rank(2, 1, 1) < rank(2, 1, 2));
}

//! The table of user limits.

use super::*;
use crate::scheduler::capacity::{SlotShare, SlotVerdict, UserLimit};

struct Row {
    capacity: u32,
    occupied: u32,
    slots: u32,
    active_users: u32,
    minimum_percent: u32,
    factor: i32,
}

fn limit(row: Row) -> u64 {
    user_limit(&row).slots(row.slots)
}

fn user_limit(row: &Row) -> UserLimit {
    UserLimit {
        share: SlotShare { capacity: row.capacity, maximum: None },
        occupied: row.occupied,
        active_users: row.active_users,
        minimum_percent: row.minimum_percent,
        factor: Decimal::whole(row.factor),
    }
}

const HUNDRED: Row = Row { capacity: 100, occupied: 0, slots: 1, active_users: 1, minimum_percent: 25, factor: 1 };
const FULL: Row = Row { capacity: 100, occupied: 100, slots: 1, active_users: 1, minimum_percent: 100, factor: 1 };

#[test]
fn row_1_one_user_gets_the_queue() {
    assert_eq!(limit(HUNDRED), 100);
}

#[test]
fn row_2_two_users_get_a_half_each() {
    assert_eq!(limit(Row { active_users: 2, ..HUNDRED }), 50);
}

#[test]
fn row_3_a_third_is_rounded_up() {
    assert_eq!(limit(Row { active_users: 3, ..HUNDRED }), 34);
}

#[test]
fn row_4_from_four_users_on_the_minimum_counts() {
    assert_eq!(limit(Row { active_users: 4, ..HUNDRED }), 25);
    assert_eq!(limit(Row { active_users: 5, ..HUNDRED }), 25);
}

#[test]
fn row_5_a_factor_of_one_keeps_a_user_within_the_capacity() {
    assert_eq!(limit(FULL), 100);
}

#[test]
fn row_6_a_factor_of_two_lets_a_user_exceed_it() {
    assert_eq!(limit(Row { factor: 2, ..FULL }), 101);
}

#[test]
fn row_7_a_queue_of_no_slot_runs_one_task() {
    let row = Row { capacity: 0, occupied: 0, slots: 1, active_users: 1, minimum_percent: 25, factor: 1 };
    assert_eq!(limit(row), 1);
}

#[test]
fn row_8_and_no_second_one() {
    let row = Row { capacity: 0, occupied: 1, slots: 1, active_users: 1, minimum_percent: 25, factor: 1 };
    assert_eq!(limit(row), 1);
}

#[test]
fn row_9_a_task_of_four_slots_counts_whole() {
    let row = Row { capacity: 10, occupied: 8, slots: 4, active_users: 1, minimum_percent: 50, factor: 2 };
    assert_eq!(limit(row), 12);
}

#[test]
fn row_10_two_users_below_capacity() {
    let row = Row { capacity: 4, occupied: 2, slots: 1, active_users: 2, minimum_percent: 50, factor: 1 };
    assert_eq!(limit(row), 2);
}

#[test]
fn row_11_two_users_above_capacity() {
    let row = Row { capacity: 4, occupied: 4, slots: 1, active_users: 2, minimum_percent: 50, factor: 1 };
    assert_eq!(limit(row), 3);
}

#[test]
fn a_user_may_reach_the_limit_and_not_pass_it() {
    let two_users = user_limit(&Row { active_users: 2, ..HUNDRED });
    assert_eq!(two_users.verdict(49, 1), SlotVerdict::Allowed);
    assert_eq!(two_users.verdict(50, 1), SlotVerdict::UserAtLimit { limit: 50 });
    assert_eq!(two_users.verdict(48, 3), SlotVerdict::UserAtLimit { limit: 50 });
}

#[test]
fn the_maximum_of_the_queue_comes_first() {
    let mut limit = user_limit(&HUNDRED);
    limit.share.maximum = Some(50);
    limit.occupied = 50;
    assert_eq!(limit.verdict(0, 1), SlotVerdict::QueueAtMaximum { maximum: 50 });
    limit.occupied = 49;
    assert_eq!(limit.verdict(0, 1), SlotVerdict::Allowed);
}

#[test]
fn no_active_user_counts_as_one() {
    assert_eq!(limit(Row { active_users: 0, ..HUNDRED }), 100);
}

#[test]
fn a_factor_is_exact() {
    let limit = |factor: &str| UserLimit { factor: decimal(factor), ..user_limit(&HUNDRED) }.slots(1);
    assert_eq!((limit("0.29"), limit("0.295"), limit("0.009")), (29, 29, 0));
}

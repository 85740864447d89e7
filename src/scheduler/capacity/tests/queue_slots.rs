//! Usage of a queue by user, and which users a change releases.

use std::sync::Arc;

use super::*;
use crate::scheduler::GroupId;
use crate::scheduler::capacity::queue_slots::{AppHolding, QueueSlots, Released, UserRule};
use crate::scheduler::capacity::{SlotShare, SlotVerdict};

const ALICE: GroupId = GroupId::ROOT.next();
const BOB: GroupId = ALICE.next();

fn slots(slots: u32) -> AppHolding {
    AppHolding { running_tasks: slots, slots }
}

/// A queue of four slots, half of it for each of two users who have an app of one-slot tasks.
fn queue(maximum: Option<u32>) -> QueueSlots {
    let rule = UserRule { minimum_percent: 50, factor: Decimal::whole(1) };
    let mut queue = QueueSlots::new(rule, SlotShare { capacity: 4, maximum });
    for (user, name) in [(ALICE, "alice"), (BOB, "bob")] {
        queue.add_app(user, &Arc::from(name), 1);
        queue.set_active(user, true);
    }
    queue.release();
    queue
}

#[test]
fn each_of_two_active_users_has_half_of_the_queue() {
    let mut queue = queue(None);
    queue.change_holding(ALICE, slots(0), slots(2));
    assert_eq!(queue.verdict(ALICE, 1), SlotVerdict::UserAtLimit { limit: 2 });
    assert_eq!(queue.verdict(BOB, 1), SlotVerdict::Allowed);
}

#[test]
fn an_inactive_user_releases_the_other_one() {
    let mut queue = queue(None);
    queue.change_holding(ALICE, slots(0), slots(2));
    assert_eq!(queue.release(), Released::default());
    queue.set_active(BOB, false);
    assert_eq!(queue.release(), Released { users: vec![ALICE], ..Released::default() });
    assert_eq!(queue.verdict(ALICE, 1), SlotVerdict::Allowed);
}

#[test]
fn usage_beyond_the_capacity_raises_the_limit_of_those_who_stand_at_it() {
    let mut queue = queue(None);
    queue.change_holding(ALICE, slots(0), slots(3));
    queue.release();
    queue.change_holding(BOB, slots(0), slots(2));
    // Half of six.
    assert_eq!(queue.release(), Released { users: vec![BOB], ..Released::default() });
    assert_eq!(queue.verdict(BOB, 1), SlotVerdict::Allowed);
    assert_eq!(queue.verdict(ALICE, 1), SlotVerdict::UserAtLimit { limit: 3 });
}

#[test]
fn a_queue_below_its_maximum_again_is_released() {
    let mut queue = queue(Some(4));
    queue.change_holding(ALICE, slots(0), slots(4));
    queue.release();
    assert!(queue.is_full());
    queue.change_holding(ALICE, slots(4), slots(3));
    assert!(queue.release().queue && !queue.is_full());
    assert_eq!(queue.release(), Released::default());
}

#[test]
fn a_larger_share_releases_users_below_the_larger_limit() {
    let mut queue = queue(None);
    queue.change_holding(ALICE, slots(0), slots(2));
    queue.set_share(SlotShare { capacity: 6, maximum: None });
    assert_eq!(queue.release(), Released { users: vec![ALICE], ..Released::default() });
}

#[test]
fn tasks_of_several_slots_have_a_limit_of_their_own() {
    let rule = UserRule { minimum_percent: 25, factor: Decimal::whole(10) };
    let mut queue = QueueSlots::new(rule, SlotShare { capacity: 0, maximum: None });
    queue.add_app(ALICE, &Arc::from("alice"), 1);
    assert!(queue.has_one_size());
    queue.add_app(ALICE, &Arc::from("alice"), 2);
    assert!(!queue.has_one_size());
    queue.change_holding(ALICE, slots(0), slots(10));
    // Ten times the queue, which has room for one task of the job.
    assert_eq!(queue.verdict(ALICE, 1), SlotVerdict::UserAtLimit { limit: 10 });
    assert_eq!(queue.verdict(ALICE, 2), SlotVerdict::Allowed);
    assert!(!queue.release().single_apps);
    queue.remove_app(ALICE, 2);
    assert!(queue.has_one_size());
    assert!(queue.release().single_apps && !queue.release().single_apps);
}

#[test]
fn users_without_apps_are_gone_from_the_report() {
    let mut queue = queue(None);
    queue.change_holding(ALICE, slots(0), AppHolding { running_tasks: 1, slots: 3 });
    let usage = queue.usage();
    assert_eq!((usage.running_tasks, usage.occupied), (1, 3));
    assert_eq!(usage.by_user.into_iter().collect::<Vec<_>>(), [(Arc::from("alice"), 3), (Arc::from("bob"), 0)]);
    queue.set_active(BOB, false);
    queue.remove_app(BOB, 1);
    assert_eq!(queue.usage().by_user.len(), 1);
}

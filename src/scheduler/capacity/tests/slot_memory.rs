//! Slots by memory.

use crate::model::{Kind, PerKind};
use crate::scheduler::capacity::SlotMemory;

#[test]
fn a_task_takes_as_many_slots_as_its_memory_fills() {
    let memory = SlotMemory::new(PerKind::new(1024, 2048));
    assert_eq!([1, 1024, 1025, 4096].map(|task_mb| memory.slots_per_task(Kind::Map, task_mb)), [1, 1, 2, 4]);
    assert_eq!([0, 2048, 7168].map(|task_mb| memory.slots_per_task(Kind::Reduce, task_mb)), [1, 1, 4]);
}

#[test]
fn a_node_has_room_for_what_its_free_slots_hold() {
    let memory = SlotMemory::new(PerKind::new(1024, 2048));
    assert!(memory.has_room(Kind::Map, 2048, 2, 0));
    assert!(!memory.has_room(Kind::Map, 2048, 2, 1));
    assert!(!memory.has_room(Kind::Map, 1, 2, 3));
    assert!(memory.has_room(Kind::Reduce, 7168, 4, 0) && !memory.has_room(Kind::Reduce, 7168, 3, 0));
}

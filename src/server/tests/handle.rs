//! What health says, and what senders see of an owner that is gone.

use super::*;
use crate::model::FactNumber;
use crate::web::Owner as _;

#[test]
fn health_reports_stuck_threads() {
    let durable =
        Durable { number: FactNumber(0), health: crate::store::Health::Good, missed_updates: Default::default() };
    let (_store, durable) = watch::channel(durable);
    let (handle, requests) = OwnerHandle::new(durable, SharedPresence::new(MarketPresence::Absent), None, None);
    requests.serving().set(true);
    let health =
        |stuck| handle.clone().with_health_of_files(StuckThreads::of(stuck, 16), AwaitedFiles::default()).health();
    assert!(health(0).is_ready && health(0).text == "ok");
    let some = health(3);
    assert!(some.is_ready && some.text.contains("3 of 16 threads"), "{some:?}");
    let all = health(16);
    assert!(!all.is_ready && all.is_alive && all.text.contains("all threads for files of jobs are stuck"), "{all:?}");
}

//! The snapshot of the cluster that pages show: many viewers cost as much as one.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::engine::ClusterSnapshot;

use super::owner::Owner;

/// Maximum age of a shown snapshot, ms.
const FRESH_MS: u64 = 250;
/// Maximum wait until a snapshot is durable; then the previous one is shown.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(2);

/// The last snapshot shown.
#[derive(Default)]
pub(super) struct ShownSnapshot(RefCell<Snapshot>);

#[derive(Default)]
struct Snapshot {
    overview: Arc<ClusterSnapshot>,
    taken_ms: Option<u64>,
    /// Waiters for the next snapshot, while its facts are not durable.
    waiting: Vec<oneshot::Sender<Arc<ClusterSnapshot>>>,
}

// === impl ShownSnapshot ===

impl ShownSnapshot {
    /// Answers with the last snapshot while it is fresh, else builds one; concurrent requests share it.
    pub(super) fn show(
        self: &Rc<Self>,
        owner: &Rc<Owner>,
        reply: oneshot::Sender<Arc<ClusterSnapshot>>,
        in_hand: &mut JoinSet<()>,
    ) {
        let now = owner.clock().now();
        let is_fresh = self.0.borrow().taken_ms.is_some_and(|taken_ms| now.mono_ms < taken_ms + FRESH_MS);
        if is_fresh {
            // The requester may have left.
            let _ = reply.send(self.0.borrow().overview.clone());
            return;
        }
        let is_in_the_making = {
            let waiting = &mut self.0.borrow_mut().waiting;
            waiting.push(reply);
            waiting.len() > 1
        };
        if is_in_the_making {
            return;
        }
        let read = owner.overview(now);
        let (owner, shown) = (owner.clone(), self.clone());
        in_hand.spawn_local(async move {
            let durable = tokio::time::timeout(SNAPSHOT_TIMEOUT, owner.wait_durable(read.wait_for));
            let is_durable = durable.await.is_ok_and(|waited| waited.is_ok());
            let mut snapshot = shown.0.borrow_mut();
            if is_durable {
                snapshot.overview = Arc::new(read.value);
                snapshot.taken_ms = Some(now.mono_ms);
            }
            for reply in std::mem::take(&mut snapshot.waiting) {
                let _ = reply.send(snapshot.overview.clone());
            }
        });
    }
}

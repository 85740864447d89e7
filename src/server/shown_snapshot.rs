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
/// The same while the store cannot write.
const FAILING_TIMEOUT: Duration = Duration::from_millis(50);

/// The last snapshot shown.
#[derive(Default)]
pub(super) struct ShownSnapshot(RefCell<Snapshot>);

#[derive(Default)]
struct Snapshot {
    /// The last one, and when it was taken, ms of the monotonic clock; none was durable yet.
    last: Option<(Arc<ClusterSnapshot>, u64)>,
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
        let is_fresh = |(_, taken_ms): &&(_, u64)| now.mono_ms < taken_ms + FRESH_MS;
        if let Some((overview, _)) = self.0.borrow().last.as_ref().filter(is_fresh) {
            // The requester may have left.
            let _ = reply.send(overview.clone());
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
            let limit = if owner.store_health().is_good() { SNAPSHOT_TIMEOUT } else { FAILING_TIMEOUT };
            let durable = tokio::time::timeout(limit, owner.wait_durable(read.wait_for));
            let is_durable = durable.await.is_ok_and(|waited| waited.is_ok());
            let mut snapshot = shown.0.borrow_mut();
            if is_durable {
                snapshot.last = Some((Arc::new(read.value), now.mono_ms));
            }
            // Nothing is shown of what was never durable: the waiters see that no answer comes.
            let waiting = std::mem::take(&mut snapshot.waiting);
            if let Some((overview, _)) = &snapshot.last {
                for reply in waiting {
                    let _ = reply.send(overview.clone());
                }
            }
        });
    }
}

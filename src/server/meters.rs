//! What the threads of the daemon count of their own work, read for metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ipc::RpcMeter;
use crate::store::StoreMeter;
use crate::web::{OwnWork, UsedLimit};

#[derive(Clone, Debug)]
pub(super) struct Meters {
    pub(super) rpc: RpcMeter,
    pub(super) store: Option<StoreMeter>,
    pub(super) reloads: ReloadCounts,
    /// Most tasks of unfinished jobs.
    pub(super) max_tasks: Option<u64>,
}

impl Meters {
    /// What was counted; `requests`: those of the web that wait for the owner, and the most. None without a store that counts.
    pub(super) fn read(&self, requests: (u64, u64)) -> Option<OwnWork> {
        let (rpc, store) = (&self.rpc, self.store.as_ref()?);
        let (reloads_done, reloads_failed) = self.reloads.read();
        let limit = |name, (used, most)| UsedLimit { name, used, most };
        Some(OwnWork {
            heartbeats: rpc.heartbeats(),
            commits: store.commit_times(),
            facts_waiting: store.waiting_facts().0,
            reloads_done,
            reloads_failed,
            limits: vec![
                limit("rpc_connections", rpc.connections()),
                limit("waiting_facts", store.waiting_facts()),
                limit("waiting_requests", requests),
            ],
            max_tasks: self.max_tasks,
        })
    }
}

/// Counts reloads. Cheap to clone, for any thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReloadCounts(Arc<[AtomicU64; 2]>);

impl ReloadCounts {
    pub(crate) fn add(&self, is_done: bool) {
        self.0[usize::from(is_done)].fetch_add(1, Ordering::Relaxed);
    }

    /// Those that changed what they say, and those that changed nothing.
    pub(super) fn read(&self) -> (u64, u64) {
        let [failed, done] = self.0.each_ref().map(|count| count.load(Ordering::Relaxed));
        (done, failed)
    }
}

//! What the threads of the daemon count of their own work, read for metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ipc::RpcMeter;
use crate::store::StoreMeter;
use crate::web::{OwnWork, UsedLimit};

#[derive(Clone, Debug, Default)]
pub(super) struct Meters {
    rpc: Option<RpcMeter>,
    store: Option<StoreMeter>,
    reloads: ReloadCounts,
    /// Most tasks of unfinished jobs.
    max_tasks: Option<u64>,
}

impl Meters {
    /// What was counted; `requests`: those of the web that wait for the owner, and the most. None where nothing counts.
    pub(super) fn read(&self, requests: (u64, u64)) -> Option<OwnWork> {
        let (rpc, store) = (self.rpc.as_ref()?, self.store.as_ref()?);
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
    /// The same with what the RPC server counts, and the most tasks of unfinished jobs.
    pub(super) fn with_rpc(self, rpc: RpcMeter, max_tasks: Option<u64>) -> Self {
        Self { rpc: Some(rpc), max_tasks, ..self }
    }

    pub(super) fn with_store(self, store: StoreMeter) -> Self {
        Self { store: Some(store), ..self }
    }

    pub(super) fn reload_counts(&self) -> ReloadCounts {
        self.reloads.clone()
    }
}

/// Counts reloads. Cheap to clone, for any thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReloadCounts(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    done: AtomicU64,
    failed: AtomicU64,
}

impl ReloadCounts {
    pub(crate) fn add(&self, is_done: bool) {
        let Counts { done, failed } = &*self.0;
        if is_done { done } else { failed }.fetch_add(1, Ordering::Relaxed);
    }

    /// Those that changed what they say, and those that changed nothing.
    pub(super) fn read(&self) -> (u64, u64) {
        (self.0.done.load(Ordering::Relaxed), self.0.failed.load(Ordering::Relaxed))
    }
}

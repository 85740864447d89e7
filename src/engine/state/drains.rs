//! Workers that administrators drain: they keep what runs on them and get no new tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{WorkerState, WorkerStatus};
use crate::model::PerKind;

/// A worker that gets no new tasks until it is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// The name that the worker was given, or the name of its tracker.
    pub(crate) worker: Arc<str>,
    pub(crate) user: Arc<str>,
    /// Since when, epoch ms.
    pub(crate) since_ms: i64,
}

impl Drain {
    pub(crate) fn absent_worker(&self) -> WorkerStatus {
        WorkerStatus {
            worker: self.worker.to_string(),
            state: WorkerState::Absent,
            is_draining: true,
            drained_by: Some(self.user.to_string()),
            drained_since_ms: Some(self.since_ms),
            tracker: None,
            host: None,
            rack: None,
            http: None,
            slots: PerKind::default(),
            used: PerKind::default(),
            containers: 0,
            since_ms: None,
            last_seen_ms: None,
            complaints: String::new(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Drains {
    by_worker: BTreeMap<Arc<str>, Drain>,
}

/// Most drained workers: names stay until they are resumed.
pub(crate) const MAX_DRAINS: usize = 1_000;

impl Drains {
    pub(crate) fn restored(drains: Vec<Drain>) -> Self {
        Self { by_worker: drains.into_iter().map(|drain| (Arc::clone(&drain.worker), drain)).collect() }
    }

    /// Drains a worker; the caller has checked that there is room and that it is not drained.
    pub(crate) fn add(&mut self, drain: Drain) {
        self.by_worker.insert(Arc::clone(&drain.worker), drain);
    }

    /// Ends the drain of a worker; returns whether there was one.
    pub(crate) fn remove(&mut self, worker: &str) -> bool {
        self.by_worker.remove(worker).is_some()
    }

    pub(crate) fn get(&self, worker: &str) -> Option<&Drain> {
        self.by_worker.get(worker)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Drain> {
        self.by_worker.values()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.by_worker.len() >= MAX_DRAINS
    }
}

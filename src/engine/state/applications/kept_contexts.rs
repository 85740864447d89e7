//! Contexts that workers keep, so that each goes to a worker once.
//!
//! Invariant: a worker that was sent a context is notified when nothing runs it any more.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::ContextId;
use crate::model::ContainerId;

use super::table::Applications;

impl Applications {
    /// A worker says which contexts it keeps, and need not keep those that are not there any more.
    pub(super) fn list_contexts(&mut self, tracker: &Arc<str>, listed: &[ContextId]) {
        self.forget_contexts_of(tracker);
        let is_there = |id: &ContextId| {
            self.get(id.application).is_some_and(|application| application.contexts.contains_key(&id.number))
        };
        let (kept, dropped): (BTreeSet<ContextId>, BTreeSet<ContextId>) = listed.iter().copied().partition(is_there);
        for id in &kept {
            self.context_holders.entry(*id).or_default().insert(Arc::clone(tracker));
        }
        if let Some(worker) = self.workers.get_mut(tracker) {
            (worker.contexts, worker.dropped_contexts) = (kept, dropped);
        }
    }

    /// An answer has these contexts for a worker.
    pub(super) fn note_sent_contexts(&mut self, tracker: &str, sent: BTreeSet<ContextId>) {
        let Some((name, _)) = self.workers.get_key_value(tracker) else { return };
        for id in sent {
            self.context_holders.entry(id).or_default().insert(Arc::clone(name));
        }
    }

    /// A worker has these containers: it has their contexts.
    pub(super) fn note_contexts(&mut self, tracker: &str, containers: &[ContainerId]) {
        let contexts: Vec<ContextId> = containers
            .iter()
            .filter_map(|id| {
                let number = self.container(*id)?.launch?.context;
                Some(ContextId { application: id.application, number })
            })
            .collect();
        let Self { workers, context_holders, .. } = self;
        if let Some(worker) = workers.get_mut(tracker).filter(|worker| worker.keeps_contexts) {
            worker.contexts.extend(contexts.into_iter().filter(|id| context_holders.contains_key(id)));
        }
    }

    /// A worker is gone, or lists what it keeps.
    pub(super) fn forget_contexts_of(&mut self, tracker: &str) {
        self.context_holders.retain(|_, holders| {
            holders.remove(tracker);
            !holders.is_empty()
        });
    }
}

//! Launch contexts: those that applications store under names, and those that workers keep, so that each goes to a worker once.
//!
//! Invariant: a worker that was sent a context is notified when nothing runs it any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::ContextId;
use crate::model::{ApplicationId, ContainerId, LaunchContext};

use super::application::Application;
use super::change::ApplicationChange;
use super::refusal::ApplicationRefusal;
use super::settings::MAX_SPECS;
use super::table::Applications;

impl Applications {
    /// Keeps contexts under their names; those that they replace go when nothing runs them.
    pub(super) fn keep_specs(&mut self, application: ApplicationId, specs: BTreeMap<String, LaunchContext>) {
        for (name, context) in specs {
            let Some(keeping) = self.all.get(&application) else { return };
            let before = keeping.spec(&name);
            if before.is_some_and(|(_, before)| **before == context) {
                continue;
            }
            let (replaced, number) = (before.map(|(number, _)| number), keeping.next_context());
            self.change(ApplicationChange::ContextKept { application, number, context: Arc::new(context) });
            self.change(ApplicationChange::SpecNamed { application, name, context: number });
            if let Some(replaced) = replaced {
                self.drop_unneeded_context(application, replaced);
            }
        }
    }

    pub(super) fn drop_unneeded_context(&mut self, application: ApplicationId, number: u64) {
        let Some(keeping) = self.all.get(&application) else { return };
        if keeping.contexts.contains_key(&number) && !keeping.needs_context(number) {
            self.change(ApplicationChange::ContextDropped { application, number });
        }
    }

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

    pub(super) fn note_sent_contexts(&mut self, tracker: &str, sent: BTreeSet<ContextId>) {
        let Some((name, _)) = self.workers.get_key_value(tracker) else { return };
        for id in sent {
            self.context_holders.entry(id).or_default().insert(Arc::clone(name));
        }
    }

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

    pub(super) fn forget_contexts_of(&mut self, tracker: &str) {
        self.context_holders.retain(|_, holders| {
            holders.remove(tracker);
            !holders.is_empty()
        });
    }
}

pub(super) fn check_specs(
    specs: &BTreeMap<String, LaunchContext>,
    application: Option<&Application>,
) -> Result<(), ApplicationRefusal> {
    let known = application.map(|application| &application.specs);
    let new = specs.keys().filter(|name| known.is_none_or(|known| !known.contains_key(*name))).count();
    if known.map_or(0, BTreeMap::len) + new > MAX_SPECS {
        return Err(ApplicationRefusal::TooMany(format!("an application has at most {MAX_SPECS} specs")));
    }
    Ok(())
}

//! Launch contexts that this worker keeps: each comes once for all containers that run it.

use std::collections::BTreeMap;

use crate::api::{ContainerLaunch, ContextId, SentContext};
use crate::model::LaunchContext;

#[derive(Debug, Default)]
pub(crate) struct LaunchContexts {
    kept: BTreeMap<ContextId, LaunchContext>,
}

impl LaunchContexts {
    pub(crate) fn keep(&mut self, contexts: Vec<SentContext>) {
        self.kept.extend(contexts.into_iter().map(|sent| (sent.id, sent.context)));
    }

    pub(crate) fn forget(&mut self, contexts: &[ContextId]) {
        contexts.iter().for_each(|id| drop(self.kept.remove(id)));
    }

    /// A launch in its context.
    ///
    /// # Errors
    /// The context, if it is not here.
    pub(crate) fn resolve(&self, launch: ContainerLaunch<u64>) -> Result<ContainerLaunch, ContextId> {
        let id = ContextId { application: launch.id.application, number: launch.context };
        let context = self.kept.get(&id).ok_or(id)?.clone();
        Ok(launch.in_context(context))
    }

    pub(crate) fn list(&self) -> Vec<ContextId> {
        self.kept.keys().copied().collect()
    }
}

//! Launch contexts that applications store under names.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{ApplicationId, LaunchContext};

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

    /// Drops a context that no name stands for and nothing runs.
    pub(super) fn drop_unneeded_context(&mut self, application: ApplicationId, number: u64) {
        let Some(keeping) = self.all.get(&application) else { return };
        if keeping.contexts.contains_key(&number) && !keeping.needs_context(number) {
            self.change(ApplicationChange::ContextDropped { application, number });
        }
    }
}

/// Refuses contexts beyond those that an application may keep.
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

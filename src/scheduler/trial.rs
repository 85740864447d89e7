//! What another policy would do with the apps as they are now: a second scheduler is built, asked, and dropped.

use crate::model::{DEFAULT_RACK, Now};

use super::{AppId, AppSpec, PolicyOptions, Scheduler};

impl Scheduler {
    /// Which of the apps that wait to begin another policy would let begin at once, each app in the group of that name.
    /// O(apps log apps).
    pub(crate) fn would_begin<'a>(
        &self,
        options: PolicyOptions,
        now: Now,
        group_of: impl Fn(AppId) -> Option<&'a str>,
    ) -> Vec<AppId> {
        let mut trial = Self::new(options);
        let host = trial.topology_mut().intern_host("trial", DEFAULT_RACK);
        trial.add_node(host, self.totals().slots.narrow());
        for id in self.apps_by_submission() {
            let (Some(app), Some(name)) = (self.apps.get(&id), group_of(id)) else { continue };
            let group = trial.open_group(name);
            // The id is new there and its group open.
            if trial.add_app(AppSpec { group, ..app.spec.clone() }).is_err() {
                continue;
            }
            trial.set_size(id, app.size);
            if !self.is_to_begin(id) {
                trial.resume_app(id);
            }
        }
        trial.begin_apps(now)
    }
}

//! What the audit log says of requests about applications: submissions and kills.

use crate::engine::core::{ApplicationCaller, ApplicationQuestion, ApplicationRequest, Engine};
use crate::engine::state::AuditEntry;
use crate::model::ApplicationId;

impl Engine {
    /// The entry of a request, if it changes something that is entered; and whether there is anything left to change.
    pub(super) fn audited_application(&self, request: &ApplicationRequest) -> Option<(AuditEntry, bool)> {
        let ApplicationRequest::Asked { caller, question } = request else { return None };
        let user = match caller {
            ApplicationCaller::User { caller, .. } => caller.user.to_string(),
            ApplicationCaller::Application { application, .. } => application.to_string(),
        };
        let entry = |verb, application: ApplicationId| {
            let owner = self.applications.get(application).map(|application| &application.submitted.user);
            let owner = owner.filter(|owner| ***owner != *user);
            AuditEntry::new(verb, user.clone()).with("application", application).with_some("owner", owner)
        };
        match &**question {
            ApplicationQuestion::Submit { submission, .. } => {
                let id = submission.application_id;
                Some((entry("submit", id).with("name", &submission.name), self.applications.get(id).is_none()))
            }
            ApplicationQuestion::Kill(id) => {
                let is_over = self.applications.get(*id).is_none_or(|application| application.is_over());
                Some((entry("kill", *id), !is_over))
            }
            ApplicationQuestion::Signal { container, .. } => {
                let is_live = self.applications.container(*container).is_some_and(|container| container.is_live());
                Some((entry("kill-container", container.application).with("container", container), is_live))
            }
            _ => None,
        }
    }
}

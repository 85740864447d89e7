//! Submission of an application.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::applications::{Placement, Submission};
use crate::model::{ApplicationId, ApplicationSecret, Now};

use super::application::Application;
use super::change::ApplicationChange;
use super::contexts::check_specs;
use super::record::{Master, Standing, SubmittedApplication};
use super::refusal::{ApplicationRefusal, BodyFault};
use super::rows::check_rows;
use super::settings::{MAX_APPLICATIONS, MAX_APPLICATIONS_OF_USER};
use super::table::Applications;

#[derive(Debug)]
pub(crate) struct NewApplication<'a> {
    pub(crate) submission: Submission,
    pub(crate) user: &'a Arc<str>,
    pub(crate) queue: Arc<str>,
    /// SHA-256 of the body.
    pub(crate) digest: [u8; 32],
    pub(crate) secret: ApplicationSecret,
    pub(crate) order: u64,
}

impl Applications {
    /// Whether the same body was submitted under its id before; an error if another was, or another's.
    pub(crate) fn submitted_before(
        &self,
        id: ApplicationId,
        user: &str,
        digest: &[u8; 32],
    ) -> Result<Option<&Application>, ApplicationRefusal> {
        let Some(before) = self.all.get(&id) else { return Ok(None) };
        if *before.submitted.user != *user {
            return Err(ApplicationRefusal::Forbidden(format!("{id} belongs to another user")));
        }
        if before.submitted.digest != *digest {
            return Err(ApplicationRefusal::ApplicationExists(id));
        }
        Ok(Some(before))
    }

    /// Accepts an application. Whether its owner may use the queue was asked before.
    pub(crate) fn submit(&mut self, new: NewApplication<'_>, now: Now) -> Result<ApplicationId, ApplicationRefusal> {
        let NewApplication { submission, user, queue, digest, secret, order } = new;
        let id = submission.application_id;
        match self.unused.get(&id) {
            Some((owner, until_ms)) if owner == user && *until_ms > now.mono_ms => {}
            Some((owner, _)) if owner != user => {
                return Err(ApplicationRefusal::Forbidden(format!("{id} was given to another user")));
            }
            _ => return Err(ApplicationRefusal::NoSuchApplication(id)),
        }
        self.check_room(user)?;
        check_specs(&submission.specs, None)?;
        let rows = submission.unattended.as_deref().unwrap_or_default();
        let names: BTreeSet<&str> = submission.specs.keys().map(String::as_str).collect();
        let checked = check_rows(rows, None, &names, true, &self.settings)?;
        if let Some(row) = checked.iter().position(|row| row.launch.is_none() && row.place == Placement::Any) {
            let detail = "nothing would start its containers: an unattended application needs a launch here".to_owned();
            let fault = BodyFault { pointer: format!("#/ask/{row}"), detail };
            return Err(ApplicationRefusal::InvalidResourceRequest(vec![fault]));
        }
        let master = submission.master.as_deref().map(|master| Master {
            capability: master.capability.rounded_up(self.settings.minimum),
            max_attempts: master.max_attempts,
        });
        if let Some(master) = master.filter(|master| !master.capability.fits(self.settings.maximum)) {
            let detail = format!("a container has at most {}, not {}", self.settings.maximum, master.capability);
            let fault = BodyFault { pointer: "#/master/capability".to_owned(), detail };
            return Err(ApplicationRefusal::InvalidResourceRequest(vec![fault]));
        }
        self.unused.remove(&id);
        let is_unattended = submission.unattended.is_some();
        let submitted = SubmittedApplication {
            id,
            user: Arc::clone(user),
            name: submission.name,
            application_type: submission.application_type,
            queue,
            priority: submission.priority,
            digest,
            secret,
            expiry_ms: submission.expiry_ms,
            strict_gates: submission.strict_gates,
            is_unattended,
            master,
            submitted_ms: now.wall_ms,
            order,
        };
        let standing = Box::new(Standing::new(submission.tracking_url));
        self.change(ApplicationChange::Submitted { submitted: Arc::new(submitted), standing });
        if let Some(master) = submission.master {
            let context = Arc::new(master.context);
            self.change(ApplicationChange::ContextKept { application: id, number: 0, context });
        }
        self.keep_specs(id, submission.specs);
        self.ask(id, checked);
        self.ask_for_master(id);
        self.hear(id, now);
        self.end_if_done(id, now);
        Ok(id)
    }

    fn check_room(&self, user: &str) -> Result<(), ApplicationRefusal> {
        let unfinished = || self.all.values().filter(|application| !application.is_over());
        if unfinished().count() >= MAX_APPLICATIONS {
            let text = format!("{MAX_APPLICATIONS} applications are not over, which is the limit");
            return Err(ApplicationRefusal::TooMany(text));
        }
        if unfinished().filter(|application| *application.submitted.user == *user).count() >= MAX_APPLICATIONS_OF_USER {
            let text =
                format!("{user} has {MAX_APPLICATIONS_OF_USER} applications that are not over, which is the limit");
            return Err(ApplicationRefusal::TooMany(text));
        }
        Ok(())
    }
}

//! The question before a job or an attempt is killed.

use askama::Template;

use crate::model::{AttemptId, JobId};

/// The input of the template.
#[derive(Template)]
#[template(path = "stock/confirm.html")]
pub(super) struct Confirm {
    verb: &'static str,
    id: String,
    address: String,
    action: String,
    /// Of the button.
    name: &'static str,
    label: &'static str,
}

impl Confirm {
    pub(super) fn kill_job(id: JobId) -> Self {
        Confirm {
            verb: "kill",
            id: id.to_string(),
            address: format!("jobdetails.jsp?jobid={id}"),
            action: "kill".to_owned(),
            name: "kill",
            label: "Kill",
        }
    }

    /// Whether an attempt is to be killed, or to fail.
    pub(super) fn end_attempt(id: AttemptId, action: &str) -> Self {
        Confirm {
            verb: "kill/fail",
            id: id.to_string(),
            address: format!("taskdetails.jsp?attemptid={id}"),
            action: action.to_owned(),
            name: "Kill/Fail",
            label: "Kill/Fail",
        }
    }
}

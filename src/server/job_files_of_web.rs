//! Files of jobs over HTTP: where the web server stores and finds them, and how it refuses them.

use axum::http::StatusCode;

use crate::api::UploadRules;
use crate::engine::Refusal;
use crate::web::FileRefusal;

use super::submission::{JobFileSender, Submissions, Uploads};

#[derive(Clone, Debug)]
pub(super) struct JobFilesOfWeb {
    pub(super) uploads: Uploads,
    pub(super) sender: JobFileSender,
    pub(super) rules: UploadRules,
    /// The port of the web server, which requests sign.
    pub(super) port: u16,
}

impl JobFilesOfWeb {
    pub(super) fn new(submissions: &Submissions, rules: UploadRules, port: u16) -> Self {
        Self { uploads: submissions.uploads().clone(), sender: submissions.job_files().clone(), rules, port }
    }
}

/// The refusal where the server has none.
pub(super) fn no_job_files() -> FileRefusal {
    FileRefusal::new(StatusCode::NOT_FOUND, "there are no files of jobs here")
}

/// The engine's refusal of an upload.
pub(super) fn refused_upload(refusal: Refusal) -> FileRefusal {
    match refusal {
        Refusal::AccessDenied(_) => FileRefusal::new(StatusCode::FORBIDDEN, refusal),
        _ => FileRefusal::new(StatusCode::CONFLICT, refusal),
    }
}

//! The parameters of an upload.

use super::job_upload::{JobUpload, is_plain_path, parse_digest};
use super::query::{ParsedQuery, QueryError, decode, set_once};

/// Characters of a refused text that an error repeats.
const SHOWN_CHARACTERS: usize = 64;

impl ParsedQuery {
    /// The file that an upload is for.
    ///
    /// # Errors
    /// A parameter is missing, repeated or not valid.
    pub(super) fn upload(&self) -> Result<JobUpload, QueryError> {
        let (mut job, mut name) = (None, None);
        for (parameter, value) in self.raw.split('&').filter_map(|pair| pair.split_once('=')) {
            match decode(parameter)?.as_ref() {
                "job" => set_once(&mut job, "job", value)?,
                "name" => set_once(&mut name, "name", value)?,
                _ => {}
            }
        }
        let missing = |parameter| QueryError::MissingParameter { operation: "upload", parameter };
        let (job, name) = (job.ok_or(missing("job"))?, name.ok_or(missing("name"))?);
        let shown = |text: &str| text.chars().take(SHOWN_CHARACTERS).collect();
        let job = job.parse().map_err(|_| QueryError::JobId { parameter: "job", value: shown(&job) })?;
        if !is_plain_path(&name) {
            return Err(QueryError::FileName(shown(&name)));
        }
        Ok(JobUpload { job, name, sha256: parse_digest(&self.value).ok_or(QueryError::Digest)? })
    }
}

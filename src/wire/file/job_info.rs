//! `job-info` in a job's system directory: the job's owner and staging directory (1.2.1 `JobInfo`).

use crate::model::JobId;
use crate::wire::{Decode, Encode, Reader, Text, WString, WireError, Writer};

/// The content of `job-info`; only a Java JobTracker's own recovery reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// The job.
    pub job: JobId,
    /// Its owner.
    pub user: Text,
    /// URI of its staging directory.
    pub directory: WString,
}

impl Decode for JobInfo {
    const MIN_BYTES: usize = 10;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            job: JobId::decode(reader)?,
            user: reader.text("owner of the job")?,
            directory: WString::decode(reader)?,
        })
    }
}

impl Encode for JobInfo {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.job.encode(writer);
        writer.text(&self.user);
        self.directory.encode(writer);
    }
}

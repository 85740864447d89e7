//! Small files of a job's system directory (1.2.1 `JobInfo`, `Credentials`): `job-info`, and `jobToken`, of the form of users' own token storage files.

use crate::model::JobId;
use crate::wire::fields::fields;
use crate::wire::{Credentials, Decode, Encode, Reader, Text, WString, WireError, Writer};

use super::{check_version, read_magic};

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

fields! {
    JobInfo, 10;
    job,
    user: &text "owner of the job",
    directory,
}

/// The alias of the job token in `jobToken`. Trackers look it up even without security.
pub const JOB_TOKEN_ALIAS: &str = "ShuffleAndJobToken";

const MAGIC: &str = "HDTS";
const VERSION: i8 = 0;

/// Reads a token storage file. Bytes after the credentials are ignored, as Java does.
pub fn read_token_storage(file: &[u8]) -> Result<Credentials, WireError> {
    const WHAT: &str = "token storage file";
    let mut reader = Reader::new(file);
    read_magic(&mut reader, MAGIC, WHAT)?;
    let start = reader.clone();
    check_version(&start, reader.i8(WHAT)?.into(), VERSION.into(), WHAT)?;
    Credentials::decode(&mut reader)
}

/// The password of the job token in a `jobToken`; none if there is none.
pub(crate) fn job_token_password(file: &[u8]) -> Option<Vec<u8>> {
    let credentials = read_token_storage(file).ok()?;
    let (_, token) = credentials.tokens.into_iter().find(|(alias, _)| **alias == *JOB_TOKEN_ALIAS)?;
    Some(token.password)
}

/// The bytes of a token storage file.
pub fn write_token_storage(credentials: &Credentials) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file);
    writer.bytes(MAGIC.as_bytes());
    writer.i8(VERSION);
    credentials.encode(&mut writer);
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::WireErrorKind;

    #[test]
    fn other_files_and_versions_are_refused() {
        let kind = |file: &[u8]| read_token_storage(file).unwrap_err().kind;
        assert_eq!(kind(b"<xml"), WireErrorKind::BadMagic("HDTS"));
        assert_eq!(kind(b"HD"), WireErrorKind::BadMagic("HDTS"));
        assert_eq!(kind(b"HDTS\x01\0\0"), WireErrorKind::BadVersion { found: 1, expected: 0 });
        assert_eq!(read_token_storage(b"HDTS\0\0\0").unwrap(), Credentials::default());
    }
}
